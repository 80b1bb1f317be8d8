package forecast

import (
	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/reserve"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// inOrder is a forecast in order: when waiting tasks find GPUs, given the present state.
type inOrder struct {
	*pass.Pass

	atOnce *sched.Planner // what the scheduler does now
}

// restOf returns the expected starts of the tasks in line that have not begun, and of suspended tasks.
func restOf(f *future, atOnce *sched.Planner, line []waitingTask) map[model.TaskKey]Course {
	if f.played() {
		atOnce = sched.NewPlanner(&f.State, f.Now)
		atOnce.StartClaimants(true)
		atOnce.Fill()
		atOnce.StartOnCores()
	}
	c := &inOrder{Pass: pass.New(atOnce.State, atOnce.Now), atOnce: atOnce}
	c.Timetable.Assume(f.left)
	c.begin()
	c.book()
	left, out := map[model.TaskKey]bool{}, map[model.TaskKey]Course{}
	for key := range f.runs { // order-free: a set
		if task, _ := f.State.Tasks.Get(key); task.State == model.TaskQueued && !withoutGPUs(&f.State, key) {
			left[key] = true
		}
	}
	for _, v := range line {
		_, begun := f.begun[v.task]
		switch {
		case begun:
		case withoutGPUs(&f.State, v.task):
			out[v.task] = c.onCores(v.task)
		default:
			left[v.task] = true
		}
	}
	for key := range queue.Keys(c.Order) {
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

// withoutGPUs reports whether a task is of a job without GPUs.
func withoutGPUs(s *state.State, key model.TaskKey) bool {
	job, found := s.Jobs.Get(key.Job)
	return found && job.Spec.WithoutGPUs()
}

// onCores returns what is expected of a task of a job without GPUs: its start if the scheduler starts it at once.
func (c *inOrder) onCores(key model.TaskKey) (out Course) {
	t := admission.TicketOf(c.State, key)
	for i, rank := range placeOf(c.atOnce.Pass, t) {
		if out.Nodes = append(out.Nodes, rank.Node); i == 0 {
			left := max(c.Timetable.Left(&t.Job.Spec, t.Task.Executed), admission.LeastRun)
			out.Start.Expected, out.End.Expected = c.Now, reserve.ByDeadline(&t.Job.Spec, c.Now, c.Now.Add(left))
		}
	}
	return out
}

// begin keeps the GPUs that the scheduler gives away at once.
func (c *inOrder) begin() {
	for _, b := range c.atOnce.Commands {
		switch b := b.(type) {
		case *command.Place:
			if len(b.Ranks[0].Slots) == 0 {
				continue // a job without GPUs
			}
			w := c.requestFor(admission.TicketOf(c.State, b.Attempt.TaskKey()))
			parts := make([]place.Share, len(b.Ranks))
			for i := range b.Ranks {
				parts[i] = place.Share{Node: b.Ranks[i].Node, N: uint32(len(b.Ranks[i].Slots))}
			}
			c.Timetable.Keep(reserve.Reservation{Task: w.Task, At: c.Now, Until: w.Until}, &w, parts)
		case *command.Grant:
			at := b.Placement
			c.Timetable.Keep(reserve.Reservation{At: c.Now, Until: place.Never}, nil, []place.Share{{Node: at.Node, N: uint32(len(at.Slots))}})
		}
	}
}

// requestFor returns what a task asks for, and for how long from now on.
func (c *inOrder) requestFor(t *admission.Ticket) place.Request {
	w := c.RequestOnly(t)
	spec := &t.Job.Spec
	if w.Until = c.Now.Add(t.HoldTime()); t.Service == "" {
		w.Until = c.Now.Add(max(c.Timetable.Left(spec, t.Task.Executed), admission.LeastRun))
	}
	w.Holder = &place.Holder{User: spec.User, Project: spec.Project, Certain: t.SpecAsPlaced(c.State).Certain()}
	return w
}

// wait returns when a waiting task is expected to start, and keeps the GPUs for the task.
func (c *inOrder) wait(key state.QueueKey) Course {
	t := admission.TicketOf(c.State, key.Task)
	w := c.requestFor(t)
	out := Course{GPUs: t.Job.Spec.GPUs}
	begin := func(at model.Time) {
		out.Start.Expected, out.End.Expected = at, reserve.ByDeadline(&t.Job.Spec, c.Now, at.Add(w.Until.Sub(c.Now)))
	}
	switch ranks := placeOf(c.atOnce.Pass, t); {
	case ranks != nil:
		out.GPUs = pass.GPUsOf(ranks)
		for i := range ranks {
			out.Nodes = append(out.Nodes, ranks[i].Node)
		}
		begin(c.Now)
	case c.atOnce.Found.Plans(key.Task) || len(c.Free.Claimed[key.Task]) > 0:
		begin(c.Now.Add(reserve.Soon))
	default:
		at, why := c.earliest(t, &w, &out)
		if out.Why = why; at > 0 && at < place.Never {
			begin(at)
		}
	}
	return out
}

// earliest finds GPUs for a task that does not start at once; 0: another blocker has to end first.
func (c *inOrder) earliest(t *admission.Ticket, w *place.Request, out *Course) (model.Time, blocker.Code) {
	var why blocker.Code
	from := c.Now
	for b := range c.Blockers(t) {
		switch why = b.Code; why { //nolint:exhaustive // all others come about by no time
		case blocker.CodeBegin, blocker.CodeBackoff, blocker.CodeGPUHours:
			from = max(from, b.Until)
		default:
			return 0, why
		}
	}
	*w = place.WithinLimits(&c.Budget, *w, t)
	parts, at := c.places(w, from)
	if parts == nil {
		return place.Never, why
	}
	until := reserve.ByDeadline(&t.Job.Spec, c.Now, at.Add(w.Until.Sub(c.Now)))
	if ends := t.Job.Spec.Deadline; ends > 0 && at >= ends {
		out.Late, out.Start.Latest = true, ends
		return place.Never, why
	}
	c.Timetable.Keep(reserve.Reservation{Task: w.Task, At: at, Until: until}, w, parts)
	out.GPUs = 0
	for _, v := range parts {
		out.Nodes, out.GPUs = append(out.Nodes, v.Node), out.GPUs+v.N
	}
	return at, why
}

// places returns where and when a task finds GPUs from an instant on: the first instant at which the task finds
// the fewest GPUs that it accepts, and as many GPUs as it can have then.
func (c *inOrder) places(w *place.Request, from model.Time) (parts []place.Share, at model.Time) {
	if now, fits := c.Free.Find(w); fits && from <= c.Now {
		for _, v := range now {
			parts = append(parts, place.Share{Node: v.Host.ID, N: v.N})
		}
		return parts, c.Now
	}
	few := w.Fewest()
	l := reserve.NewFinder(c.Timetable, &few)
	if parts, at = l.Earliest(from); parts != nil && w.Least > 0 {
		parts = l.Most(w, at)
	}
	return parts, at
}

// placeOf returns where the plan places a task or a service; nil: nowhere.
func placeOf(p *pass.Pass, t *admission.Ticket) []command.Placement {
	for _, b := range p.Commands {
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
