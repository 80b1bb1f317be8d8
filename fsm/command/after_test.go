package command

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// What does not name its tasks and jobs in the one way is refused before the log, and
// again by the decoder.
func TestTurnsAreValidated(t *testing.T) {
	submit := func(change func(*Submit)) *Submit {
		b := array(3)
		change(b)
		return b
	}
	var crowd []dependency.After
	for id := range model.JobID(model.MaxAfter + 1) {
		crowd = append(crowd, dependency.After{Job: id + 1, Kind: dependency.AfterAny})
	}
	for name, v := range map[string]struct {
		body  Body
		valid bool
	}{
		"numbers":              {submit(func(b *Submit) { b.Spec.Array = "3,7,9" }), true},
		"too few numbers":      {submit(func(b *Submit) { b.Spec.Array = "3,7" }), false},
		"not the one form":     {submit(func(b *Submit) { b.Spec.Array = "7,3,9" }), false},
		"a sweep":              {submit(func(b *Submit) { b.Spec.Array, b.Spec.Sweep = "0-2", "x=1..3" }), true},
		"a sweep of others":    {submit(func(b *Submit) { b.Spec.Sweep = "x=1..3" }), false},
		"jobs":                 {submit(func(b *Submit) { b.After = crowd[:model.MaxAfter] }), true},
		"too many jobs":        {submit(func(b *Submit) { b.After = crowd }), false},
		"a job twice":          {submit(func(b *Submit) { b.After = []dependency.After{crowd[0], crowd[0]} }), false},
		"jobs out of order":    {submit(func(b *Submit) { b.After = []dependency.After{crowd[1], crowd[0]} }), false},
		"no job":               {submit(func(b *Submit) { b.After = []dependency.After{{Kind: dependency.AfterOK}} }), false},
		"no kind":              {submit(func(b *Submit) { b.After = []dependency.After{{Job: 1}} }), false},
		"another kind":         {submit(func(b *Submit) { b.After = []dependency.After{{Job: 1, Kind: 9}} }), false},
		"some tasks":           {&Cancel{Job: 1, Task: model.AllTasks, Tasks: "3,7-9"}, true},
		"some of one task":     {&Cancel{Job: 1, Task: 3, Tasks: "3"}, false},
		"tasks in no order":    {&Hold{Job: 1, Task: model.AllTasks, Tasks: "7-9,3"}, false},
		"tasks in words":       {&Release{Job: 1, Task: model.AllTasks, Tasks: "all"}, false},
		"the last task":        {&Requeue{Job: 1, Task: model.MaxIndex}, true},
		"a task beyond":        {&Requeue{Job: 1, Task: model.MaxIndex + 1}, false},
		"no job is settled":    {&Settle{}, false},
		"too many are settled": {&Settle{Jobs: make([]model.JobID, MaxSettled+1)}, false},
		"no job is overdue":    {&Overdue{}, false},
		"too many are overdue": {&Overdue{Jobs: make([]model.JobID, MaxOverdue+1)}, false},
		"dropped of no job":    {&DropDependencies{}, false},
	} {
		if err := v.body.Validate(); (err == nil) != v.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
