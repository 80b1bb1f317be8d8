package httpapi

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of what a submission may spend on telling its place.
const (
	countedUpTo = 64          // waiting tasks, among which a place is counted
	rememberFor = time.Second // that a place counted for others is gone by
	maxVerdicts = 1024        // shapes

	rateOver    = time.Hour // over which ended jobs are counted
	countedEnds = 20_000    // of them
)

// places remembers, between requests, what is dear to find out: where in a long
// queue a job comes, whether a shape can ever fit, how many jobs have ended.
type places struct {
	mu       sync.Mutex
	last     map[model.Class]place
	gpus     any // the tables that verdicts are about; each version of one is another value
	nodes    any
	verdicts map[model.Shape]verdict
	forecast forecast
	trials   trials
	ended    struct {
		at   model.Time // when it was counted
		rate float64
	}
}

// forecast is the one that was made last. It has a lock of its own: on a large cluster
// making one takes longer than a submission should wait.
type forecast struct {
	mu   sync.Mutex
	made atomic.Pointer[forecastOf]
	at   time.Time // when it was made, and how long that took
	took time.Duration
}

// forecastOf is the forecast for one state.
type forecastOf struct {
	sched.Forecast

	index  uint64 // of the state that it is about
	policy string // under which it was made
	tuning model.Tuning
}

// place is that of the newest job of a class, when it was counted.
type place struct {
	at       time.Time
	position int
	queue    int // how many waited
}

type verdict struct {
	fits bool
	why  string
}

func newPlaces() *places {
	return &places{last: map[model.Class]place{}, verdicts: map[model.Shape]verdict{}, trials: newTrials()}
}

// of is the place of a job that was just submitted. In a long queue it goes by one
// that was counted a moment ago for a job of its class, and by how much has come
// since.
func (p *places) of(s *state.State, now model.Time, key model.TaskKey, class model.Class) (position int, exact bool) {
	waiting := s.Queue.Len()
	if waiting <= countedUpTo {
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
	p.last[class] = place{at, position, waiting}
	return position, exact
}

// possible says whether a job could ever run on the cluster's nodes. The verdict
// is remembered for as long as the cluster has the same nodes and GPUs.
func (p *places) possible(s *state.State, spec *model.Spec) (bool, string) {
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
		v.fits, v.why = sched.Possible(s, spec)
		p.verdicts[shape] = v
	}
	return v.fits, v.why
}

// rate returns how many tasks of jobs that the state still holds have ended in the last
// hour of the state's clock, which lags behind by a minute at most. It is counted at most
// once a second of that clock.
func (p *places) rate(s *state.State) float64 {
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
