package tx

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Event adds a line to a task's timeline; the caller puts the task.
func Event(t *Tx, task *model.Task, e model.Event) {
	limit, head := uint32(state.TimelineMax), uint32(state.TimelineHead)
	job := t.Jobs.Must(task.Key.Job)
	if job.Array() {
		limit, head = state.ArrayMax, state.ArrayHead
	}
	e.Key = model.EventKey{Job: task.Key.Job, Task: task.Key.Task, Seq: task.Events}
	e.At, e.Actor = t.Clock, t.Actor
	t.Events.Put(e)
	task.Events++
	if task.Events-task.Folded > limit {
		t.Events.Delete(model.EventKey{Job: task.Key.Job, Task: task.Key.Task, Seq: head + task.Folded})
		task.Folded++
	}
	announceEvent(t, &job, task, &e)
}
