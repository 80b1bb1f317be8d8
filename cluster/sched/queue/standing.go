package queue

import (
	"cmp"
	"time"
	"unique"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Ordering is the order of what waits at one moment.
type Ordering struct {
	State     *state.State
	Now       model.Time
	Policy    Policy
	Tuning    model.Tuning
	heads     []state.QueueKey // see Heads
	shares    shares
	Front     map[model.TaskKey]int // places of those at the front of the line, from 1
	FrontGPUs uint32                // GPUs of those at the front that run
	Credit    Credit

	lowered map[model.ScopeKey]bool // over a quota of GPU time that moves them back
	stance
}

// stance is what holds for all tasks of an order.
type stance struct {
	Steady bool   // no job is ever suspended
	Strict bool   // a task at the front waits: jobs that pass it must be known to end in time
	trust  uint64 // how far run times are trusted, see trustOf
}

// NewOrdering returns the order of what waits on s at the time now.
func NewOrdering(s *state.State, now model.Time) *Ordering {
	set := s.Settings()
	o := &Ordering{
		State: s, Now: max(now, set.Clock), Policy: PolicyNamed(set.Policy), Tuning: TuningOf(&set),
		Front: map[model.TaskKey]int{},
	}
	o.lowered = admission.OverQuota(s, o.Now)
	o.trust = trustOf(&set.Totals)
	o.Steady = o.Tuning.NoPreemption || !anyYields(s)
	if o.Policy.Name == model.DefaultPolicy {
		o.shares = sharesOf(o)
	}
	o.Credit = creditAt(s, o.Now)
	if o.Policy.Bounded && !o.Credit.Spent {
		o.promote()
	}
	return o
}

// NewPlainOrdering returns the order of the policy alone: no task is at the front of the line, and shares do
// not count.
func NewPlainOrdering(s *state.State, now model.Time) *Ordering {
	set := s.Settings()
	return &Ordering{
		State: s, Now: max(now, set.Clock), Policy: PolicyNamed(set.Policy), Tuning: TuningOf(&set), Front: map[model.TaskKey]int{},
	}
}

// anyYields reports whether some job that runs or waits may be suspended.
func anyYields(s *state.State) bool {
	use, _ := s.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	return use.Yields > 0
}

// TuningOf returns the cluster's tuning, or the default where a state has none.
func TuningOf(set *model.Settings) model.Tuning {
	if set.Tuning == (model.Tuning{}) {
		return model.DefaultTuning()
	}
	return set.Tuning
}

// SortKey is a task's place in the order.
type SortKey struct {
	Late  bool // after all others: over a quota
	Front int  // place at the front of the line; 0: not there
	Score uint64
	Since model.Time    // since when it could run: of equal scores the earlier goes first
	Task  model.TaskKey // that the place is of: the task itself unless it was moved
	Turn  uint32        // of tasks that were moved to the place of another one: the greatest goes first; 0: it was not moved
	Own   model.TaskKey // the task itself if it was moved
}

// SortKey returns the place of a waiting task in the order.
func (o *Ordering) SortKey(k state.QueueKey) SortKey {
	run := k.Run.Value()
	at := SortKey{Front: o.Front[k.Task], Since: k.Since, Task: k.Task}
	if p := &run.Place; p.Moved() {
		at.Score = o.Policy.score(o, placed(k, p))
		at.Since, at.Task, at.Turn, at.Own = p.Since, p.Task, p.Turn, k.Task
	} else {
		at.Score = o.Policy.score(o, k)
	}
	if len(o.lowered) > 0 {
		at.Late = run.Shape.GPUs > 0 && o.Late(run.Project, run.User)
	}
	return at
}

// placed returns the key by which a task is ordered that was moved to the place of another one: with what the order
// goes by of the other task.
func placed(k state.QueueKey, p *model.Place) state.QueueKey {
	return state.QueueKey{
		Class: p.Class, Task: k.Task, Since: p.Since,
		Run: unique.Make(state.Run{Project: p.Project, User: p.User, Shape: model.Shape{GPUs: p.GPUs}, Expected: p.Expected, Place: *p}),
	}
}

// sinceOf returns since when a task waits, and for how many GPUs, as far as the order is concerned.
func sinceOf(k state.QueueKey, run *state.Run) (model.Time, uint32) {
	if run.Place.Moved() {
		return run.Place.Since, run.Place.GPUs
	}
	return k.Since, run.Shape.GPUs
}

// Compare returns a negative number if a goes first.
func (a SortKey) Compare(b SortKey) int {
	if a.Late != b.Late {
		if a.Late {
			return 1
		}
		return -1
	}
	if a.Front != b.Front {
		return cmp.Compare(uint(a.Front-1), uint(b.Front-1))
	}
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Since, b.Since), a.Task.Compare(b.Task), cmp.Compare(b.Turn, a.Turn),
		a.Own.Compare(b.Own))
}

func (o *Ordering) compare(a, b state.QueueKey) int { return o.SortKey(a).Compare(o.SortKey(b)) }

// waited returns how long the wait of a task counts ([model.Task.AgeAt]). Of a task that was moved it returns how long
// the task would have waited whose place it has.
func (o *Ordering) waited(k state.QueueKey) time.Duration {
	w, run := o.Now.Sub(k.Since), k.Run.Value()
	switch {
	case run.Place.Moved():
		w = o.Now.Sub(run.Place.Since) - run.Place.Executed
	case run.Again:
		task, _ := o.State.Tasks.Get(k.Task)
		w = task.AgeAt(o.Now)
	}
	return max(w, 0).Truncate(time.Second)
}

// patient returns the wait in seconds that an order counts, which is never zero.
func (o *Ordering) patient(k state.QueueKey) uint64 {
	return uint64(min(o.waited(k)+o.Tuning.Patience, admission.LongestSeconds*time.Second) / time.Second)
}

// Hysteresis returns the score of a running job: it is worth more than the same job that waits.
func Hysteresis(score uint64, t *model.Tuning) uint64 {
	return scale(score, uint64(t.Hysteresis), 100)
}

// Late reports whether a user's jobs in a project go after those of all users within their quotas. The
// quota of the cluster itself moves no job back.
func (o *Ordering) Late(project, user string) bool {
	return len(o.lowered) > 0 && (o.lowered[model.ScopeKey{Kind: model.ScopeUser, Name: user}] ||
		project != "" && o.lowered[model.ScopeKey{Kind: model.ScopeProject, Name: project}])
}
