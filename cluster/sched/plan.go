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
	p := newPass(s, now)
	p.grants()
	p.jobs(nil)
	for k := range s.Due.From(state.DueKey{At: p.now + 1}) {
		return p.commands, k.At
	}
	return p.commands, 0
}

// pass is one pass over what waits.
type pass struct {
	state    *state.State
	now      model.Time
	policy   Policy
	pool     *pool
	budget   budget
	misfits  map[model.Shape]bool // shapes that fit nowhere any more
	commands []command.Body
	placed   int // jobs' tasks among them
}

func newPass(s *state.State, now model.Time) *pass {
	return &pass{
		state: s, now: max(now, s.Settings().Clock), policy: policyOf(s),
		pool: newPool(s), budget: newBudget(s), misfits: map[model.Shape]bool{},
	}
}

func (p *pass) full() bool { return len(p.commands) == maxPlan || p.pool.empty() }

func (p *pass) grants() {
	for k := range p.state.Waiting.All() {
		if p.full() {
			return
		}
		a, _ := p.state.Allocations.Get(k.ID)
		w := want{need: a.GPUs, nodes: 1, model: a.GPUModel, memory: a.GPUMemoryMB, state: p.state}
		if !p.budget.allows(a.Project, a.User, a.GPUs, 0) {
			continue
		}
		if at, fits := p.pool.place(&w); fits {
			p.budget.use(a.Project, a.User, a.GPUs, 0)
			p.commands = append(p.commands, &command.Grant{ID: a.ID, Decided: p.state.Index, Placement: at[0]})
		}
	}
}

// jobs tries the waiting tasks in order; with a task given, those before it.
func (p *pass) jobs(before *state.QueueKey) {
	if p.full() {
		return
	}
	q := newQueue(p.state, p.policy)
	q.addSingles(p.state, p.now)
	for q.Len() > 0 && !p.full() {
		r := q.head()
		if before != nil && p.policy.Compare(r.key, *before) >= 0 {
			return
		}
		switch p.try(r) {
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
	if !r.single && len(p.pool.kept[key]) > 0 {
		return skipped // it has a run of its own
	}
	t := ticketOf(p.state, key)
	if !r.single && t.task.Avoid > 0 {
		return skipped // likewise, once its backoff is over
	}
	for b := range p.admit(t) {
		return outcomeOf(b.Code)
	}
	shape := t.job.Spec.Shape()
	if !r.single && p.misfits[shape] {
		return runOver
	}
	w := wantOf(p.state, &t.job.Spec, key)
	ranks, fits := p.pool.place(&w)
	if !fits {
		if !r.single {
			p.misfits[shape] = true
		}
		return runOver
	}
	p.add(t, ranks)
	return placed
}

// outcomeOf says what keeps whom back: a task, its job or its run.
func outcomeOf(c Code) outcome {
	if c == CodeThrottle {
		return jobFull
	}
	if c == CodeLimit {
		return runOver
	}
	return skipped
}

func (p *pass) add(t *ticket, ranks []command.Placement) {
	spec := &t.job.Spec
	p.budget.use(spec.Project, spec.User, spec.GPUs, 1)
	p.budget.jobs[t.job.ID]++
	p.placed++
	p.commands = append(p.commands, &command.Place{
		Attempt: t.task.Key.Attempt(t.task.Attempts + 1), Decided: p.state.Index, Ranks: ranks,
	})
}
