package placement

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Unbind drops a job's open dependencies; the caller puts the job.
func Unbind(t *tx.Tx, job *model.Job) {
	if job.Waits == 0 {
		return
	}
	if job.Blocked() {
		Unblocked(t, job.ID)
	}
	dropOpen(t, job.ID, func(*dependency.Row) bool { return true })
	each := job.Each
	job.Waits, job.Each = 0, 0
	if each == 0 {
		return
	}
	t.Jobs.Put(*job)
	for _, task := range WaitingTasks(t, job.ID) {
		task.Waits, task.Since = false, max(task.Since, t.Clock)
		t.Tasks.Put(task)
	}
}

// Unblocked notes that the tasks of a job could run from now on, as far as other jobs are concerned.
func Unblocked(t *tx.Tx, id model.JobID) {
	var queued []model.Task
	for k, task := range t.Tasks.Now().From(model.TaskKey{Job: id}) {
		if k.Job != id {
			break
		}
		if task.State == model.TaskQueued && task.Since < t.Clock {
			queued = append(queued, task)
		}
	}
	for _, task := range queued {
		task.Since = t.Clock
		t.Tasks.Put(task)
	}
}

// unhinder removes what kept a task that runs, as was found out after a restore, from being placed: the task was released and
// the other jobs were waited for after the backup. Other tasks of the job keep what they wait for by themselves.
func unhinder(t *tx.Tx, key model.TaskKey) (model.Task, model.Job) {
	task, job := t.Tasks.Must(key), t.Jobs.Must(key.Job)
	hindered := job.Hinders(&task)
	if job.Blocked() {
		dropOpen(t, job.ID, func(d *dependency.Row) bool { return !d.Each })
		job.Waits = job.Each
		t.Jobs.Put(job)
		tx.Event(t, &task, model.Event{What: model.EventUnbound, Detail: FoundRunning})
	}
	if task.Held {
		tx.Event(t, &task, model.Event{What: model.EventReleased, Detail: FoundRunning})
	}
	task.Resume(t.Clock)
	if hindered {
		task.Since = max(task.Since, t.Clock)
	}
	task.Held, task.Waits = false, false
	return task, job
}

// FoundRunning is what the timeline of an adopted task says.
const FoundRunning = "found running after a restore"

// dropOpen drops the chosen ones of the dependencies that a job waits for.
func dropOpen(t *tx.Tx, job model.JobID, chosen func(*dependency.Row) bool) {
	for _, d := range tx.DependenciesOf(t, job) {
		if d.State == dependency.Waits && chosen(&d) {
			d.State = dependency.Dropped
			t.Dependencies.Put(d)
		}
	}
}

// WaitingTasks returns the tasks of a job that wait for dependencies which are decided for each task by itself.
func WaitingTasks(t *tx.Tx, id model.JobID) (out []model.Task) {
	for k, task := range t.Tasks.Now().From(model.TaskKey{Job: id}) {
		if k.Job != id {
			break
		}
		if task.Waits {
			out = append(out, task)
		}
	}
	return out
}

// releaseTwins lets tasks start that wait for one of the same number, which has completed.
func releaseTwins(t *tx.Tx, done model.TaskKey) {
	for _, id := range tx.AwaitedFor(t, done.Job, dependency.AfterCorr) {
		task, found := t.Tasks.Get(model.TaskKey{Job: id, Task: done.Task})
		job, _ := t.Jobs.Get(id)
		if !found || !task.Waits {
			continue
		}
		if ok, _ := Decide(t, &job, tx.DependenciesOf(t, id), task.Key.Task); ok {
			task.Waits, task.Since = false, max(task.Since, t.Clock)
			tx.Event(t, &task, model.Event{What: model.EventMet, Detail: "task " + done.String() + " has completed"})
			t.Tasks.Put(task)
		}
	}
}

// Decide is [state.Decide] in a transaction.
func Decide(t *tx.Tx, job *model.Job, rows []dependency.Row, task uint32) (ok, never bool) {
	return state.Decide(job, rows, task, func(k model.TaskKey) bool {
		one, found := t.Tasks.Get(k)
		return found && one.State == model.TaskCompleted
	})
}
