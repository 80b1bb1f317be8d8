package sched

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// keptForOthers lists all that a pass keeps for waiting tasks.
func (m *preemption) keptForOthers() []owed {
	p := m.pass
	out := slices.Clip(p.found.owed)
	for i := range p.times.reserved {
		r := &p.times.reserved[i]
		for _, id := range r.on {
			out = append(out, owed{to: admission.TicketOf(p.state, r.Task).QueueKey(p.state), node: id, gpus: p.pool.reserved[id].of(r.want), from: r.At})
		}
	}
	return out
}

// rights is what a waiting task may take of others.
type rights struct {
	pass  *pass
	task  model.TaskKey
	class model.Class
	owns  bool // what it asks for is within its owner's guarantee
	at    queue.SortKey
	ends  model.Time // when it would be out of the way of the tasks for which GPUs are kept
}

// respects reports whether a task has to leave GPUs to the other task for which they are kept: the task would be in
// the way, comes later, and has no right to what the other would have.
func (r *rights) respects(o *owed) bool {
	if !r.inTheWay(o) || !r.before(o) {
		return false
	}
	run := o.to.Run.Value()
	if !run.Preemptible && r.pass.order.Tuning.Preempt != model.PreemptsLower {
		return true
	}
	pool := r.pass.budget.Pool(run.Project, run.User)
	return !r.right(o.to.Class, pool.Beyond(int64(leastOf(&run.Shape))) > 0)
}

func (r *rights) inTheWay(o *owed) bool { return o.to.Task != r.task && r.ends > o.from }

func (r *rights) before(o *owed) bool { return r.pass.order.SortKey(o.to).Compare(r.at) < 0 }

// right reports whether the task may take GPUs of a class: because its own class is higher, or because they are
// borrowed.
func (r *rights) right(class model.Class, borrowed bool) bool {
	return r.byClass(class) || r.owns && borrowed && class <= r.class
}

func (r *rights) byClass(class model.Class) bool {
	return r.class >= model.ClassHigh && class < r.class
}

// endsBy returns when a waiting task would be out of the way of the tasks for which GPUs are kept, if it had some
// of these GPUs now.
func endsBy(p *pass, t *admission.Ticket, k state.QueueKey) model.Time {
	if !p.searches() {
		return p.now.Add(p.times.holds(p.order, t))
	}
	if stay := p.order.Stay(k, p.order.Strict); !stay.Yields {
		return p.now.Add(time.Duration(stay.Ends) * time.Second)
	}
	return p.now
}
