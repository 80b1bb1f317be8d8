package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// course is a forecast in order: when waiting tasks find GPUs, given the present state.
type course struct {
	*pass

	atOnce *Planner // what the scheduler does now
}

// restOf returns the expected starts of the tasks in line that have not begun, and of suspended tasks.
func restOf(f *future, atOnce *Planner, line []waiter) map[model.TaskKey]Course {
	if f.played() {
		atOnce = NewPlanner(&f.State, f.Now)
		atOnce.startClaimants(true)
		atOnce.Fill()
	}
	c := &course{pass: newPass(atOnce.state, atOnce.now), atOnce: atOnce}
	c.times.assume(f.left)
	c.begin()
	c.book()
	left := map[model.TaskKey]bool{}
	for key := range f.runs { // order-free: a set
		if task, _ := f.State.Tasks.Get(key); task.State == model.TaskQueued {
			left[key] = true
		}
	}
	for _, v := range line {
		if _, begun := f.begun[v.task]; !begun {
			left[v.task] = true
		}
	}
	out := map[model.TaskKey]Course{}
	for key := range queue.Keys(c.order) {
		if len(left) == 0 {
			break
		}
		if left[key.Task] {
			out[key.Task] = c.wait(key)
			delete(left, key.Task)
		}
	}
	return out
}

// begin keeps the GPUs that the scheduler gives away at once.
func (c *course) begin() {
	for _, b := range c.atOnce.commands {
		switch b := b.(type) {
		case *command.Place:
			w := c.wantFor(admission.TicketOf(c.state, b.Attempt.TaskKey()))
			parts := make([]share, len(b.Ranks))
			for i := range b.Ranks {
				parts[i] = share{node: b.Ranks[i].Node, n: uint32(len(b.Ranks[i].Slots))}
			}
			c.times.keep(Reservation{Task: w.who, At: c.now, Until: w.until}, &w, parts)
		case *command.Grant:
			at := b.Placement
			c.times.keep(Reservation{At: c.now, Until: never}, nil, []share{{node: at.Node, n: uint32(len(at.Slots))}})
		}
	}
}

// wantFor returns what a task asks for, and for how long from now on.
func (c *course) wantFor(t *admission.Ticket) want {
	w := c.freshWant(t)
	spec := &t.Job.Spec
	if w.until = c.now.Add(t.HoldTime()); t.Service == "" {
		w.until = c.now.Add(max(c.times.left(spec, t.Task.Executed), admission.LeastRun))
	}
	w.asks = &asker{user: spec.User, project: spec.Project, certain: t.SpecAsPlaced(c.state).Certain()}
	return w
}

// wait returns when a waiting task is expected to start, and keeps the GPUs for the task.
func (c *course) wait(key state.QueueKey) Course {
	t := admission.TicketOf(c.state, key.Task)
	w := c.wantFor(t)
	out := Course{GPUs: t.Job.Spec.GPUs}
	begin := func(at model.Time) {
		out.Start.Expected, out.End.Expected = at, byDeadline(&t.Job.Spec, c.now, at.Add(w.until.Sub(c.now)))
	}
	switch ranks := placeOf(c.atOnce.pass, t); {
	case ranks != nil:
		out.GPUs = gpusOf(ranks)
		for i := range ranks {
			out.Nodes = append(out.Nodes, ranks[i].Node)
		}
		begin(c.now)
	case c.atOnce.found.plans(key.Task) || len(c.pool.kept[key.Task]) > 0:
		begin(c.now.Add(soon))
	default:
		at, why := c.earliest(t, &w, &out)
		if out.Why = why; at > 0 && at < never {
			begin(at)
		}
	}
	return out
}

// earliest finds GPUs for a task that does not start at once; 0: another blocker has to end first.
func (c *course) earliest(t *admission.Ticket, w *want, out *Course) (model.Time, blocker.Code) {
	var why blocker.Code
	from := c.now
	for b := range c.admit(t) {
		switch why = b.Code; why { //nolint:exhaustive // all others come about by no time
		case blocker.CodeBegin, blocker.CodeBackoff, blocker.CodeGPUHours:
			from = max(from, b.Until)
		default:
			return 0, why
		}
	}
	*w = withinLimits(&c.budget, *w, t)
	parts, at := c.places(w, from)
	if parts == nil {
		return never, why
	}
	until := byDeadline(&t.Job.Spec, c.now, at.Add(w.until.Sub(c.now)))
	if ends := t.Job.Spec.Deadline; ends > 0 && at >= ends {
		out.Late, out.Start.Latest = true, ends
		return never, why
	}
	c.times.keep(Reservation{Task: w.who, At: at, Until: until}, w, parts)
	out.GPUs = 0
	for _, v := range parts {
		out.Nodes, out.GPUs = append(out.Nodes, v.node), out.GPUs+v.n
	}
	return at, why
}

// places returns where and when a task finds GPUs from an instant on: the first instant at which the task finds
// the fewest GPUs that it accepts, and as many GPUs as it can have then.
func (c *course) places(w *want, from model.Time) (parts []share, at model.Time) {
	if now, fits := c.pool.find(w); fits && from <= c.now {
		for _, v := range now {
			parts = append(parts, share{node: v.host.id, n: v.n})
		}
		return parts, c.now
	}
	few := w.few()
	l := newFinder(c.times, &few)
	if parts, at = l.earliest(from); parts != nil && w.least > 0 {
		parts = l.most(w, at)
	}
	return parts, at
}

// placeOf returns where the plan places a task or a service; nil: nowhere.
func placeOf(p *pass, t *admission.Ticket) []command.Placement {
	for _, b := range p.commands {
		switch b := b.(type) {
		case *command.Place:
			if b.Attempt.TaskKey() == t.Task.Key {
				return b.Ranks
			}
		case *command.Grant:
			if b.ID == t.Service {
				return []command.Placement{b.Placement}
			}
		}
	}
	return nil
}
