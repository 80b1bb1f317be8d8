package check

import (
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// moveJobs: one leaves when it has ended and is in the archive, and new ones take the next numbers without a
// gap.
func moveJobs(m *mover) {
	from, to := m.was.Settings(), m.s.Settings()
	tasks, jobs := uint64(0), model.JobID(0)
	for id, d := range table.Diffs(m.was.Jobs, m.s.Jobs) {
		a, b := d.Before, d.After
		if !d.Was && id < from.NextJob {
			m.hold(m.adoptedTask(id), NothingLost, "job %s is new under an old number", id)
			tasks += uint64(b.Tasks)
		}
		if !d.Was {
			continue
		}
		if !d.Is {
			m.hold(a.Open == 0 && a.EndIndex <= to.ArchivedTo, NothingLost, "job %s is gone, with %d open tasks, ended at %d, archived to %d",
				id, a.Open, a.EndIndex, to.ArchivedTo)
			continue
		}
		if b.Open == 0 && a.Purged == 0 && b.Purged > 0 { // the texts are removed, and all else stays; the move may have ended the job, too
			a.Script, a.Env, a.Stdin, a.SubmitEnv, a.Purged = model.Hash{}, model.Hash{}, model.Hash{}, model.Hash{}, b.Purged
		}
		m.hold(asSubmitted(a) == asSubmitted(b) && b.Spec.TimeLimit >= a.Spec.TimeLimit, NothingLost, "job %s is another: from %+v to %+v", id, a, b)
		m.hold(a.Open > 0 || a == b, OneAttempt, "job %s moves after its end: from %+v to %+v", id, a, b)
	}
	for id, b := range m.s.Jobs.From(from.NextJob) {
		tasks += uint64(b.Tasks)
		jobs++
		m.hold(b.Index == m.s.Index, NothingLost, "job %s is new, from entry %d", id, b.Index)
	}
	// A restore skips numbers, and an entry may hold several; an imported job keeps its own.
	gap := to.NextJob - from.NextJob - jobs
	restored := to.Incarnation != from.Incarnation || !m.one
	m.hold(gap == 0 || to.Import.Next > from.Import.Next || (restored && gap%state.JumpAfterRestore == 0), NothingLost, "%d jobs are new, the next goes from %s to %s",
		jobs, from.NextJob, to.NextJob)
	m.hold(to.Totals.Submitted == from.Totals.Submitted+tasks, TotalsAgree, "%d tasks are new, counted are %d", tasks,
		to.Totals.Submitted-from.Totals.Submitted)
}

// asSubmitted returns the parts of a job that never change.
func asSubmitted(j model.Job) model.Job {
	j.Spec.Class, j.Spec.Priority, j.Spec.TimeLimit = 0, 0, 0
	j.Place = model.Place{}
	j.Open, j.Live, j.Failed, j.Canceled, j.Ended, j.EndIndex, j.Waits, j.Each, j.Begun = 0, 0, 0, 0, 0, 0, 0, 0, 0
	return j
}

// moveRequests: an answer is repeated until its id is cut off.
func moveRequests(m *mover) {
	moveRequestUse(m)
	cut := m.s.Settings().RequestsFrom
	for k, d := range table.Diffs(m.was.Requests, m.s.Requests) {
		a, b := d.Before, d.After
		switch {
		case d.Was && d.Is:
			m.hold(a == b || a.Born < cut || wasRemoved(m, k.Actor), NothingLost, "request %v was answered %+v, then %+v", k, a, b)
		case d.Was:
			use, _ := m.s.RequestUse.Get(model.ActorName(k.Actor))
			m.hold(a.Born < cut || k.Drawn > 0 && k.Drawn < use.From || wasRemoved(m, k.Actor), NothingLost, "request %v is forgotten before its time", k)
		case command.Kind(b.Kind) == command.KindSubmit:
			j, found := m.s.Jobs.Get(b.Job)
			m.hold(found && j.Index == m.s.Index && b.Index == m.s.Index, NothingLost,
				"request %v was answered with job %s of entry %d", k, b.Job, j.Index)
		}
	}
}

// wasRemoved reports whether an actor is a user that the move may have removed: the user is gone or was created
// by the move, and of the actor's ids only those of the move are left.
func wasRemoved(m *mover, actor string) bool {
	name, human := strings.CutPrefix(actor, "user:")
	old, _ := m.was.Users.Get(model.UserName(name))
	user, found := m.s.Users.Get(model.UserName(name))
	if !human || found && user.Made == old.Made && user.Made != m.s.Settings().Clock {
		return false
	}
	for k, r := range m.s.Requests.From(model.RequestKey{Actor: actor}) {
		if k.Actor != actor {
			break
		}
		if r.Index != m.s.Index {
			return false
		}
	}
	return true
}

// moveRequestUse: the end of an actor's forgotten ids never goes back.
func moveRequestUse(m *mover) {
	cut := m.s.Settings().RequestsFrom
	for name, d := range table.Diffs(m.was.RequestUse, m.s.RequestUse) {
		m.hold(d.After.From >= d.Before.From || !d.Is && d.Before.From <= cut, OnlyForward, "the request ids of %s are forgotten up to %d, then up to %d",
			name, d.Before.From, d.After.From)
	}
}

// moveLimits: where more is used than is allowed, no command has added to it.
func moveLimits(m *mover) {
	for scope := range m.s.Limits.All() {
		moveLimit(m, scope)
	}
	for scope := range m.s.Usage.All() {
		if !m.s.Limits.Has(scope) { // a user may have the default
			moveLimit(m, scope)
		}
	}
}

func moveLimit(m *mover, scope model.ScopeKey) {
	was, had := state.LimitOf(m.was, scope)
	limit, has := state.LimitOf(m.s, scope)
	if had && has {
		limit.GPUs, limit.Live = loosest(limit.GPUs, was.GPUs), loosest(limit.Live, was.Live)
		limit.CPUs = loosest(limit.CPUs, was.CPUs)
		limit.Queued, limit.GPUsPerJob = loosest(limit.Queued, was.Queued), loosest(limit.GPUsPerJob, was.GPUsPerJob)
		moveWithin(m, &limit)
	}
}

func loosest(a, b int64) int64 {
	if a == model.Unlimited || b == model.Unlimited {
		return model.Unlimited
	}
	return max(a, b)
}

func moveWithin(m *mover, l *model.Limit) {
	a, _ := m.was.Usage.Get(l.Scope)
	b, _ := m.s.Usage.Get(l.Scope)
	m.hold(!state.Exceeds(l.GPUs, b.GPUs, 0) || b.GPUs <= a.GPUs, WithinLimits, "%s may use %d GPUs and goes from %d to %d", l.Scope, l.GPUs,
		a.GPUs, b.GPUs)
	m.hold(!state.Exceeds(l.Live, b.Live, 0) || b.Live <= a.Live, WithinLimits, "%s may have %d live tasks and goes from %d to %d", l.Scope,
		l.Live, a.Live, b.Live)
	m.hold(!state.Exceeds(l.CPUs, b.CPUs, 0) || b.CPUs <= a.CPUs, WithinLimits, "%s may hold %d cores without GPUs and goes from %d to %d",
		l.Scope, l.CPUs, a.CPUs, b.CPUs)
	for k, n := range m.s.Attempts.All() {
		if j, _ := m.s.Jobs.Get(k.Job); !m.was.Attempts.Has(k) && concerns(&j.Spec, l.Scope) {
			m.hold(!state.Exceeds(l.GPUsPerJob, n.GPUs, 0), WithinLimits, "%s may use %d GPUs for a job, attempt %s has %d", l.Scope,
				l.GPUsPerJob, k, n.GPUs)
		}
	}
	if m.s.Settings().Import.Next > m.was.Settings().Import.Next {
		return // an import contains jobs that were admitted once
	}
	for id, j := range m.s.Jobs.From(m.was.Settings().NextJob) {
		if concerns(&j.Spec, l.Scope) {
			m.hold(!state.Exceeds(l.GPUsPerJob, j.Spec.Least(), 0), WithinLimits, "%s may use %d GPUs for a job, job %s asks for %d", l.Scope,
				l.GPUsPerJob, id, j.Spec.Least())
			moveQueued(m, l, id)
		}
	}
}

// moveQueued: when a job came, it fitted into the queue with those tasks that have waited ever since.
// Requeued tasks do not count: a limit of the queue is for submissions.
func moveQueued(m *mover, l *model.Limit, newest model.JobID) {
	var waiting uint32
	for k, b := range m.s.Tasks.All() {
		a, old := m.was.Tasks.Get(k)
		j, _ := m.s.Jobs.Get(k.Job)
		stayed := b.State == model.TaskQueued && b.Attempts == a.Attempts && (!old || a.State == model.TaskQueued)
		if stayed && concerns(&j.Spec, l.Scope) {
			waiting++
		}
	}
	m.hold(!state.Exceeds(l.Queued, waiting, 0), WithinLimits, "%s may have %d tasks waiting and has %d with job %s", l.Scope, l.Queued,
		waiting, newest)
}

func concerns(spec *model.Spec, scope model.ScopeKey) bool {
	switch scope.Kind {
	case model.ScopeCluster:
		return true
	case model.ScopeProject:
		return spec.Project == scope.Name
	case model.ScopeUser:
		return spec.User == scope.Name
	}
	return false
}
