package pass

import (
	"iter"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// Blockers yields the blockers of a task that hold regardless of which GPUs are free: the jobs that the task waits
// for, the task's own state, its job's throttle and the limits.
func (p *Pass) Blockers(t *admission.Ticket) iter.Seq[blocker.Blocker] {
	return func(yield func(blocker.Blocker) bool) {
		for _, b := range p.dependencies(&t.Job, &t.Task) {
			if !yield(b) {
				return
			}
		}
		if p.Budget.Release(t) {
			defer p.Budget.Hold(t)
		}
		live := t.Job.Live + p.Budget.Jobs[t.Job.ID]
		spec := &t.Job.Spec
		for _, b := range []struct {
			blocker.Blocker

			holds bool
		}{
			{blocker.Blocker{Code: blocker.CodeHeld}, t.Task.Held},
			{blocker.Blocker{Code: notYet(&t.Task), Turn: blocker.Turn{Until: t.Task.NotBefore}}, t.Task.NotBefore > p.Now},
			{
				blocker.Blocker{Code: blocker.CodeThrottle, Need: 1, Used: int64(live), Limit: int64(t.Job.Throttle)},
				t.Job.Throttle > 0 && live >= t.Job.Throttle,
			},
		} {
			if b.holds && !yield(b.Blocker) {
				return
			}
		}
		excesses := p.Budget.Excesses(spec.Project, spec.User, spec.Least(), t.LiveTasks())
		if spec.WithoutGPUs() {
			excesses = p.Budget.CPUExcesses(spec.Project, spec.User, spec.CPUs*max(spec.Nodes, 1))
		}
		for b := range excesses {
			if !yield(b) {
				return
			}
		}
		admission.ExceededRunTimes(p.State, spec)(yield)
	}
}

// Admits reports whether a task has no blocker apart from missing GPUs.
func (p *Pass) Admits(t *admission.Ticket) bool {
	for range p.Blockers(t) {
		return false
	}
	return true
}

// notYet returns the reason why a task must not be tried before an instant.
func notYet(t *model.Task) blocker.Code {
	if t.Attempts == 0 {
		return blocker.CodeBegin
	}
	return blocker.CodeBackoff
}

// dependencies returns the jobs and tasks that a task waits for, as blockers.
func (p *Pass) dependencies(job *model.Job, task *model.Task) (out []blocker.Blocker) {
	if job.Waits == 0 {
		return nil
	}
	for _, d := range p.State.DependenciesOf(job.ID) {
		if d.State != dependency.Waits || d.Each && !task.Waits {
			continue
		}
		on, _ := p.State.Jobs.Get(d.Key.On)
		b := blocker.Blocker{Code: blocker.CodeDependency, Turn: blocker.Turn{
			On: d.Key.On, After: d.Key.Kind, State: p.State.Stand(&on), Until: d.Due, Delay: d.Delay, Other: d.Any,
		}}
		if d.Key.Kind.OfSuccess() {
			b.Have = int64(on.Failed) + int64(on.Canceled)
		}
		if d.Key.Kind == dependency.AfterCorr && job.Array() && !p.twin(&b, task.Key.Task) {
			continue
		}
		out = append(out, b)
	}
	return out
}

// twin narrows a blocker to the task with a number, if the awaited job has one, and reports whether that has not completed.
func (p *Pass) twin(b *blocker.Blocker, number uint32) bool {
	one, found := p.State.Tasks.Get(model.TaskKey{Job: b.On, Task: number})
	if !found {
		return true
	}
	b.Task, b.State, b.Have = one.Key, one.State, 0
	if one.State == model.TaskFailed || one.State == model.TaskCanceled {
		b.Have = 1
	}
	return one.State != model.TaskCompleted
}
