package sched

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// grant gives a waiting allocation its GPUs, if there are any for it.
func grant(p *pass, a *model.Allocation) {
	w := wantOfService(p, a)
	if !p.budget.allows(a.Project, a.User, a.GPUs, 0) {
		return
	}
	if at, fits := p.pool.place(&w); fits {
		p.budget.use(a.Project, a.User, a.GPUs, 0)
		p.commands = append(p.commands, &command.Grant{ID: a.ID, Decided: p.state.Index, Placement: at[0]})
	}
}

// wantOfService is what an allocation asks of GPUs in this pass.
func wantOfService(p *pass, a *model.Allocation) want {
	w := want{need: a.GPUs, nodes: 1, model: a.GPUModel, memory: a.GPUMemoryMB, state: p.state}
	w.sites, w.order = p.where.of(p.state, a.Where()), p.order.tuning.Placement
	w.keep = keepFor(p.beside.books, a.User, a.Project, model.Never, &w)
	return w
}

// ExplainAllocation says why an allocation waits on s at the time now; false if it
// does not wait. Its place is that among the services, which go before jobs; what
// would let it start is not told.
func ExplainAllocation(s *state.State, now model.Time, id model.AllocationID) (Explanation, bool) {
	a, _ := s.Allocations.Get(id)
	if a.State != model.AllocationQueued {
		return Explanation{}, false
	}
	p := newPass(s, now)
	e := Explanation{Policy: p.order.policy.name, At: p.now, Exact: true}
	set := s.Settings()
	if !set.Running {
		e.Blockers = append(e.Blockers, Blocker{Code: CodeStopped})
	}
	if set.Standstill {
		e.Blockers = append(e.Blockers, Blocker{Code: CodeStandstill})
	}
	p.beside.clear()
	for k := range s.Waiting.All() {
		if k.ID == id {
			break
		}
		e.AheadN++
		if other, _ := s.Allocations.Get(k.ID); !p.full() {
			grant(p, &other)
		}
	}
	e.Position = e.AheadN + 1
	for b := range p.budget.excesses(a.Project, a.User, a.GPUs, 0) {
		e.Blockers = append(e.Blockers, b)
	}
	w := wantOfService(p, &a)
	if _, fits := w.seek(p.pool); !fits || len(p.commands) >= maxPlan {
		e.Blockers = append(e.Blockers, p.misfit(&w)...)
	}
	e.Summary = summary(&e)
	return e, true
}
