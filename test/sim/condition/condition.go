// Package condition judges dependencies by the rows of tasks alone, as users understand them.
package condition

import (
	"fmt"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
)

// Unmet returns what is wrong with a dependency of a task that counts as met; empty: nothing.
func Unmet(s *state.State, on dependency.After, number uint32, array bool) string {
	well, badly := 0, 0
	for k, t := range s.Tasks.From(model.TaskKey{Job: on.Job}) {
		if k.Job != on.Job {
			break
		}
		if on.Kind == dependency.AfterCorr && array && k.Task == number {
			if t.State == model.TaskCompleted {
				return ""
			}
			return fmt.Sprintf("of which task %s is %s", k, t.State)
		}
		switch t.State {
		case model.TaskCompleted:
			well++
		case model.TaskFailed, model.TaskCanceled:
			badly++
		case model.TaskQueued, model.TaskScheduled, model.TaskAllocating, model.TaskRunning:
			if on.Kind != dependency.AfterBegin || t.Started == 0 {
				return fmt.Sprintf("of which task %s is %s", k, t.State)
			}
		}
	}
	if on.Kind.OfSuccess() && badly > 0 || on.Kind == dependency.AfterNotOK && badly == 0 {
		return fmt.Sprintf("of which %d tasks went well and %d did not", well, badly)
	}
	return ""
}
