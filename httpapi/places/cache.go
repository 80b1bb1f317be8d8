// Package places caches, for all requests of a peer, what is expensive to compute about the queue:
// forecasts, places of jobs, whether a job can ever fit, and how many jobs have ended.
package places

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/cores"
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of the cost of a submission's place in the queue.
const (
	CountedUpTo = 64          // waiting tasks, among which a place is counted
	rememberFor = time.Second // for which a place that was counted for another job is used
	maxVerdicts = 1024        // shapes

	rateOver    = time.Hour // over which ended jobs are counted
	countedEnds = 20_000    // of them
)

// Cache holds, between requests, what is expensive to compute: the place of a job in a long
// queue, whether a shape can ever fit, how many jobs have ended.
type Cache struct {
	mu       sync.Mutex
	last     map[model.Class]countedPlace
	gpus     any // the tables that verdicts are about; each version of one is another value
	nodes    any
	verdicts map[model.Shape]verdict
	forecast newestForecast
	Trials   trials
	ended    struct {
		at   model.Time // when it was counted
		rate float64
	}
}

// newestForecast is the newest forecast. It has a lock of its own: on a large cluster making one takes
// longer than a submission should wait.
type newestForecast struct {
	mu     sync.Mutex
	make   func(*state.State, model.Time) forecast.Forecast
	made   *forecastOf
	making *making   // nil: none is being made
	at     time.Time // when the newest was made, and how long that took
	took   time.Duration
}

// making is a forecast that is being made.
type making struct {
	done chan struct{}
	err  error // it panicked
}

// forecastOf is the forecast for one state.
type forecastOf struct {
	forecast.Forecast

	index  uint64 // of the state that it is for
	policy string // under which it was made
	tuning model.Tuning
}

// countedPlace is the place of the newest job of a class, and when it was counted.
type countedPlace struct {
	at       time.Time
	position int
	queue    int // how many waited
}

type verdict struct {
	fits bool
	why  string
}

// New returns an empty cache.
func New() *Cache {
	return &Cache{
		last: map[model.Class]countedPlace{}, verdicts: map[model.Shape]verdict{}, Trials: newTrials(),
		forecast: newestForecast{make: forecast.Foresee},
	}
}

// Of returns the place of a job that was just submitted. In a long queue it is estimated from a
// place that was counted a moment ago for a job of its class, plus the jobs that have come since.
func (p *Cache) Of(s *state.State, now model.Time, key model.TaskKey, class model.Class) (position int, exact bool) {
	waiting := s.Queue.Len()
	if job, _ := s.Jobs.Get(key.Job); waiting <= CountedUpTo || job.Spec.WithoutGPUs() {
		return queue.Position(s, now, key)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := now.Time()
	last, known := p.last[class]
	if age := at.Sub(last.at); known && age >= 0 && age < rememberFor {
		return min(max(1, last.position+waiting-last.queue), waiting), false
	}
	position, exact = queue.Position(s, now, key)
	p.last[class] = countedPlace{at, position, waiting}
	return position, exact
}

// Possible reports whether a job could ever run on the cluster's nodes. The verdict is cached for
// as long as the cluster has the same nodes and GPUs.
func (p *Cache) Possible(s *state.State, spec *model.Spec) (bool, string) {
	if spec.WithoutGPUs() {
		return cores.Possible(s, spec)
	}
	shape := spec.Shape()
	shape.Where.User = s.Whose(spec.User)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gpus != any(s.GPUs) || p.nodes != any(s.Nodes) || len(p.verdicts) >= maxVerdicts {
		p.gpus, p.nodes = s.GPUs, s.Nodes
		clear(p.verdicts)
	}
	v, known := p.verdicts[shape]
	if !known {
		v.fits, v.why = place.Possible(s, spec)
		p.verdicts[shape] = v
	}
	return v.fits, v.why
}

// Rate returns how many tasks of jobs that the state still holds have ended in the last hour of the
// state's clock, which lags behind by a minute at most. It is counted at most once a second of that
// clock.
func (p *Cache) Rate(s *state.State) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := s.Settings().Clock
	if age := now.Sub(p.ended.at); age >= 0 && age < rememberFor {
		return p.ended.rate
	}
	since, seen, tasks := now.Add(-rateOver), 0, 0
	for k := range s.Ended.Back() {
		j, _ := s.Jobs.Get(k.Job)
		if seen++; j.Ended < since || seen > countedEnds {
			break
		}
		tasks += int(j.Tasks)
	}
	p.ended.at, p.ended.rate = now, float64(tasks)
	return p.ended.rate
}

// Foresee returns a forecast for the state, or for one of a moment ago where making one takes long: while one is being made other
// callers get the one before. A forecast is not used after the scheduler was started or stopped, or under another policy or tuning. On a
// machine with much to do a forecast can take many seconds; after a second the caller gets the one before, or an empty one, and the next
// caller gets the new one.
func (p *Cache) Foresee(s *state.State, now model.Time) *forecast.Forecast {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if f, err := p.foreseen(ctx, s, now); err == nil {
		return &f.Forecast
	}
	set := s.Settings()
	return &forecast.Forecast{At: now, Starts: set.Running && !set.Standstill}
}

// Foreseen returns what Foresee does and the index of the state of the forecast, so that a reader that waits for the next one gets it. It
// waits for the first forecast as long as the caller does.
func (p *Cache) Foreseen(ctx context.Context, s *state.State, now model.Time) (*forecast.Forecast, uint64, error) {
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f, err := p.foreseen(short, s, now)
	if errors.Is(err, context.DeadlineExceeded) {
		f, err = p.foreseen(ctx, s, now)
	}
	if err != nil {
		return nil, 0, err
	}
	return &f.Forecast, f.index, nil
}

// foreseen returns a forecast for the state, once the context ends the one before; an error: there is none that fits.
func (p *Cache) foreseen(ctx context.Context, s *state.State, now model.Time) (*forecastOf, error) {
	f, set := &p.forecast, s.Settings()
	fits := func(last *forecastOf) bool {
		return last != nil && last.Starts == (set.Running && !set.Standstill) && last.policy == set.Policy && last.tuning == set.Tuning
	}
	for {
		f.mu.Lock()
		last, m := f.made, f.making
		recent := fits(last) && (last.index == s.Index || time.Since(f.at) < foreseePart*f.took)
		if m == nil && !recent {
			f.making = f.begin(s, now, &forecastOf{index: s.Index, policy: set.Policy, tuning: set.Tuning})
		}
		if recent || m != nil && fits(last) { // another caller waits for the next one
			f.mu.Unlock()
			return last, nil
		}
		m = f.making
		f.mu.Unlock()
		select {
		case <-m.done:
			if m.err != nil {
				return nil, m.err
			}
		case <-ctx.Done():
			if !fits(last) {
				return nil, ctx.Err()
			}
			return last, nil
		}
	}
}

// begin has a forecast made. The lock is held.
func (f *newestForecast) begin(s *state.State, now model.Time, next *forecastOf) *making {
	m, began := &making{done: make(chan struct{})}, time.Now()
	of := *s
	go func() {
		defer func() {
			if fault := recover(); fault != nil { // it takes no peer down
				m.err = fmt.Errorf("the forecast panicked: %v\n%s", fault, debug.Stack())
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.making = nil
			if m.err == nil {
				f.made, f.at, f.took = next, began, time.Since(began)
			}
			close(m.done)
		}()
		next.Forecast = f.make(&of, now)
	}()
	return m
}

// patience is for how long a request waits for a newer forecast.
const patience = time.Second

// TookFor records how long the last forecast took, which bounds when the next one is made.
func (p *Cache) TookFor(d time.Duration) {
	p.forecast.mu.Lock()
	defer p.forecast.mu.Unlock()
	p.forecast.took = d
}

// foreseePart is the inverse of the part of the time that is spent on forecasts at most.
const foreseePart = 20
