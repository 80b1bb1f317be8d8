package state

import (
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// beginSlack is how long ago a begin may lie: it was in the present when it was requested.
const beginSlack = time.Minute

// inTime checks a job's begin and deadline against the clock.
func inTime(t *tx, spec *model.Spec) command.Result {
	latest := t.clock.Add(model.MaxDuration)
	switch {
	case spec.Begin > latest:
		return refuse(model.CodeInvalid, "begin lies more than 366 days ahead")
	case spec.Begin > 0 && spec.Begin < t.clock.Add(-beginSlack):
		return refuse(model.CodeInvalid, "begin has passed already: leave it out to start at once")
	case spec.Deadline > latest:
		return refuse(model.CodeInvalid, "deadline lies more than 366 days ahead")
	case spec.Deadline > 0 && spec.Deadline <= t.clock:
		return refuse(model.CodeInvalid, "deadline has passed already")
	}
	return ok()
}

// mayAwait reports whether a new job can wait for these: they were submitted before it, and none has ended in
// a way that lets it wait for ever.
func mayAwait(t *tx, after []model.After) command.Result {
	for _, a := range after {
		on, found := t.jobs.get(a.Job)
		switch {
		case a.Job >= t.settings.NextJob:
			return refuse(model.CodeInvalid, "there is no job %s yet: a job can wait only for those that were submitted before it", a.Job)
		case !found:
			return refuse(model.CodeInvalid, "there is no job %s any more: what ended long ago is forgotten", a.Job)
		case a.Kind.Judge(&on) == model.DependencyNever:
			return refuse(model.CodeInvalid, "job %s has %s: after %s of it the new job would never start", a.Job, fate(&on), a.Kind)
		}
	}
	return ok()
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
func bindTo(t *tx, job *model.Job, after []model.After) {
	for _, a := range after {
		on, _ := t.jobs.get(a.Job)
		d := model.Dependency{Key: model.DependencyKey{Job: job.ID, On: a.Job}, Kind: a.Kind, State: a.Kind.Judge(&on)}
		t.dependencies.put(d)
		if d.State == model.DependencyWaits {
			job.Waits++
		}
	}
}

// unbind drops a job's open dependencies; the caller puts the job.
func unbind(t *tx, job *model.Job) {
	if job.Waits == 0 {
		return
	}
	for _, d := range dependenciesOf(t, job.ID) {
		if d.State == model.DependencyWaits {
			d.State = model.DependencyDropped
			t.dependencies.put(d)
		}
	}
	job.Waits = 0
}

// dependenciesOf returns what a job waits or has waited for.
func dependenciesOf(t *tx, id model.JobID) (out []model.Dependency) {
	for k, d := range t.dependencies.now().From(model.DependencyKey{Job: id}) {
		if k.Job != id {
			break
		}
		out = append(out, d)
	}
	return out
}

func applySettle(t *tx, b *command.Settle) command.Result {
	var n uint64
	for _, id := range b.Jobs {
		if settleJob(t, id) {
			n++
		}
	}
	return command.Result{Number: n}
}

// settleJob judges what a job waits for, and reports whether that had any effect.
func settleJob(t *tx, id model.JobID) bool {
	job, _ := t.jobs.get(id)
	var met, never []string
	for _, d := range dependenciesOf(t, id) {
		on, _ := t.jobs.get(d.Key.On)
		if d.State != model.DependencyWaits || on.EndIndex == 0 {
			continue
		}
		d.State = d.Kind.Judge(&on)
		t.dependencies.put(d)
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
	t.jobs.put(job)
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
func endQueued(t *tx, id model.JobID, as model.TaskState, e model.Event) {
	tasks, _ := targets(t, choice{id, command.AllTasks, ""})
	for _, task := range tasks {
		if task.State == model.TaskQueued {
			task.Reason = e.Reason
			endTask(t, task, as, e)
		}
	}
}

// tell adds a line to the timeline of a job's first task that has not ended.
func tell(t *tx, id model.JobID, e model.Event) {
	tasks, _ := targets(t, choice{id, command.AllTasks, ""})
	if len(tasks) > 0 {
		event(t, &tasks[0], e)
		t.tasks.put(tasks[0])
	}
}

func applyDropDependencies(t *tx, b *command.DropDependencies) command.Result {
	job, found := t.jobs.get(b.Job)
	switch {
	case !found:
		return refuse(model.CodeNotFound, "there is no job %s", b.Job)
	case job.Open == 0:
		return refuse(model.CodeTerminal, "job %s has ended", b.Job)
	case job.Waits == 0:
		return refuse(model.CodeConflict, "job %s waits for no other job", b.Job)
	}
	unbind(t, &job)
	t.jobs.put(job)
	tell(t, b.Job, model.Event{What: model.EventUnbound, Detail: b.Note})
	return command.Result{Job: b.Job}
}

func applyOverdue(t *tx, b *command.Overdue) command.Result {
	var n uint64
	for _, id := range b.Jobs {
		job, _ := t.jobs.get(id)
		if job.Spec.Deadline == 0 || job.Spec.Deadline > t.clock || job.Open == 0 {
			continue
		}
		n++
		const note = "the deadline has come"
		tasks, _ := targets(t, choice{id, command.AllTasks, ""})
		for _, task := range tasks {
			if task.State.Live() {
				stop(t, task.Newest(), model.ReasonDeadline, note)
			}
		}
		endQueued(t, id, model.TaskFailed, model.Event{What: model.EventFailed, Reason: model.ReasonDeadline, Detail: note})
	}
	return command.Result{Number: n}
}
