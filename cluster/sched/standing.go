package sched

import (
	"cmp"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// order is the order of what waits at one moment.
type order struct {
	state  *state.State
	now    model.Time
	policy policy
	tuning model.Tuning
	heads  []state.QueueKey // see firsts
	shares shares
	front  map[model.TaskKey]int // places of those at the front of the line, from 1
	held   uint32                // GPUs of those at the front that run
	credit credit

	lowered map[model.ScopeKey]bool // over a quota of GPU time that lets them go last
	stance
}

// stance is what an order says of all tasks.
type stance struct {
	steady bool   // nobody is ever suspended
	strict bool   // somebody at the front waits: who passes them must be known to end in time
	trust  uint64 // how far run times are trusted, see trustOf
}

func newOrder(s *state.State, now model.Time) *order {
	set := s.Settings()
	o := &order{
		state: s, now: max(now, set.Clock), policy: policyNamed(set.Policy), tuning: tuningOf(&set),
		front: map[model.TaskKey]int{},
	}
	o.lowered = lowered(s, o.now)
	o.trust = trustOf(&set.Totals)
	o.steady = o.tuning.NoPreemption || !anyYields(s)
	if o.policy.name == DefaultPolicy {
		o.shares = sharesOf(o)
	}
	o.credit = creditAt(s, o.now)
	if o.policy.bounded && !o.credit.spent {
		o.promote()
	}
	return o
}

// anyYields says that some job that runs or waits may be suspended.
func anyYields(s *state.State) bool {
	use, _ := s.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	return use.Yields > 0
}

// tuningOf is the cluster's tuning, or the default where a state has none.
func tuningOf(set *model.Settings) model.Tuning {
	if set.Tuning == (model.Tuning{}) {
		return model.DefaultTuning()
	}
	return set.Tuning
}

// standing is a task's place in the order.
type standing struct {
	late  bool // after all others: over a quota
	front int  // place at the front of the line; 0: not there
	score uint64
	task  model.TaskKey
}

func (o *order) standing(k state.QueueKey) standing {
	at := standing{front: o.front[k.Task], score: o.policy.score(o, k), task: k.Task}
	if len(o.lowered) > 0 {
		run := k.Run.Value()
		at.late = o.late(run.Project, run.User)
	}
	return at
}

// compare is negative if a goes first.
func (a standing) compare(b standing) int {
	if a.late != b.late {
		if a.late {
			return 1
		}
		return -1
	}
	if a.front != b.front {
		return cmp.Compare(uint(a.front-1), uint(b.front-1)) //nolint:gosec // 0 comes last
	}
	return cmp.Or(cmp.Compare(b.score, a.score), a.task.Compare(b.task))
}

func (o *order) compare(a, b state.QueueKey) int { return o.standing(a).compare(o.standing(b)) }

// waited is how long a task has been waiting: since its submission, but for what
// it has run.
func (o *order) waited(k state.QueueKey) time.Duration {
	w := o.now.Sub(k.Since)
	if k.Run.Value().Again {
		task, _ := o.state.Tasks.Get(k.Task)
		w -= task.Executed
	}
	return max(w, 0).Truncate(time.Second)
}

// longest bounds what a wait counts, in seconds: about 388 days.
const longest = 1 << 25

// patient is the wait in seconds that an order counts, which is never nothing.
func (o *order) patient(k state.QueueKey) uint64 {
	return uint64(min(o.waited(k)+o.tuning.Patience, longest*time.Second) / time.Second) //nolint:gosec // not negative
}

// hysteresis makes a running job worth more than it would be waiting.
func hysteresis(score uint64, t *model.Tuning) uint64 {
	return scale(score, uint64(t.Hysteresis), 100)
}
