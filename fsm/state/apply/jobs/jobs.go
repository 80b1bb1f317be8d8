package jobs

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/limits"
	"github.com/berth-gpu/berth/fsm/state/apply/placement"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Submit adds a job.
func Submit(t *tx.Tx, b *command.Submit) command.Result {
	if r := admits(t, b); !r.OK() {
		return r
	}
	job := model.Job{
		ID: t.Settings.NextJob, Spec: b.Spec, Tasks: b.Tasks, Throttle: b.Throttle,
		Script: KeepBlob(t, b.Script), Env: KeepBlob(t, strings.Join(b.Env, "\x00")), Stdin: KeepBlob(t, b.Stdin),
		SubmitEnv: KeepBlob(t, strings.Join(b.SubmitEnv, "\x00")),
		Submitted: t.Clock, Index: t.Meta.Index, Bytes: b.Bytes(),
	}
	if job.Spec.TimeLimit == 0 {
		job.Spec.TimeLimit, _ = state.LongestTime(t.Limits.Get, &job.Spec)
	}
	Enqueue(t, &job, b.After, nil, "")
	return command.Result{Job: job.ID}
}

// Enqueue adds a new job, all of whose tasks wait; the given ones are held in addition to the spec's. The
// note goes with the first line of its timeline.
func Enqueue(t *tx.Tx, job *model.Job, after []dependency.After, held model.Indices, note string) {
	t.Settings.NextJob = job.ID + 1
	job.Spec.ScriptSum = binary.BigEndian.Uint32(job.Script[:])
	t.Settings.Totals.Submitted += uint64(job.Tasks)
	bindTo(t, job, after)
	t.Jobs.Put(*job)
	rows := tx.DependenciesOf(t, job.ID)
	expected := tx.Expect(t, &job.Spec, 0)
	for i, n := range numbers(job) {
		task := model.Task{
			Key: model.TaskKey{Job: job.ID, Task: n}, State: model.TaskQueued, Class: job.Spec.Class, Held: job.Spec.Held || held.Has(n),
			Expected: expected, Since: max(job.Submitted, job.Spec.Begin),
		}
		if task.Held {
			task.Pause(job.Submitted)
		}
		if job.Spec.Begin > t.Clock {
			task.NotBefore = job.Spec.Begin
		}
		if job.Each > 0 {
			ok, _ := placement.Decide(t, job, rows, n)
			task.Waits = !ok
		}
		if i == 0 {
			tx.Event(t, &task, model.Event{What: model.EventSubmitted, Detail: note})
		}
		t.Tasks.Put(task)
	}
}

// numbers returns the numbers of the tasks.
func numbers(job *model.Job) model.Indices {
	if job.Spec.Array == "" {
		return model.FirstIndices(job.Tasks)
	}
	x, err := model.ParseIndices(job.Spec.Array)
	if err != nil {
		return nil // the body was validated
	}
	return x
}

// admits checks the dates, the awaited jobs, and the limits that count at submission.
func admits(t *tx.Tx, b *command.Submit) command.Result {
	if t.Settings.Import.Open {
		return tx.Refuse(model.CodeStandstill, "state files are being imported: submit again once that has ended")
	}
	if r := InTime(t, &b.Spec); !r.OK() {
		return r
	}
	if r := mayAwait(t, b.After); !r.OK() {
		return r
	}
	if r := withinShares(t, b); !r.OK() {
		return r
	}
	for _, scope := range state.ScopesOf(b.Spec.Project, b.Spec.User) {
		limit, found := t.Limits.Get(scope)
		if !found {
			continue
		}
		use, _ := t.Usage.Get(scope)
		if state.Exceeds(limit.Queued, use.Queued, b.Tasks) {
			return tx.Refuse(model.CodeLimit, "%s may have %d tasks waiting and has %d, this adds %d: wait until some have "+
				"started, or have queued (max_queue_size of the cluster) raised", scope, limit.Queued, use.Queued, b.Tasks)
		}
		if state.Exceeds(limit.GPUsPerJob, 0, b.Spec.Least()) {
			return tx.Refuse(model.CodeLimit, "%s may use %d GPUs for one job, this one asks for %d: ask for fewer, or have gpus_per_job "+
				"raised", scope, limit.GPUsPerJob, b.Spec.Least())
		}
	}
	return limits.WithinTime(t, &b.Spec, b.Spec.TimeLimit)
}

// choice is a command's selection of a job's tasks.
type choice struct {
	job  model.JobID
	task int64  // or command.AllTasks
	some string // of all: only these; empty: all
}

// first returns the first task of the selection's range.
func (c *choice) first() model.TaskKey {
	return model.TaskKey{Job: c.job, Task: uint32(max(c.task, 0))}
}

// among returns the selected tasks, and the number of those that have ended.
func (c *choice) among(t *tx.Tx) (open []model.Task, ended int) {
	some, err := model.ParseIndices(c.some)
	for k, v := range t.Tasks.Now().From(c.first()) {
		switch {
		case k.Job != c.job || c.task >= 0 && int64(k.Task) != c.task:
			return open, ended
		case err == nil && !some.Has(k.Task):
		case v.State.Terminal():
			ended++
		default:
			open = append(open, v)
		}
	}
	return open, ended
}

// targets returns the tasks that a command names and that have not ended.
func targets(t *tx.Tx, c choice) ([]model.Task, command.Result) {
	open, ended := c.among(t)
	switch {
	case !t.Jobs.Has(c.job):
		return nil, tx.Refuse(model.CodeNotFound, "there is no job %s", c.job)
	case len(open)+ended == 0:
		return nil, tx.Refuse(model.CodeNotFound, "job %s has no such task", c.job)
	case len(open) == 0 && c.task < 0 && c.some == "":
		return nil, tx.Refuse(model.CodeTerminal, "job %s has ended", c.job)
	case len(open) == 0:
		return nil, tx.Refuse(model.CodeTerminal, "these tasks of job %s have ended", c.job)
	}
	return open, tx.OK()
}

// Cancel ends tasks: those in the queue at once, others once their processes have ended.
func Cancel(t *tx.Tx, b *command.Cancel) command.Result {
	tasks, r := targets(t, choice{b.Job, b.Task, b.Tasks})
	for _, task := range tasks {
		if task.State.Live() {
			placement.Stop(t, task.Newest(), model.ReasonCancel, b.Note)
		} else {
			placement.EndTask(t, task, model.TaskCanceled, model.Event{What: model.EventCanceled, Reason: model.ReasonCancel, Detail: b.Note})
		}
		r.Number++
	}
	r.Job = b.Job
	return r
}

// SetPriority changes the priority of tasks, or the place of their job in the queue.
func SetPriority(t *tx.Tx, b *command.SetPriority) command.Result {
	if b.Before != 0 {
		return move(t, b.Job, b.Before)
	}
	tasks, r := targets(t, choice{b.Job, model.AllTasks, ""})
	if r.OK() {
		_, r = staying(t, b.Job, tasks)
	}
	if !r.OK() {
		return r
	}
	job := t.Jobs.Must(b.Job)
	moved := job.Place.Moved()
	job.Spec.Class, job.Spec.Priority, job.Place = b.Class, b.Priority, model.Place{}
	t.Jobs.Put(job)
	for _, task := range tasks {
		if task.Class != b.Class || moved {
			task.Class = b.Class
			tx.Event(t, &task, model.Event{What: model.EventPriority, Detail: b.Class.String()})
			t.Tasks.Put(task)
		}
	}
	return command.Result{Job: b.Job}
}

// Hold keeps queued tasks from being placed until Release.
func Hold(t *tx.Tx, b *command.Hold) command.Result {
	return eachQueued(t, choice{b.Job, b.Task, b.Tasks}, func(task *model.Task) {
		hold(t, task, b.Note)
	})
}

func hold(t *tx.Tx, task *model.Task, note string) {
	if !task.Held {
		task.Held = true
		task.Pause(t.Clock)
		tx.Event(t, task, model.Event{What: model.EventHeld, Detail: note})
	}
}

// Release ends Hold.
func Release(t *tx.Tx, b *command.Release) command.Result {
	return eachQueued(t, choice{b.Job, b.Task, b.Tasks}, func(task *model.Task) {
		begins := task.Held && task.Attempts == 0 // a hold and a begin are lifted one by one
		if task.Held || task.NotBefore > t.Clock || task.Avoid > 0 {
			task.Held, task.Avoid = false, 0
			task.Resume(t.Clock)
			if !begins {
				task.NotBefore, task.Since = 0, min(task.Since, t.Clock)
			}
			tx.Event(t, task, model.Event{What: model.EventReleased})
		}
	})
}

// eachQueued changes the named tasks that wait.
func eachQueued(t *tx.Tx, c choice, change func(*model.Task)) command.Result {
	tasks, r := targets(t, c)
	if !r.OK() {
		return r
	}
	for _, v := range tasks {
		if v.State == model.TaskQueued {
			change(&v)
			t.Tasks.Put(v)
			if v.Held {
				placement.DropClaims(t, v.Key)
			}
			r.Number++
		}
	}
	if r.Number == 0 {
		return tx.Refuse(model.CodeNotQueued, "job %s does not wait: it has GPUs already", c.job)
	}
	r.Job = c.job
	return r
}

// staying drops tasks that end with their present attempts, and refuses a change if none is left: it would have no effect.
func staying(t *tx.Tx, id model.JobID, tasks []model.Task) ([]model.Task, command.Result) {
	why := model.ReasonNone
	stay := slices.DeleteFunc(slices.Clone(tasks), func(task model.Task) bool {
		ends := placement.Ending(t, &task)
		if ends != model.ReasonNone {
			why = ends
		}
		return ends != model.ReasonNone
	})
	if why != model.ReasonNone && len(stay) == 0 {
		return nil, tx.Refuse(model.CodeConflict, "job %s is being stopped (%s) and ends with that: submit it again (berth redo %s)", id, why, id)
	}
	return stay, tx.OK()
}

// Requeue stops live tasks, which are queued again once they have ended, held if that is asked for.
func Requeue(t *tx.Tx, b *command.Requeue) command.Result {
	tasks, r := targets(t, choice{b.Job, b.Task, b.Tasks})
	if r.OK() {
		tasks, r = staying(t, b.Job, tasks)
	}
	for _, task := range tasks {
		switch {
		case task.State.Live() && b.Hold:
			placement.HoldAfter(t, task.Newest())
			fallthrough
		case task.State.Live():
			placement.Stop(t, task.Newest(), model.ReasonRequeue, b.Note)
		case b.Hold && !task.Held:
			hold(t, &task, b.Note)
			t.Tasks.Put(task)
			placement.DropClaims(t, task.Key)
		case !b.Hold:
			continue
		}
		r.Number++
	}
	if r.OK() && r.Number == 0 {
		return tx.Refuse(model.CodeNotLive, "job %s waits in the queue already", b.Job)
	}
	r.Job = b.Job
	return r
}

// Extend raises the time limit of a job.
func Extend(t *tx.Tx, b *command.Extend) command.Result {
	tasks, r := targets(t, choice{b.Job, model.AllTasks, ""})
	if r.OK() {
		_, r = staying(t, b.Job, tasks)
	}
	if !r.OK() {
		return r
	}
	job := t.Jobs.Must(b.Job)
	old, limit := job.Spec.TimeLimit, b.TimeLimit
	if b.By > 0 {
		limit = old + b.By
	}
	switch {
	case old == 0:
		return tx.Refuse(model.CodeConflict, "job %s has no time limit, so there is nothing to extend", b.Job)
	case limit > model.MaxDuration:
		return tx.Refuse(model.CodeConflict, "job %s could run %s then: at most %s are allowed", b.Job, limit, model.MaxDuration)
	case limit <= old:
		return tx.Refuse(model.CodeConflict, "job %s may run %s already, which is not less than %s", b.Job, old, limit)
	}
	if r := limits.WithinTime(t, &job.Spec, limit); !r.OK() {
		return r
	}
	if r := limits.MayExtend(t, &job, tasks, limit); !r.OK() {
		return r
	}
	job.Spec.TimeLimit = limit
	t.Jobs.Put(job)
	for _, task := range tasks {
		if a, _ := t.Attempts.Get(task.Newest()); task.State.Live() {
			a.Frozen.TimeLimit = limit
			t.Attempts.Put(a)
			placement.TouchRanks(t, a.Key)
		}
		tx.Event(t, &task, model.Event{What: model.EventExtended, Detail: "may run " + limit.String()})
		t.Tasks.Put(task)
	}
	return command.Result{Job: b.Job, Number: uint64(len(tasks))}
}
