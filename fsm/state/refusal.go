package state

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// RefusalIn returns, of a table of events, which node did not start the newest attempt of a task, and why: "n1: the node's
// prolog failed". It is empty if none refused.
func RefusalIn(events table.Table[model.EventKey, model.Event], task *model.Task) (why string) {
	for k, e := range events.From(model.EventKey{Job: task.Key.Job, Task: task.Key.Task}) {
		if k.Job != task.Key.Job || k.Task != task.Key.Task {
			break
		}
		if e.What == model.EventRefused && e.N == task.Attempts {
			why = e.Detail
		}
	}
	return why
}
