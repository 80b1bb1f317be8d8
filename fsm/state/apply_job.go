package state

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func applySubmit(t *tx, b *command.Submit) command.Result {
	if r := admits(t, b); !r.OK() {
		return r
	}
	job := model.Job{
		ID: t.settings.NextJob, Spec: b.Spec, Tasks: b.Tasks, Throttle: b.Throttle,
		Script: keepBlob(t, b.Script), Env: keepBlob(t, strings.Join(b.Env, "\x00")), Stdin: keepBlob(t, b.Stdin),
		Submitted: t.clock, Index: t.meta.Index, Bytes: b.Bytes(),
	}
	if job.Spec.TimeLimit == 0 {
		job.Spec.TimeLimit, _ = longest(t.limits.get, &job.Spec)
	}
	enqueue(t, &job, b.After, nil, "")
	return command.Result{Job: job.ID}
}

// enqueue adds a new job, all of whose tasks wait; the given ones are held in addition to the spec's. The
// note goes with the first line of its timeline.
func enqueue(t *tx, job *model.Job, after []model.After, held model.Indices, note string) {
	t.settings.NextJob = job.ID + 1
	job.Spec.ScriptSum = binary.BigEndian.Uint32(job.Script[:])
	t.settings.Totals.Submitted += uint64(job.Tasks)
	bindTo(t, job, after)
	t.jobs.put(*job)
	expected := expect(t, &job.Spec, 0)
	for i, n := range numbers(job) {
		task := model.Task{
			Key: model.TaskKey{Job: job.ID, Task: n}, State: model.TaskQueued, Class: job.Spec.Class, Held: job.Spec.Held || held.Has(n),
			Expected: expected,
		}
		if job.Spec.Begin > t.clock {
			task.NotBefore = job.Spec.Begin
		}
		if i == 0 {
			event(t, &task, model.Event{What: model.EventSubmitted, Detail: note})
		}
		t.tasks.put(task)
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
func admits(t *tx, b *command.Submit) command.Result {
	if t.settings.Import.Open {
		return refuse(model.CodeStandstill, "state files are being imported: submit again once that has ended")
	}
	if r := inTime(t, &b.Spec); !r.OK() {
		return r
	}
	if r := mayAwait(t, b.After); !r.OK() {
		return r
	}
	if r := withinShares(t, b); !r.OK() {
		return r
	}
	for _, scope := range ScopesOf(b.Spec.Project, b.Spec.User) {
		limit, found := t.limits.get(scope)
		if !found {
			continue
		}
		use, _ := t.usage.get(scope)
		if Exceeds(limit.Queued, use.Queued, b.Tasks) {
			return refuse(model.CodeLimit, "%s may have %d tasks waiting and has %d, this adds %d: wait until some have "+
				"started, or have queued (max_queue_size of the cluster) raised", scope, limit.Queued, use.Queued, b.Tasks)
		}
		if Exceeds(limit.GPUsPerJob, 0, b.Spec.Least()) {
			return refuse(model.CodeLimit, "%s may use %d GPUs for one job, this one asks for %d: ask for fewer, or have gpus_per_job "+
				"raised", scope, limit.GPUsPerJob, b.Spec.Least())
		}
	}
	return withinTime(t, &b.Spec, b.Spec.TimeLimit)
}

// Exceeds reports whether an addition to the use would exceed a limit.
func Exceeds(limit int64, used, add uint32) bool {
	return limit != model.Unlimited && int64(used)+int64(add) > limit
}

func keepBlob(t *tx, data string) model.Hash {
	if data == "" {
		return model.Hash{}
	}
	blob := model.Blob{Hash: sha256.Sum256([]byte(data)), Data: data}
	if known, found := t.blobs.get(blob.Hash); found {
		blob = known
	}
	blob.Refs++
	t.blobs.put(blob)
	return blob.Hash
}

func dropBlob(t *tx, h model.Hash) {
	blob, found := t.blobs.get(h)
	switch {
	case !found:
	case blob.Refs <= 1:
		t.blobs.delete(h)
	default:
		blob.Refs--
		t.blobs.put(blob)
	}
}

// Timelines are bounded: the beginning and the latest lines stay, the lines between are folded into a number.
const (
	TimelineMax  = 64 // lines of a job
	TimelineHead = 8  // of them from the beginning
	ArrayMax     = 8  // lines of an array's task
	ArrayHead    = 2
)

// event adds a line to a task's timeline; the caller puts the task.
func event(t *tx, task *model.Task, e model.Event) {
	limit, head := uint32(TimelineMax), uint32(TimelineHead)
	job, _ := t.jobs.get(task.Key.Job)
	if job.Array() {
		limit, head = ArrayMax, ArrayHead
	}
	e.Key = model.EventKey{Job: task.Key.Job, Task: task.Key.Task, Seq: task.Events}
	e.At, e.Actor = t.clock, t.actor
	t.events.put(e)
	task.Events++
	if task.Events-task.Folded > limit {
		t.events.delete(model.EventKey{Job: task.Key.Job, Task: task.Key.Task, Seq: head + task.Folded})
		task.Folded++
	}
	announceEvent(t, &job, task, &e)
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
func (c *choice) among(t *tx) (open []model.Task, ended int) {
	some, err := model.ParseIndices(c.some)
	for k, v := range t.tasks.now().From(c.first()) {
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
func targets(t *tx, c choice) ([]model.Task, command.Result) {
	open, ended := c.among(t)
	switch {
	case !t.jobs.has(c.job):
		return nil, refuse(model.CodeNotFound, "there is no job %s", c.job)
	case len(open)+ended == 0:
		return nil, refuse(model.CodeNotFound, "job %s has no such task", c.job)
	case len(open) == 0 && c.task < 0 && c.some == "":
		return nil, refuse(model.CodeTerminal, "job %s has ended", c.job)
	case len(open) == 0:
		return nil, refuse(model.CodeTerminal, "these tasks of job %s have ended", c.job)
	}
	return open, ok()
}

func applyCancel(t *tx, b *command.Cancel) command.Result {
	tasks, r := targets(t, choice{b.Job, b.Task, b.Tasks})
	for _, task := range tasks {
		if task.State.Live() {
			stop(t, task.Newest(), model.ReasonCancel, b.Note)
		} else {
			endTask(t, task, model.TaskCanceled, model.Event{What: model.EventCanceled, Reason: model.ReasonCancel, Detail: b.Note})
		}
		r.Number++
	}
	r.Job = b.Job
	return r
}

func applySetPriority(t *tx, b *command.SetPriority) command.Result {
	tasks, r := targets(t, choice{b.Job, command.AllTasks, ""})
	if !r.OK() {
		return r
	}
	job, _ := t.jobs.get(b.Job)
	job.Spec.Class, job.Spec.Priority = b.Class, b.Priority
	t.jobs.put(job)
	for _, task := range tasks {
		if task.Class != b.Class {
			task.Class = b.Class
			event(t, &task, model.Event{What: model.EventPriority, Detail: b.Class.String()})
			t.tasks.put(task)
		}
	}
	return command.Result{Job: b.Job}
}

func applyHold(t *tx, b *command.Hold) command.Result {
	return eachQueued(t, choice{b.Job, b.Task, b.Tasks}, func(task *model.Task) {
		if !task.Held {
			task.Held = true
			event(t, task, model.Event{What: model.EventHeld, Detail: b.Note})
		}
	})
}

func applyRelease(t *tx, b *command.Release) command.Result {
	return eachQueued(t, choice{b.Job, b.Task, b.Tasks}, func(task *model.Task) {
		begins := task.Held && task.Attempts == 0 // a hold and a begin are lifted one by one
		if task.Held || task.NotBefore > t.clock || task.Avoid > 0 {
			task.Held, task.Avoid = false, 0
			if !begins {
				task.NotBefore = 0
			}
			event(t, task, model.Event{What: model.EventReleased})
		}
	})
}

// eachQueued changes the named tasks that wait.
func eachQueued(t *tx, c choice, change func(*model.Task)) command.Result {
	tasks, r := targets(t, c)
	if !r.OK() {
		return r
	}
	for _, v := range tasks {
		if v.State == model.TaskQueued {
			change(&v)
			t.tasks.put(v)
			if v.Held {
				dropClaims(t, v.Key)
			}
			r.Number++
		}
	}
	if r.Number == 0 {
		return refuse(model.CodeNotQueued, "job %s does not wait: it has GPUs already", c.job)
	}
	r.Job = c.job
	return r
}

func applyRequeue(t *tx, b *command.Requeue) command.Result {
	tasks, r := targets(t, choice{b.Job, b.Task, b.Tasks})
	for _, task := range tasks {
		if task.State.Live() {
			stop(t, task.Newest(), model.ReasonRequeue, b.Note)
			r.Number++
		}
	}
	if r.OK() && r.Number == 0 {
		return refuse(model.CodeNotLive, "job %s waits in the queue already", b.Job)
	}
	r.Job = b.Job
	return r
}

func applyExtend(t *tx, b *command.Extend) command.Result {
	tasks, r := targets(t, choice{b.Job, command.AllTasks, ""})
	if !r.OK() {
		return r
	}
	job, _ := t.jobs.get(b.Job)
	old, limit := job.Spec.TimeLimit, b.TimeLimit
	if b.By > 0 {
		limit = old + b.By
	}
	switch {
	case old == 0:
		return refuse(model.CodeConflict, "job %s has no time limit, so there is nothing to extend", b.Job)
	case limit > model.MaxDuration:
		return refuse(model.CodeConflict, "job %s could run %s then: at most %s are allowed", b.Job, limit, model.MaxDuration)
	case limit <= old:
		return refuse(model.CodeConflict, "job %s may run %s already, which is not less than %s", b.Job, old, limit)
	}
	if r := withinTime(t, &job.Spec, limit); !r.OK() {
		return r
	}
	if r := mayExtend(t, &job, tasks, limit); !r.OK() {
		return r
	}
	job.Spec.TimeLimit = limit
	t.jobs.put(job)
	for _, task := range tasks {
		if a, _ := t.attempts.get(task.Newest()); task.State.Live() {
			a.Frozen.TimeLimit = limit
			t.attempts.put(a)
			touchRanks(t, a.Key)
		}
		event(t, &task, model.Event{What: model.EventExtended, Detail: "may run " + limit.String()})
		t.tasks.put(task)
	}
	return command.Result{Job: b.Job, Number: uint64(len(tasks))}
}

// keysOf returns the keys of a run of rows, so that the rows may be written to.
func keysOf[K, V any](rows iter.Seq2[K, V], in func(K) bool) (out []K) {
	for k := range rows {
		if !in(k) {
			break
		}
		out = append(out, k)
	}
	return out
}

// keysWhere returns the keys of the rows that meet a condition.
func keysWhere[K, R any](rows iter.Seq2[K, R], is func(*R) bool) (out []K) {
	for k, row := range rows {
		if is(&row) {
			out = append(out, k)
		}
	}
	return out
}

// firstKey returns the first key of a run of rows; the zero key if there is none.
func firstKey[K, V any](rows iter.Seq2[K, V]) (first K) {
	for k := range rows {
		return k
	}
	return first
}

// firstOnly stops keysOf after one key.
func firstOnly[K any]() func(K) bool {
	n := 0
	return func(K) bool { n++; return n == 1 }
}
