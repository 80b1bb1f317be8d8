package jobs

import (
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
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

// maxTwins bounds the jobs whose tasks wait for those of one job: the end of a task lets one of each start.
const maxTwins = 64

// mayAwait reports whether a new job can wait for these: they were submitted before it, and have not ended in
// a way that lets it wait for ever.
func mayAwait(t *tx.Tx, after []dependency.After) command.Result {
	alternatives, lost := 0, 0
	for _, a := range after {
		on, found := t.Jobs.Get(a.Job)
		switch {
		case a.Job >= t.Settings.NextJob:
			return tx.Refuse(model.CodeInvalid, "there is no job %s yet: a job can wait only for those that were submitted before it", a.Job)
		case !found:
			return tx.Refuse(model.CodeInvalid, "there is no job %s any more: what ended long ago is forgotten", a.Job)
		case a.Kind == dependency.AfterCorr && len(tx.AwaitedFor(t, a.Job, a.Kind)) >= maxTwins:
			return tx.Refuse(model.CodeLimit, "%d jobs wait for tasks of job %s, more are not possible: use afterok, or submit later", maxTwins, a.Job)
		}
		if a.Any {
			alternatives++
		}
		switch {
		case !vain(a.Kind, &on):
		case a.Any:
			lost++
		default:
			return tx.Refuse(model.CodeInvalid, "job %s has %s: after %s of it the new job would never start", a.Job, fate(&on), a.Kind)
		}
	}
	if alternatives > 0 && lost == alternatives {
		return tx.Refuse(model.CodeInvalid, "the jobs of which one is to end as asked have all ended otherwise: the new job would never start")
	}
	return tx.OK()
}

// vain reports whether no task can start any more after a kind of a job.
func vain(kind dependency.Kind, on *model.Job) bool {
	return kind.Judge(on) == dependency.Never && (kind != dependency.AfterCorr || on.Failed+on.Canceled == on.Tasks)
}

// fate returns how a job has ended, in words, or that it has begun.
func fate(j *model.Job) string {
	switch {
	case j.EndIndex == 0:
		return "begun"
	case j.Failed > 0:
		return "failed"
	case j.Canceled > 0:
		return "been canceled"
	}
	return "completed"
}

// bindTo makes the dependencies of a new job, which the caller puts. What is decided already counts at once, apart from
// that which each task decides: the leader has that settled.
func bindTo(t *tx.Tx, job *model.Job, after []dependency.After) {
	each, held := false, false
	for _, a := range after {
		each = each || a.Any && a.Kind == dependency.AfterCorr
	}
	var rows []dependency.Row
	for _, a := range after {
		on, _ := t.Jobs.Get(a.Job)
		d := dependency.Row{
			Key: dependency.Key{Job: job.ID, On: a.Job, Kind: a.Kind}, State: dependency.Waits, Any: a.Any, Delay: a.Delay,
			Each: a.Kind == dependency.AfterCorr || a.Any && each,
		}
		if !d.Each {
			d = judged(t, d, &on)
		}
		held = held || d.Any && d.State == dependency.Met
		rows = append(rows, d)
	}
	for _, d := range rows {
		if held && d.Any && d.State == dependency.Waits {
			d.State = dependency.Dropped
		}
		t.Dependencies.Put(d)
		if d.State == dependency.Waits {
			count(job, &d, 1)
		}
	}
}

// count changes the counts of what a job waits for by a dependency.
func count(job *model.Job, d *dependency.Row, by uint32) {
	job.Waits += by
	if d.Each {
		job.Each += by
	}
}

// judged returns a dependency that waits as it is now.
func judged(t *tx.Tx, d dependency.Row, on *model.Job) dependency.Row {
	if d.Due == 0 {
		d.State = d.Key.Kind.Judge(on)
		if d.State != dependency.Met || d.Delay == 0 {
			return d
		}
		d.State, d.Due = dependency.Waits, max(begun(t, on.ID), 1).Add(d.Delay)
	}
	if d.Due <= t.Clock {
		d.State = dependency.Met
	}
	return d
}

// begun returns when the last task of a job has begun, or ended without.
func begun(t *tx.Tx, id model.JobID) (at model.Time) {
	for k, task := range t.Tasks.Now().From(model.TaskKey{Job: id}) {
		if k.Job != id {
			break
		}
		if task.Started > 0 {
			at = max(at, task.Started)
		} else {
			at = max(at, task.Ended)
		}
	}
	return at
}

// Settle moves jobs on that wait for jobs which have ended or begun.
func Settle(t *tx.Tx, b *command.Settle) command.Result {
	var n uint64
	for _, id := range b.Jobs {
		if settleJob(t, id) {
			n++
		}
	}
	return command.Result{Number: n}
}

// settlement is what has become of a job's dependencies.
type settlement struct {
	job        model.Job
	rows       []dependency.Row
	blocked    bool     // the job waited as a whole
	each       bool     // a dependency that each task decides has changed
	met, never []string // in words
}

// settleJob judges what a job waits for, and reports whether that had any effect.
func settleJob(t *tx.Tx, id model.JobID) bool {
	s := settlement{rows: tx.DependenciesOf(t, id)}
	s.job, _ = t.Jobs.Get(id)
	s.blocked = s.job.Blocked()
	changed := false
	for i := range s.rows {
		d := &s.rows[i]
		if d.State != dependency.Waits {
			continue
		}
		on, _ := t.Jobs.Get(d.Key.On)
		if next := judged(t, *d, &on); next != *d {
			changed, *d = true, next
			t.Dependencies.Put(next)
			s.note(d, &on)
		}
	}
	if !changed {
		return false
	}
	doomed := s.doomed(t)
	t.Jobs.Put(s.job)
	why := model.Event{What: model.EventCanceled, Reason: model.ReasonDependency, Detail: model.Clip(strings.Join(s.never, "; "))}
	met := model.Event{What: model.EventMet, Detail: model.Clip(strings.Join(s.met, "; "))}
	switch {
	case doomed:
		endQueued(t, id, model.TaskCanceled, why)
	case s.each:
		s.eachTask(t, met, why)
	}
	if !doomed && s.blocked && !s.job.Blocked() {
		placement.Unblocked(t, id)
		tell(t, id, met)
	}
	return true
}

// note counts a dependency that may have been decided.
func (s *settlement) note(d *dependency.Row, on *model.Job) {
	if d.State == dependency.Waits {
		return
	}
	count(&s.job, d, ^uint32(0)) // wrap-around subtracts
	s.each = s.each || d.Each
	what := "job " + d.Key.On.String() + " has " + fate(on)
	switch {
	case d.State == dependency.Never:
		s.never = append(s.never, what+", not "+d.Key.Kind.Wish())
	case d.Due > 0:
		s.met = append(s.met, "job "+d.Key.On.String()+" has begun, and "+d.Delay.String()+" have passed")
	default:
		s.met = append(s.met, what)
	}
}

// doomed reports whether the job can never start as a whole. It drops the dependencies of which one is enough once one is met.
func (s *settlement) doomed(t *tx.Tx) (doomed bool) {
	size, lost, held, each := 0, 0, false, false
	for i := range s.rows {
		d := &s.rows[i]
		never := d.State == dependency.Never
		if !d.Any {
			doomed = doomed || never && !d.Each
			continue
		}
		size++
		if never {
			lost++
		}
		held, each = held || d.State == dependency.Met, each || d.Each
	}
	for i := range s.rows {
		if d := &s.rows[i]; held && d.Any && d.State == dependency.Waits {
			d.State = dependency.Dropped
			t.Dependencies.Put(*d)
			count(&s.job, d, ^uint32(0))
		}
	}
	return doomed || size > 0 && lost == size && !each
}

// eachTask lets the tasks start for which the dependencies are met now, and cancels those for which they never will be.
func (s *settlement) eachTask(t *tx.Tx, met, why model.Event) {
	for _, task := range placement.WaitingTasks(t, s.job.ID) {
		switch ok, never := placement.Decide(t, &s.job, s.rows, task.Key.Task); {
		case ok:
			task.Waits, task.Since = false, max(task.Since, t.Clock)
			tx.Event(t, &task, met)
			t.Tasks.Put(task)
		case never:
			task.Reason = why.Reason
			placement.EndTask(t, task, model.TaskCanceled, why)
		}
	}
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
