package sched

import (
	"iter"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// ticket is a task that waits, as a pass looks at it, or a service.
type ticket struct {
	task    model.Task
	job     model.Job
	service model.AllocationID // empty: it is a task
}

func ticketOf(s *state.State, key model.TaskKey) *ticket {
	if key.IsTurn() {
		return serves(s, key)
	}
	t := &ticket{}
	t.task, _ = s.Tasks.Get(key)
	t.job, _ = s.Jobs.Get(key.Job)
	return t
}

// admit yields what keeps a task from starting whatever is free: the jobs that it waits
// for, its own state, its job's throttle and the limits.
func (p *pass) admit(t *ticket) iter.Seq[Blocker] {
	return func(yield func(Blocker) bool) {
		for _, b := range p.awaits(&t.job) {
			if !yield(b) {
				return
			}
		}
		if p.budget.letGo(t) {
			defer p.budget.hold(t)
		}
		live := t.job.Live + p.budget.jobs[t.job.ID]
		spec := &t.job.Spec
		for _, b := range []struct {
			Blocker

			holds bool
		}{
			{Blocker{Code: CodeHeld}, t.task.Held},
			{Blocker{Code: notYet(&t.task), Turn: Turn{Until: t.task.NotBefore}}, t.task.NotBefore > p.now},
			{
				Blocker{Code: CodeThrottle, Need: 1, Used: int64(live), Limit: int64(t.job.Throttle)},
				t.job.Throttle > 0 && live >= t.job.Throttle,
			},
		} {
			if b.holds && !yield(b.Blocker) {
				return
			}
		}
		for b := range p.budget.excesses(spec.Project, spec.User, spec.Least(), t.live()) {
			if !yield(b) {
				return
			}
		}
		tooLong(p.state, spec)(yield)
	}
}

// admits says that nothing keeps a task from starting but that it needs GPUs.
func (p *pass) admits(t *ticket) bool {
	for range p.admit(t) {
		return false
	}
	return true
}

// notYet is why a task is not to be tried before an instant.
func notYet(t *model.Task) Code {
	if t.Attempts == 0 {
		return CodeBegin
	}
	return CodeBackoff
}

// awaits lists the jobs that a job waits for.
func (p *pass) awaits(job *model.Job) (out []Blocker) {
	if job.Waits == 0 {
		return nil
	}
	for _, d := range p.state.DependenciesOf(job.ID) {
		if on, _ := p.state.Jobs.Get(d.Key.On); d.State == model.DependencyWaits {
			b := Blocker{Code: CodeDependency, Turn: Turn{On: on.ID, After: d.Kind, State: p.state.Stand(&on)}}
			if d.Kind == model.AfterOK {
				b.Have = int64(on.Failed) + int64(on.Canceled)
			}
			out = append(out, b)
		}
	}
	return out
}

// budget counts what the plan adds to the use of each scope and job.
type budget struct {
	state *state.State
	now   model.Time
	pools bool // somebody owns GPUs
	drawn drawn
	added map[model.ScopeKey]added
	jobs  map[model.JobID]uint32
	held  map[model.TaskKey]bool // who counts as if it had started
}

type added struct{ gpus, live uint32 }

func newBudget(s *state.State, now model.Time) budget {
	all, _ := s.Accounts.Get(model.ScopeKey{Kind: model.ScopeCluster})
	return budget{
		state: s, now: now, pools: all.Reserved > 0, drawn: drawn{own: map[model.ScopeKey]int64{}},
		added: map[model.ScopeKey]added{}, jobs: map[model.JobID]uint32{},
		held: map[model.TaskKey]bool{},
	}
}

func scopes(project, user string) []model.ScopeKey {
	out := []model.ScopeKey{{Kind: model.ScopeCluster}, {Kind: model.ScopeUser, Name: user}}
	if project != "" {
		out = append(out, model.ScopeKey{Kind: model.ScopeProject, Name: project})
	}
	return out
}

// allows says that the limits leave room for so many GPUs and live tasks more.
func (b *budget) allows(project, user string, gpus, live uint32) bool {
	for range b.excesses(project, user, gpus, live) {
		return false
	}
	return true
}

// excesses yields the limits that leave no room for so many GPUs and live tasks
// more.
func (b *budget) excesses(project, user string, gpus, live uint32) iter.Seq[Blocker] {
	return func(yield func(Blocker) bool) {
		for _, scope := range scopes(project, user) {
			limit, found := state.LimitOf(b.state, scope)
			if !found {
				continue
			}
			used, _ := b.state.Usage.Get(scope)
			plus := b.added[scope]
			for _, v := range []Blocker{
				{Of: LimitGPUs, Limit: limit.GPUs, Used: int64(used.GPUs + plus.gpus), Need: int64(gpus), Default: limit.ByDefault()},
				{Of: LimitLive, Limit: limit.Live, Used: int64(used.Live + plus.live), Need: int64(live)},
				{Of: LimitGPUsPerJob, Limit: limit.GPUsPerJob, Need: int64(gpus)},
			} {
				v.Code, v.Scope, v.Have = CodeLimit, scope, max(v.Limit-v.Used, 0)
				if v.Limit != model.Unlimited && v.Need > 0 && v.Used+v.Need > v.Limit && !yield(v) {
					return
				}
			}
			if v, is := b.spent(&limit); is && !yield(v) {
				return
			}
		}
		b.drained(project, user, gpus)(yield)
	}
}

func (b *budget) use(project, user string, gpus, live uint32) {
	b.draw(project, user, gpus)
	for _, scope := range scopes(project, user) {
		plus := b.added[scope]
		b.added[scope] = added{plus.gpus + gpus, plus.live + live}
	}
}

// hold has a task count against the limits, as if it had started with the least that it takes, until it is
// let go.
func (b *budget) hold(t *ticket) {
	spec := &t.job.Spec
	b.use(spec.Project, spec.User, spec.Least(), t.live())
	b.jobs[t.job.ID]++
	b.held[t.task.Key] = true
}

// letGo undoes that, and says whether there was anything to undo.
func (b *budget) letGo(t *ticket) bool {
	if !b.held[t.task.Key] {
		return false
	}
	spec := &t.job.Spec
	b.undraw(spec.Project, spec.User, spec.Least())
	for _, scope := range scopes(spec.Project, spec.User) {
		plus := b.added[scope]
		b.added[scope] = added{plus.gpus - spec.Least(), plus.live - t.live()}
	}
	b.jobs[t.job.ID]--
	delete(b.held, t.task.Key)
	return true
}
