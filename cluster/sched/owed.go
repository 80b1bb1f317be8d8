package sched

import (
	"math"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// owed is GPUs of a node that a pass keeps for a waiting task: they are barred, reserved or drained for the task,
// or the task should start there once others are gone.
type owed struct {
	to   state.QueueKey
	node model.NodeID // empty: every node
	gpus uint32
	from model.Time // when the task may have them: others that are gone by then may use them before; 0: at once
}

// everyGPU is all GPUs of a node.
const everyGPU = math.MaxUint32

// owedBy lists what a layout keeps for waiting tasks.
func owedBy(b *builder, best *split.Layout) (out []owed) {
	p := b.pass
	for n, until := range best.Until {
		if until > 0 {
			out = append(out, owed{b.all[best.For].key, b.nodes[n], everyGPU, p.now.Add(time.Duration(until) * time.Second)})
		}
	}
	for i := range b.all {
		c := &b.all[i]
		if c.attempt.N > 0 || p.done[c.key.Task] {
			continue
		}
		for _, v := range best.Places[i] {
			out = append(out, owed{c.key, b.nodes[v.Node], uint32(v.GPUs), 0})
		}
	}
	return out
}

// keptForOthers lists all that a pass keeps for waiting tasks.
func (m *preemption) keptForOthers() []owed {
	p := m.pass
	out := slices.Clip(p.found.owed)
	for i := range p.times.reserved {
		r := &p.times.reserved[i]
		for _, id := range r.on {
			out = append(out, owed{admission.TicketOf(p.state, r.Task).QueueKey(p.state), id, p.pool.reserved[id].of(r.want), r.At})
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

// withhold leaves to others the GPUs that are kept for them, except those to which the task has a right.
func (h *preemptor) withhold() {
	var everywhere uint64
	at := map[model.NodeID]uint64{}
	for i := range h.all.owed {
		switch o := &h.all.owed[i]; {
		case !h.respects(o):
		case o.node == "":
			everywhere += uint64(o.gpus)
		default:
			at[o.node] += uint64(o.gpus)
		}
	}
	for _, y := range h.offers {
		y.leave(everywhere + at[y.node])
	}
}

// leave leaves so many GPUs of the offer to others, the open ones first.
func (y *nodeOffer) leave(n uint64) {
	open := uint64(len(y.open))
	y.open = y.open[:open-min(n, open)]
	for n -= min(n, open); n > 0 && len(y.held) > 0; {
		last := &y.held[len(y.held)-1]
		cut := min(n, uint64(len(last.slots)))
		if last.slots = last.slots[:uint64(len(last.slots))-cut]; len(last.slots) == 0 {
			y.held = y.held[:len(y.held)-1]
		}
		n -= cut
	}
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
