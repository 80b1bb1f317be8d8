package pass

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
)

// MayPreempt reports whether a waiting task may have a right to GPUs of others.
func (p *Pass) MayPreempt() bool {
	if t := &p.Order.Tuning; t.NoPreemption || t.Preempt == model.PreemptsNobody {
		return false
	}
	for head := range queue.Heads(p.State) {
		return p.Budget.HasPools || head.Class >= model.ClassHigh
	}
	return false
}

// StartClaimants places tasks for which GPUs are kept: on these alone if kept is set, otherwise also on what
// others have left, since some of these GPUs may never come.
func (p *Pass) StartClaimants(kept bool) {
	for task := range queue.Claimants(p.State) {
		if p.Full() {
			return
		}
		if p.Done[task] {
			continue
		}
		t := admission.TicketOf(p.State, task)
		w := p.RequestOf(t)
		w.OnlyClaimed, w.Until = kept, 0
		if !p.Admits(t) {
			continue
		}
		if ranks, fits := p.Free.Place(&w); fits {
			p.Start(t, ranks)
		} else if !p.Budget.Held[task] {
			p.Budget.Hold(t) // no other job may use what its limits leave to it
		}
	}
}

// StartAt places a waiting task where a layout has it, if its GPUs are free there and bookings leave them to the
// task now.
func (p *Pass) StartAt(t *admission.Ticket, parts []place.Part) bool {
	if p.Full() {
		return false
	}
	w := p.RequestOf(t)
	w.Until = 0
	if !w.HoldsAll(p.Free, parts) || !p.Admits(t) {
		return false
	}
	var gpus uint32
	for _, v := range parts {
		gpus += v.N
	}
	if spec := &t.Job.Spec; !p.Budget.Allows(spec.Project, spec.User, gpus, t.LiveTasks()) {
		return false
	}
	p.Start(t, p.Free.TakeParts(&w, parts))
	return true
}
