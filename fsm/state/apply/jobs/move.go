package jobs

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// move puts a job that waits directly ahead of another one in the order of the queue. From then on the order goes by
// what it went by for the other one, whatever becomes of that. An operator's command: nothing else of the job changes.
func move(t *tx.Tx, id, before model.JobID) command.Result {
	tasks, r := waiting(t, id)
	if !r.OK() {
		return r
	}
	others, r := waiting(t, before)
	if !r.OK() {
		return r
	}
	job, other := t.Jobs.Must(id), t.Jobs.Must(before)
	if job.Spec.WithoutGPUs() != other.Spec.WithoutGPUs() {
		return tx.Refuse(model.CodeConflict, "jobs %s and %s wait in two orders, since one of them needs no GPUs: move it ahead of a job that waits with it", id, before)
	}
	if job.Place.Moved() && job.Place.Before == before && job.Place.Turn == other.Place.Turn+1 &&
		job.Place.With(0, 0) == placeOf(&other, &others[0]) {
		return command.Result{Job: id} // it is there already
	}
	place := placeOf(&other, &others[0])
	turn := other.Place.Turn + 1
	makeRoom(t, id, place, turn)
	job.Place = place.With(before, turn)
	t.Jobs.Put(job)
	for _, task := range tasks {
		tx.Event(t, &task, model.Event{What: model.EventPriority, Detail: "moved ahead of job " + before.String()})
		t.Tasks.Put(task)
	}
	return command.Result{Job: id}
}

// waiting returns the tasks of a job that wait, of which there must be one.
func waiting(t *tx.Tx, id model.JobID) (tasks []model.Task, r command.Result) {
	open, r := targets(t, choice{id, model.AllTasks, ""})
	for _, task := range open {
		if task.State == model.TaskQueued {
			tasks = append(tasks, task)
		}
	}
	if r.OK() && len(tasks) == 0 {
		return nil, tx.Refuse(model.CodeNotQueued, "job %s does not wait: it has GPUs already", id)
	}
	return tasks, r
}

// placeOf returns the place of a job of which this is the first task that waits, without a turn: that to which the job
// was moved, or its own.
func placeOf(job *model.Job, first *model.Task) model.Place {
	if job.Place.Moved() {
		return job.Place.With(0, 0)
	}
	return model.Place{
		Task: first.Key, Class: first.Class, Since: first.Since, Executed: first.Ceded, Project: job.Spec.Project, User: job.Spec.User,
		GPUs: job.Spec.GPUs, Expected: model.StepOf(first.Expected),
	}
}

// makeRoom moves the jobs on that were moved to a place before and have the turn or a greater one.
func makeRoom(t *tx.Tx, id model.JobID, place model.Place, turn uint32) {
	var onward []model.Job
	for k, v := range t.Jobs.Now().All() {
		if k != id && v.Open > 0 && v.Place.Turn >= turn && v.Place.With(0, 0) == place {
			onward = append(onward, v)
		}
	}
	for _, v := range onward {
		v.Place.Turn++
		t.Jobs.Put(v)
	}
}
