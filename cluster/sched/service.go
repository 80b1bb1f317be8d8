package sched

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// A service that waits stands in the queue among the jobs' tasks, and a pass looks at
// it as at a job of one task on one node (model.Allocation.Spec). It differs in that
// it may be renewed for ever, counts against no limit of running jobs, and is
// granted its GPUs rather than placed.

// serves is the ticket of a service that waits.
func serves(s *state.State, turn model.TaskKey) *ticket {
	id, waits := s.Waiting.Get(turn)
	if !waits {
		return &ticket{}
	}
	a, _ := s.Allocations.Get(id)
	spec := a.Spec()
	return &ticket{
		service: id,
		task: model.Task{
			Key: turn, State: model.TaskQueued, Class: a.Class, Expected: state.Expect(&spec, &model.Sketch{}, 0),
		},
		job: model.Job{Spec: spec, Tasks: 1, Submitted: a.Asked},
	}
}

// key is the ticket's key in the queue.
func (t *ticket) key(s *state.State) state.QueueKey {
	if t.service == "" {
		return state.KeyOf(&t.task, &t.job)
	}
	a, _ := s.Allocations.Get(t.service)
	return state.KeyOfService(&a)
}

// live is what the ticket counts for where running tasks are bounded.
func (t *ticket) live() uint32 {
	if t.service != "" {
		return 0
	}
	return 1
}

// holds is for how long the ticket is taken to hold its GPUs where others wait for
// them: of a service nobody can tell.
func (t *ticket) holds() time.Duration {
	if t.service != "" {
		return longest * time.Second
	}
	return max(t.task.Expected, leastRun)
}

// asPlaced is the ticket's spec as bookings reckon with it; no limit bounds how long a
// service has its GPUs.
func (t *ticket) asPlaced(s *state.State) *model.Spec {
	if t.service != "" {
		return &t.job.Spec
	}
	return state.AsPlaced(s, &t.job.Spec)
}

// start is the command that gives the ticket its GPUs.
func (t *ticket) start(decided uint64, ranks []command.Placement) command.Body {
	if t.service != "" {
		return &command.Grant{ID: t.service, Decided: decided, Placement: ranks[0]}
	}
	return &command.Place{Attempt: t.task.Key.Attempt(t.task.Attempts + 1), Decided: decided, Ranks: ranks}
}

// ExplainAllocation says why an allocation waits on s at the time now, as [Explain] does
// of a task; false if it does not wait.
func ExplainAllocation(s *state.State, now model.Time, id model.AllocationID) (Explanation, bool) {
	a, _ := s.Allocations.Get(id)
	if a.State != model.AllocationQueued {
		return Explanation{}, false
	}
	return Explain(s, now, a.Turn)
}
