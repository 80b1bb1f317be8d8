package main

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cmd/internal/simulate"
	"github.com/berth-gpu/berth/fsm/state"
)

// shadow measures what the policy is good for: it compares how the cluster's past jobs fared with a
// simulation of the same jobs in the order of arrival. Every peer simulates the tasks that had
// ended by the last full hour, so that all peers report the same figures. It does so once an hour,
// at the lowest priority.
type shadow struct {
	state func() state.State
	log   *slog.Logger

	mu      sync.Mutex
	results []*simulate.Result // empty: no figures yet
}

const (
	shadowLook  = time.Minute // between two checks of the time
	shadowEvery = time.Hour
	shadowLimit = 2 * time.Minute // for a simulation
	shadowMost  = 2000            // tasks
	shadowLeast = 20              // with fewer there are no figures
)

// run simulates once an hour until the context ends.
func (s *shadow) run(ctx context.Context) {
	ticker := time.NewTicker(shadowLook)
	defer ticker.Stop()
	var played time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			hour := now.Add(-shadowLook).Truncate(shadowEvery) // by now every peer knows the tasks that had ended by then
			if hour.After(played) && s.look(ctx, hour) {
				played = hour
			}
		}
	}
}

// look simulates the tasks that had ended by a full hour, if they are enough, and reports whether
// this hour is done.
func (s *shadow) look(ctx context.Context, hour time.Time) bool {
	st := s.state()
	h := simulate.HistoryOf(&st, shadowMost, hour)
	if h.Measured < shadowLeast {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, shadowLimit)
	defer cancel()
	var inOrder *simulate.Result
	err := apart(func() (err error) {
		inOrder, err = simulate.Play(limited, h.Jobs, simulate.Options{
			Hosts: h.Hosts, From: h.From, Policy: "fcfs", Tuning: st.Settings().Tuning, Estimates: simulate.Estimates{Told: true},
			Preemptible: -1, RestartCost: time.Minute,
		})
		return err
	})
	switch {
	case ctx.Err() != nil: // the peer is shutting down
		return false
	case err != nil:
		s.log.Warn("ended jobs could not be simulated in the order of arrival: no metrics of the policy's effect for an hour", "err", err)
		s.tell(nil)
		return true
	}
	s.tell([]*simulate.Result{h.Actual(h.Hosts), inOrder})
	return true
}

// apart runs a function on a thread of the lowest priority, which ends with the function.
func apart(do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()                         // and never unlocked: the thread ends with its goroutine
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19) // without the permission the thread keeps its priority
		done <- do()
	}()
	return <-done
}

func (s *shadow) tell(results []*simulate.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = results
}

// Describe sends nothing: the metrics depend on the results.
func (s *shadow) Describe(chan<- *prometheus.Desc) {}

// Collect sends the figures of the last simulation.
func (s *shadow) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	results := s.results
	s.mu.Unlock()
	put := func(r *simulate.Result, name, help string, v float64) {
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, []string{"policy"}, nil), prometheus.GaugeValue, v, r.Policy)
	}
	for _, r := range results {
		put(r, "berth_policy_tasks", "Tasks of the simulation: those that ended last, at most 2,000.", float64(r.Jobs))
		put(r, "berth_policy_wait_seconds", "Mean wait of these tasks: the real one (actual), and simulated in the order of arrival (fcfs).", r.AvgWait)
		if r.Loaded > 0 {
			put(r, "berth_policy_utilization_ratio", "Part of the GPUs in use while the tasks asked for all: the real one (actual), and simulated in the order of arrival (fcfs).", r.Utilization/100)
		}
	}
}
