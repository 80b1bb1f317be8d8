package httpapi

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Bounds of reads.
const (
	readLimit = 5 * time.Second // for this peer to be as new as required
	waitMost  = time.Minute     // for a change
	waitUsual = 30 * time.Second
	// wakeEvery is the least time between two answers to a reader that waits for changes, so that
	// many readers of a busy list cost little.
	wakeEvery = 50 * time.Millisecond
)

// Watch holds the parameters of every read.
type Watch struct {
	Consistency string `query:"consistency" enum:"default,stale,linearizable" doc:"how new the state must be: at least as new as in earlier answers of this peer (default), any (stale), or with all that was acknowledged anywhere (linearizable)"`
	Index       uint64 `query:"index" doc:"wait until the requested data has changed after this index, the X-Berth-Index of an earlier answer"`
	Wait        string `query:"wait" doc:"limit of the wait, such as 30s; 1m at most"`
}

func (q *Watch) level() Consistency {
	switch q.Consistency {
	case "stale":
		return Stale
	case "linearizable":
		return Linearizable
	}
	return Default
}

func (q *Watch) wait() (time.Duration, error) {
	if q.Wait == "" {
		return waitUsual, nil
	}
	d, err := wire.ParseDuration(q.Wait)
	if err != nil {
		return 0, problem.Invalid("wait", err.Error())
	}
	return min(d, waitMost), nil
}

func topics(list ...model.Topic) (set model.TopicSet) {
	for _, t := range list {
		set = set.With(t)
	}
	return set
}

// lastOf returns the log index at which one of the topics last changed.
func lastOf(s *state.State, set model.TopicSet) (last uint64) {
	all := s.Settings().Topics
	for t := range model.Topic(model.TopicCount) {
		if set.Has(t) {
			last = max(last, all[t])
		}
	}
	return last
}

// read returns a state as new as required, once one of the topics has changed after the index of
// the request. When the wait is over it returns the present state. differs can require a certain
// difference; with nil any change ends the wait.
func (a *API) read(ctx context.Context, q *Watch, set model.TopicSet, differs func(was, is *state.State) bool) (state.State, error) {
	wait, err := q.wait()
	if err != nil {
		return state.State{}, err
	}
	began := time.Now()
	s, err := a.fresh(ctx, q.level())
	if err != nil || q.Index == 0 || s.Settings().Incarnation.IsZero() {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	stop := context.AfterFunc(a.life.ctx, cancel)
	defer stop()
	if lastOf(&s, set) <= q.Index {
		a.await(ctx, &s, set, q.Index, differs)
	}
	select {
	case <-time.After(wakeEvery - time.Since(began)):
	case <-ctx.Done():
	}
	return a.fresh(context.WithoutCancel(ctx), Default)
}

// await waits for a change that makes a difference, or for another incarnation.
func (a *API) await(ctx context.Context, first *state.State, set model.TopicSet, after uint64, differs func(was, is *state.State) bool) {
	for {
		select {
		case <-a.wakes.changed(set, after):
		case <-ctx.Done():
			return
		}
		s := a.peer.Reader.State()
		last := lastOf(&s, set)
		if last > after && (differs == nil || differs(first, &s)) || s.Index < first.Index {
			return
		}
		after = max(after, last)
	}
}

// fresh returns a state as new as required.
func (a *API) fresh(ctx context.Context, level Consistency) (state.State, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return a.peer.Reader.Read(ctx, level)
}

// now returns the time for answers: the cluster's clock lags behind when nothing happens.
func (a *API) now(s *state.State) model.Time {
	return max(model.TimeOf(a.cfg.Now()), s.Settings().Clock)
}

// archivePatience bounds the time for the archive to hold what the state does.
const archivePatience = 2 * time.Second

// archived waits until this peer's archive is complete up to the log index that last returns, and
// returns the state and the status of the archive.
func archived(ctx context.Context, a *API, last func(*state.State) uint64) (s state.State, stand archive.Standing, err error) {
	if a.peer.Archive == nil {
		return s, stand, problem.Refuse(wire.CodeNoArchive, "this peer keeps no archive: ask another")
	}
	if s, err = a.fresh(ctx, Default); err != nil {
		return s, stand, err
	}
	a.peer.Archive.Reach(ctx, last(&s), archivePatience)
	return s, a.peer.Archive.Standing(), nil
}

// archiveFault returns the problem of an archive that cannot be read.
func archiveFault(err error) error {
	return &problem.Fault{Code: wire.CodeNoArchive, Err: err}
}

// watchInput is the input of a read without parameters of its own.
type watchInput struct{ Watch }

// orchestrator returns whether jobs are started, and the counts of the scheduler.
func (a *API) orchestrator(ctx context.Context, s *state.State) *wire.Orchestrator {
	set, n, known := s.Settings(), view.Statistics(s, a.places.Rate(s)), a.samples.get(ctx)
	leader, _ := a.peer.Members.Leader()
	out := &wire.Orchestrator{
		Running: set.Running && !set.Standstill, Policy: set.Policy, Leader: string(leader.ID),
		Stats: wire.SchedStats{
			JobsScheduled: n.Attempts, JobsCompleted: n.Completed, JobsFailed: n.Failed,
			SchedulingCycles: int64(known.Passes), //nolint:gosec // a count
		},
		ResourceSummary: view.Resources(s),
		QueueSummary: wire.QueueSummary{
			TotalJobs: n.TotalJobs, Queued: n.Queued, Running: n.Running, Completed: n.Completed, Failed: n.Failed, Canceled: n.Canceled,
		},
	}
	if known.Passes > 0 {
		out.AveragePassMicro = view.Tenths(float64(known.PassesTook.Microseconds()) / float64(known.Passes))
	}
	return out
}
