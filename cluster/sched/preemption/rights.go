package preemption

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// rights is what a waiting task may take of others.
type rights struct {
	pass  *pass.Pass
	task  model.TaskKey
	class model.Class
	owns  bool // what it asks for is within its owner's guarantee
	at    queue.SortKey
	ends  model.Time // when it would be out of the way of the tasks for which GPUs are kept
}

// respects reports whether a task has to leave GPUs to the other task for which they are kept: the task would be in
// the way, comes later, and has no right to what the other would have.
func (r *rights) respects(o *pass.KeptGPUs) bool {
	if !r.inTheWay(o) || !r.before(o) {
		return false
	}
	run := o.For.Run.Value()
	if !run.Preemptible && r.pass.Order.Tuning.Preempt != model.PreemptsLower {
		return true
	}
	pool := r.pass.Budget.Pool(run.Project, run.User)
	return !r.right(o.For.Class, pool.Beyond(int64(leastOf(&run.Shape))) > 0)
}

func (r *rights) inTheWay(o *pass.KeptGPUs) bool { return o.For.Task != r.task && r.ends > o.From }

func (r *rights) before(o *pass.KeptGPUs) bool { return r.pass.Order.SortKey(o.For).Compare(r.at) < 0 }

// right reports whether the task may take GPUs of a class: because its own class is higher, or because they are
// borrowed.
func (r *rights) right(class model.Class, borrowed bool) bool {
	return r.byClass(class) || r.owns && borrowed && class <= r.class
}

func (r *rights) byClass(class model.Class) bool {
	return r.class >= model.ClassHigh && class < r.class
}

// endOf returns when a waiting task would be out of the way of the tasks for which GPUs are kept, if it had some
// of these GPUs now.
func endOf(p *pass.Pass, t *admission.Ticket, k state.QueueKey) model.Time {
	if !p.Searches() {
		return p.Now.Add(p.Timetable.HoldTime(p.Order, t))
	}
	if stay := p.Order.Stay(k, p.Order.Strict); !stay.Yields {
		return p.Now.Add(time.Duration(stay.Ends) * time.Second)
	}
	return p.Now
}

// keptForOthers lists all that a pass keeps for waiting tasks.
func (m *Step) keptForOthers() []pass.KeptGPUs {
	p := m.pass
	out := slices.Clip(p.Found.Kept)
	for i := range p.Timetable.Reserved {
		r := &p.Timetable.Reserved[i]
		for _, id := range r.Nodes {
			out = append(out, pass.KeptGPUs{
				For: admission.TicketOf(p.State, r.Task).QueueKey(p.State), Node: id,
				GPUs: p.Free.Reserved[id].Of(r.Request), From: r.At,
			})
		}
	}
	return out
}
