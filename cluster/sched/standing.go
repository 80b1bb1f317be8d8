package sched

import (
	"cmp"
	"math/bits"
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
		o.shares = sharesOf(s, o.now, &o.tuning)
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

// use is a user's part of what was used lately, in 256ths of a fair one.
func (o *order) use(project, user string) uint64 {
	if n, found := o.shares.users[model.ShareKey{Project: project, User: user}]; found {
		return n
	}
	if n, found := o.shares.projects[project]; found {
		return blend(n*leastPart/fair, &o.tuning)
	}
	return leastUse(&o.tuning)
}

// shares are parts of what was used lately, in 256ths of a fair one.
type shares struct {
	users    map[model.ShareKey]uint64 // bent by the weight of shares
	projects map[string]uint64         // among projects
}

// Bounds of what a user's part counts, in 256ths of a fair one.
const (
	fair      = 256
	leastPart = fair / 8
	mostPart  = fair * 64
	mostUse   = fair << 14 // of powers of parts
)

// leastUse is what counts for who has used nothing.
func leastUse(t *model.Tuning) uint64 { return blend(leastPart, t) }

// blend raises a part of 256ths to the power of the weight of shares, of which 100 is
// one; between whole powers it goes straight.
func blend(n uint64, t *model.Tuning) uint64 {
	n = min(max(n, leastPart), mostPart)
	low := uint64(fair)
	for range t.ShareWeight / 100 {
		low = min(low*n/fair, mostUse)
	}
	rest := uint64(t.ShareWeight % 100)
	high := min(low*n/fair, mostUse)
	return max((low*(100-rest)+high*rest)/100, 1)
}

// sharesOf relates what each user has used to what is fair: first among projects,
// then among the users of one. Who has a greater weight may use more. Projects that
// have used nothing count once they wait.
func sharesOf(s *state.State, now model.Time, t *model.Tuning) shares {
	type project struct {
		used, weights, users int64
	}
	projects := map[string]*project{}
	used := map[model.ShareKey]int64{}
	for k, share := range s.Shares.All() {
		u := share.UsedAt(now, t.HalfLife)
		p := projects[k.Project]
		if p == nil {
			p = &project{}
			projects[k.Project] = p
		}
		p.used += u
		p.weights += weightOf(s, model.ScopeUser, k.User)
		p.users++
		used[k] = u
	}
	for scope, use := range s.Usage.All() {
		if scope.Kind == model.ScopeProject && use.Queued > 0 && projects[scope.Name] == nil {
			projects[scope.Name] = &project{}
		}
	}
	var all, weights int64
	for name, p := range projects { // order-free: sums
		all += p.used
		weights += weightOf(s, model.ScopeProject, name)
	}
	out := shares{make(map[model.ShareKey]uint64, len(used)), make(map[string]uint64, len(projects))}
	for name, p := range projects { // order-free: each on its own
		out.projects[name] = portion(p.used, all, weightOf(s, model.ScopeProject, name), weights)
	}
	for k, u := range used { // order-free: each on its own
		p := projects[k.Project]
		within := portion(u, p.used, weightOf(s, model.ScopeUser, k.User), p.weights)
		out.users[k] = blend(out.projects[k.Project]*within>>8, t)
	}
	return out
}

// portion is used of all over weight of weights, in 256ths.
func portion(used, all, weight, weights int64) uint64 {
	if all <= 0 {
		return fair
	}
	u, a := uint64(max(used, 0)), uint64(all) //nolint:gosec // not negative
	for a >= 1<<40 {
		u, a = u>>1, a>>1
	}
	hi, lo := bits.Mul64(u, fair*uint64(weights))  //nolint:gosec // positive
	out, _ := bits.Div64(hi, lo, a*uint64(weight)) //nolint:gosec // positive
	return min(out, mostPart)
}

func weightOf(s *state.State, kind model.ScopeKind, name string) int64 {
	if w, found := s.Weights.Get(model.ScopeKey{Kind: kind, Name: name}); found {
		return int64(w.Shares)
	}
	return model.DefaultWeight
}

// hysteresis makes a running job worth more than it would be waiting.
func hysteresis(score uint64, t *model.Tuning) uint64 {
	return scale(score, uint64(t.Hysteresis), 100)
}
