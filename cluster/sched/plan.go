package sched

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxPlan bounds the commands of a plan. Carrying one out changes the state, and
// so asks for the next.
const maxPlan = 256

// Plan is what to place and grant on s, and when the next task that is not to be
// tried before an instant may be tried; 0: there is none. now is the time that
// the commands will be stamped with, or the state's clock if that is later.
// Services that wait for GPUs come before jobs. A cluster that is stopped or
// stands still has an empty plan.
func Plan(s *state.State, now model.Time) (commands []command.Body, next model.Time) {
	set := s.Settings()
	if !set.Running || set.Standstill {
		return nil, 0
	}
	now = max(now, set.Clock)
	p := &pass{state: s, now: now, pool: newPool(s), budget: budget{state: s}, misfits: map[model.Shape]bool{}}
	p.grants()
	p.jobs()
	for k := range s.Due.From(state.DueKey{At: now + 1}) {
		return p.commands, k.At
	}
	return p.commands, 0
}

// pass is one pass over what waits.
type pass struct {
	state    *state.State
	now      model.Time
	pool     *pool
	budget   budget
	misfits  map[model.Shape]bool // shapes that fit nowhere any more
	commands []command.Body
}

func (p *pass) full() bool { return len(p.commands) == maxPlan || p.pool.empty() }

func (p *pass) grants() {
	for k := range p.state.Waiting.All() {
		if p.full() {
			return
		}
		a, _ := p.state.Allocations.Get(k.ID)
		want := want{need: a.GPUs, model: a.GPUModel, memory: a.GPUMemoryMB}
		if !p.budget.allows(a.Project, a.User, a.GPUs, 0) {
			continue
		}
		if at, fits := p.pool.onOne(want); fits {
			p.budget.use(a.Project, a.User, a.GPUs, 0)
			p.commands = append(p.commands, &command.Grant{ID: a.ID, Decided: p.state.Index, Placement: at})
		}
	}
}

// jobs tries the waiting tasks in order of submission.
func (p *pass) jobs() {
	q := newQueue(p.state)
	for q.Len() > 0 && !p.full() {
		switch r := q.head(); p.try(r) {
		case placed, skipped:
			r.advance(p.state)
		case jobFull:
			r.skipJob(p.state)
		case runOver:
			r.done = true
		}
		q.settle()
	}
}

// outcome is what came of trying the head of a run.
type outcome uint8

const (
	placed  outcome = iota
	skipped         // it waits for something of its own
	jobFull         // no more tasks of this job
	runOver         // nothing else of this run can be placed either
)

func (p *pass) try(r *run) outcome {
	key := r.key.Task
	task, _ := p.state.Tasks.Get(key)
	job, _ := p.state.Jobs.Get(key.Job)
	spec := &job.Spec
	live := job.Live + p.budget.jobs[key.Job]
	switch {
	case !r.single && p.pool.keptFor(key):
		return skipped // it has a run of its own
	case task.NotBefore > p.now:
		return skipped
	case job.Throttle > 0 && live >= job.Throttle:
		return jobFull
	case !p.budget.allows(spec.Project, spec.User, spec.GPUs, 1):
		return runOver
	case !r.single && p.misfits[spec.Shape()]:
		return runOver
	}
	ranks, fits := p.pool.place(spec, key)
	if !fits {
		if !r.single {
			p.misfits[spec.Shape()] = true
		}
		return runOver
	}
	p.budget.use(spec.Project, spec.User, spec.GPUs, 1)
	p.budget.useJob(key.Job)
	p.commands = append(p.commands, &command.Place{
		Attempt: key.Attempt(task.Attempts + 1), Decided: p.state.Index, Ranks: ranks,
	})
	return placed
}
