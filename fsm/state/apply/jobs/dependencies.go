package jobs

import (
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/apply/placement"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// beginSlack is how long ago a begin may lie: it was in the present when it was requested.
const beginSlack = time.Minute

// InTime checks a job's begin and deadline against the clock.
func InTime(t *tx.Tx, spec *model.Spec) command.Result {
	latest := t.Clock.Add(model.MaxDuration)
	switch {
	case spec.Begin > latest:
		return tx.Refuse(model.CodeInvalid, "begin lies more than 366 days ahead")
	case spec.Begin > 0 && spec.Begin < t.Clock.Add(-beginSlack):
		return tx.Refuse(model.CodeInvalid, "begin has passed already: leave it out to start at once")
	case spec.Deadline > latest:
		return tx.Refuse(model.CodeInvalid, "deadline lies more than 366 days ahead")
	case spec.Deadline > 0 && spec.Deadline <= t.Clock:
		return tx.Refuse(model.CodeInvalid, "deadline has passed already")
	}
	return tx.OK()
}

// mayAwait reports whether a new job can wait for these: they were submitted before it, and none has ended in
// a way that lets it wait for ever.
func mayAwait(t *tx.Tx, after []model.After) command.Result {
	for _, a := range after {
		on, found := t.Jobs.Get(a.Job)
		switch {
		case a.Job >= t.Settings.NextJob:
			return tx.Refuse(model.CodeInvalid, "there is no job %s yet: a job can wait only for those that were submitted before it", a.Job)
		case !found:
			return tx.Refuse(model.CodeInvalid, "there is no job %s any more: what ended long ago is forgotten", a.Job)
		case a.Kind.Judge(&on) == model.DependencyNever:
			return tx.Refuse(model.CodeInvalid, "job %s has %s: after %s of it the new job would never start", a.Job, fate(&on), a.Kind)
		}
	}
	return tx.OK()
}

// fate returns how a job has ended, in words.
func fate(j *model.Job) string {
	switch {
	case j.Failed > 0:
		return "failed"
	case j.Canceled > 0:
		return "been canceled"
	}
	return "completed"
}

// bindTo makes the dependencies of a new job, which the caller puts.
func bindTo(t *tx.Tx, job *model.Job, after []model.After) {
	for _, a := range after {
		on, _ := t.Jobs.Get(a.Job)
		d := model.Dependency{Key: model.DependencyKey{Job: job.ID, On: a.Job}, Kind: a.Kind, State: a.Kind.Judge(&on)}
		t.Dependencies.Put(d)
		if d.State == model.DependencyWaits {
			job.Waits++
		}
	}
}

// Settle moves jobs on that wait for jobs which have ended.
func Settle(t *tx.Tx, b *command.Settle) command.Result {
	var n uint64
	for _, id := range b.Jobs {
		if settleJob(t, id) {
			n++
		}
	}
	return command.Result{Number: n}
}

// settleJob judges what a job waits for, and reports whether that had any effect.
func settleJob(t *tx.Tx, id model.JobID) bool {
	job, _ := t.Jobs.Get(id)
	var met, never []string
	for _, d := range tx.DependenciesOf(t, id) {
		on, _ := t.Jobs.Get(d.Key.On)
		if d.State != model.DependencyWaits || on.EndIndex == 0 {
			continue
		}
		d.State = d.Kind.Judge(&on)
		t.Dependencies.Put(d)
		job.Waits--
		what := "job " + on.ID.String() + " has " + fate(&on)
		if d.State == model.DependencyMet {
			met = append(met, what)
		} else {
			never = append(never, what+", not "+d.Kind.Wish())
		}
	}
	if len(met)+len(never) == 0 {
		return false
	}
	t.Jobs.Put(job)
	switch {
	case len(never) > 0:
		endQueued(t, id, model.TaskCanceled, model.Event{
			What: model.EventCanceled, Reason: model.ReasonDependency, Detail: model.Clip(strings.Join(never, "; ")),
		})
	case job.Waits == 0:
		tell(t, id, model.Event{What: model.EventMet, Detail: model.Clip(strings.Join(met, "; "))})
	}
	return true
}

// endQueued ends the waiting tasks of a job.
func endQueued(t *tx.Tx, id model.JobID, as model.TaskState, e model.Event) {
	tasks, _ := targets(t, choice{id, model.AllTasks, ""})
	for _, task := range tasks {
		if task.State == model.TaskQueued {
			task.Reason = e.Reason
			placement.EndTask(t, task, as, e)
		}
	}
}

// tell adds a line to the timeline of a job's first task that has not ended.
func tell(t *tx.Tx, id model.JobID, e model.Event) {
	tasks, _ := targets(t, choice{id, model.AllTasks, ""})
	if len(tasks) > 0 {
		tx.Event(t, &tasks[0], e)
		t.Tasks.Put(tasks[0])
	}
}

// DropDependencies removes what a job waits for.
func DropDependencies(t *tx.Tx, b *command.DropDependencies) command.Result {
	job, found := t.Jobs.Get(b.Job)
	switch {
	case !found:
		return tx.Refuse(model.CodeNotFound, "there is no job %s", b.Job)
	case job.Open == 0:
		return tx.Refuse(model.CodeTerminal, "job %s has ended", b.Job)
	case job.Waits == 0:
		return tx.Refuse(model.CodeConflict, "job %s waits for no other job", b.Job)
	}
	placement.Unbind(t, &job)
	t.Jobs.Put(job)
	tell(t, b.Job, model.Event{What: model.EventUnbound, Detail: b.Note})
	return command.Result{Job: b.Job}
}

// Overdue ends jobs whose deadline has passed.
func Overdue(t *tx.Tx, b *command.Overdue) command.Result {
	var n uint64
	for _, id := range b.Jobs {
		job, _ := t.Jobs.Get(id)
		if job.Spec.Deadline == 0 || job.Spec.Deadline > t.Clock || job.Open == 0 {
			continue
		}
		n++
		const note = "the deadline has come"
		tasks, _ := targets(t, choice{id, model.AllTasks, ""})
		for _, task := range tasks {
			if task.State.Live() {
				placement.Stop(t, task.Newest(), model.ReasonDeadline, note)
			}
		}
		endQueued(t, id, model.TaskFailed, model.Event{What: model.EventFailed, Reason: model.ReasonDeadline, Detail: note})
	}
	return command.Result{Number: n}
}
