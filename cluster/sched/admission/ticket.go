package admission

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of times.
const (
	LeastRun       = 10 * time.Second // no task is expected to end sooner
	LongestSeconds = 1 << 25          // seconds that a wait or a run counts at most: about 388 days
)

// A service that waits stands in the queue among the jobs' tasks, and a pass treats the service like a job of one
// task on one node (model.Allocation.Spec). A service differs from such a job: it may be renewed without end,
// counts against no limit of running jobs, and is granted its GPUs rather than placed.

// serves returns the ticket of a service that waits.
func serves(s *state.State, turn model.TaskKey) *Ticket {
	id, waits := s.Waiting.Get(turn)
	if !waits {
		return &Ticket{}
	}
	a, _ := s.Allocations.Get(id)
	spec := a.Spec()
	return &Ticket{
		Service: id,
		Task: model.Task{
			Key: turn, State: model.TaskQueued, Class: a.Class, Expected: state.Expect(&spec, &model.Sketch{}, 0),
		},
		Job: model.Job{Spec: spec, Tasks: 1, Submitted: a.Asked},
	}
}

// QueueKey returns the ticket's key in the queue.
func (t *Ticket) QueueKey(s *state.State) state.QueueKey {
	if t.Service == "" {
		return state.KeyOf(&t.Task, &t.Job)
	}
	a, _ := s.Allocations.Get(t.Service)
	return state.KeyOfService(&a)
}

// LiveTasks returns what the ticket counts against limits of running tasks: a service and a job without GPUs count
// nothing.
func (t *Ticket) LiveTasks() uint32 {
	if t.Service != "" || t.Job.Spec.WithoutGPUs() {
		return 0
	}
	return 1
}

// HoldTime returns for how long the ticket is expected to hold its GPUs where others wait for them. The time
// of a service is not known.
func (t *Ticket) HoldTime() time.Duration {
	if t.Service != "" {
		return LongestSeconds * time.Second
	}
	return max(t.Task.Expected, LeastRun)
}

// SpecAsPlaced returns the ticket's spec as bookings read it; no limit bounds how long a service has its
// GPUs.
func (t *Ticket) SpecAsPlaced(s *state.State) *model.Spec {
	if t.Service != "" {
		return &t.Job.Spec
	}
	return state.AsPlaced(s, &t.Job.Spec)
}

// StartCommand returns the command that gives the ticket its GPUs.
func (t *Ticket) StartCommand(decided uint64, ranks []command.Placement) command.Body {
	if t.Service != "" {
		return &command.Grant{ID: t.Service, Decided: decided, Placement: ranks[0]}
	}
	return &command.Place{Attempt: t.Task.Key.Attempt(t.Task.Attempts + 1), Decided: decided, Ranks: ranks}
}

// Ticket is a task that waits, as a pass looks at it, or a service.
type Ticket struct {
	Task    model.Task
	Job     model.Job
	Service model.AllocationID // empty: it is a task
}

// TicketOf returns the ticket of a task, or of the service that waits at its place.
func TicketOf(s *state.State, key model.TaskKey) *Ticket {
	if key.IsTurn() {
		return serves(s, key)
	}
	t := &Ticket{}
	t.Task, _ = s.Tasks.Get(key)
	t.Job, _ = s.Jobs.Get(key.Job)
	return t
}

// Waits reports whether a task or a service exists and waits for its turn only.
func (t *Ticket) Waits() bool {
	return (t.Job.ID > 0 || t.Service != "") && state.InLine(&t.Job, &t.Task)
}

// Executed returns how long a task with a live attempt has run.
func Executed(task *model.Task, a *model.Attempt, now model.Time) time.Duration {
	if a.Started == 0 {
		return task.Executed
	}
	return task.Executed + max(now.Sub(a.Started), 0)
}
