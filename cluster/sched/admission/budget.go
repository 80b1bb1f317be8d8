package admission

import (
	"iter"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Budget counts what a plan adds to the use of each scope and job.
type Budget struct {
	state    *state.State
	now      model.Time
	HasPools bool // some scope has a guarantee
	drawn    drawn
	Added    map[model.ScopeKey]Added
	Jobs     map[model.JobID]uint32
	Held     map[model.TaskKey]bool // tasks that count as if they had started
}

// Added is what a plan adds to the use of one scope: GPUs and live tasks of jobs with GPUs, and cores of the others.
type Added struct{ GPUs, Live, CPUs uint32 }

// NewBudget returns the budget of a plan that has not placed anything yet.
func NewBudget(s *state.State, now model.Time) Budget {
	all, _ := s.Accounts.Get(model.ScopeKey{Kind: model.ScopeCluster})
	return Budget{
		state: s, now: now, HasPools: all.Reserved > 0, drawn: drawn{own: map[model.ScopeKey]int64{}},
		Added: map[model.ScopeKey]Added{}, Jobs: map[model.JobID]uint32{},
		Held: map[model.TaskKey]bool{},
	}
}

// Scopes returns the scopes with limits that apply to a user's job in a project.
func Scopes(project, user string) []model.ScopeKey {
	out := []model.ScopeKey{{Kind: model.ScopeCluster}, {Kind: model.ScopeUser, Name: user}}
	if project != "" {
		out = append(out, model.ScopeKey{Kind: model.ScopeProject, Name: project})
	}
	return out
}

// Allows reports whether the limits leave room for so many GPUs and live tasks more.
func (b *Budget) Allows(project, user string, gpus, live uint32) bool {
	for range b.Excesses(project, user, gpus, live) {
		return false
	}
	return true
}

// Excesses yields the limits that leave no room for so many GPUs and live tasks
// more.
func (b *Budget) Excesses(project, user string, gpus, live uint32) iter.Seq[blocker.Blocker] {
	return func(yield func(blocker.Blocker) bool) {
		for _, scope := range Scopes(project, user) {
			limit, found := state.LimitOf(b.state, scope)
			if !found {
				continue
			}
			used, _ := b.state.Usage.Get(scope)
			plus := b.Added[scope]
			for _, v := range []blocker.Blocker{
				{Of: blocker.LimitGPUs, Limit: limit.GPUs, Used: int64(used.GPUs + plus.GPUs), Need: int64(gpus), Default: limit.ByDefault()},
				{Of: blocker.LimitLive, Limit: limit.Live, Used: int64(used.Live + plus.Live), Need: int64(live)},
				{Of: blocker.LimitGPUsPerJob, Limit: limit.GPUsPerJob, Need: int64(gpus)},
			} {
				v.Code, v.Scope, v.Have = blocker.CodeLimit, scope, max(v.Limit-v.Used, 0)
				if v.Limit != model.Unlimited && v.Need > 0 && v.Used+v.Need > v.Limit && !yield(v) {
					return
				}
			}
			if v, is := b.UsedUp(&limit); is && !yield(v) {
				return
			}
		}
		b.drained(project, user, gpus)(yield)
	}
}

// Use counts GPUs and live tasks against the limits of a user's job in a project.
func (b *Budget) Use(project, user string, gpus, live uint32) {
	b.draw(project, user, gpus)
	for _, scope := range Scopes(project, user) {
		plus := b.Added[scope]
		plus.GPUs, plus.Live = plus.GPUs+gpus, plus.Live+live
		b.Added[scope] = plus
	}
}

// CPUExcesses yields the limits that leave no room for so many cores of jobs without GPUs more.
func (b *Budget) CPUExcesses(project, user string, cpus uint32) iter.Seq[blocker.Blocker] {
	return func(yield func(blocker.Blocker) bool) {
		for _, scope := range Scopes(project, user) {
			limit, found := b.state.Limits.Get(scope)
			used, _ := b.state.Usage.Get(scope)
			v := blocker.Blocker{
				Code: blocker.CodeLimit, Scope: scope, Of: blocker.LimitCPUs, Limit: limit.CPUs, Used: int64(used.CPUs + b.Added[scope].CPUs),
				Need: int64(cpus),
			}
			v.Have = max(v.Limit-v.Used, 0)
			if found && limit.CPUs != model.Unlimited && v.Used+v.Need > v.Limit && !yield(v) {
				return
			}
		}
	}
}

// UseCPUs counts cores of jobs without GPUs against the limits of a user's job in a project.
func (b *Budget) UseCPUs(project, user string, cpus uint32) {
	for _, scope := range Scopes(project, user) {
		plus := b.Added[scope]
		plus.CPUs += cpus
		b.Added[scope] = plus
	}
}

// Hold counts a task against the limits, as if it had started with the least that it takes, until it is
// released.
func (b *Budget) Hold(t *Ticket) {
	spec := &t.Job.Spec
	b.Use(spec.Project, spec.User, spec.Least(), t.LiveTasks())
	b.Jobs[t.Job.ID]++
	b.Held[t.Task.Key] = true
}

// Release undoes Hold, and reports whether the task was held.
func (b *Budget) Release(t *Ticket) bool {
	if !b.Held[t.Task.Key] {
		return false
	}
	spec := &t.Job.Spec
	b.undraw(spec.Project, spec.User, spec.Least())
	for _, scope := range Scopes(spec.Project, spec.User) {
		plus := b.Added[scope]
		plus.GPUs, plus.Live = plus.GPUs-spec.Least(), plus.Live-t.LiveTasks()
		b.Added[scope] = plus
	}
	b.Jobs[t.Job.ID]--
	delete(b.Held, t.Task.Key)
	return true
}
