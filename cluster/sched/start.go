package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
)

// mayPreempt reports whether a waiting task may have a right to GPUs of others.
func (p *pass) mayPreempt() bool {
	if t := &p.order.Tuning; t.NoPreemption || t.Preempt == model.PreemptsNobody {
		return false
	}
	for head := range queue.Heads(p.state) {
		return p.budget.HasPools || head.Class >= model.ClassHigh
	}
	return false
}

// startClaimants places tasks for which GPUs are kept: on these alone if kept is set, otherwise also on what
// others have left, since some of these GPUs may never come.
func (p *pass) startClaimants(kept bool) {
	for task := range queue.Claimants(p.state) {
		if p.full() {
			return
		}
		if p.done[task] {
			continue
		}
		t := admission.TicketOf(p.state, task)
		w := p.wantOf(t)
		w.kept, w.until = kept, 0
		if !p.admits(t) {
			continue
		}
		if ranks, fits := p.pool.place(&w); fits {
			p.add(t, ranks)
		} else if !p.budget.Held[task] {
			p.budget.Hold(t) // no other job may use what its limits leave to it
		}
	}
}

// startAt places a waiting task where a layout has it, if its GPUs are free there and bookings leave them to the
// task now.
func (p *pass) startAt(t *admission.Ticket, parts []part) bool {
	if p.full() {
		return false
	}
	w := p.wantOf(t)
	w.until = 0
	if !w.holdsAll(p.pool, parts) || !p.admits(t) {
		return false
	}
	var gpus uint32
	for _, v := range parts {
		gpus += v.n
	}
	if spec := &t.Job.Spec; !p.budget.Allows(spec.Project, spec.User, gpus, t.LiveTasks()) {
		return false
	}
	p.add(t, p.pool.takeParts(&w, parts))
	return true
}
