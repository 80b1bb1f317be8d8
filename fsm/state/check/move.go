package check

import (
	"errors"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// Move returns the ways in which the move from one state to the next, by one log entry, breaks the
// invariants: nil, or a joined error of [Violation] values. Properties of each state by itself are for
// [State]. It reads the rows that were written on the way; equal rows need no check.
func Move(before, after *state.State) error { return violations(before, after, false) }

// Step is Move for an entry of one command, which allows stricter checks: several may take a slot
// through several owners at once.
func Step(before, after *state.State) error { return violations(before, after, true) }

// violations joins the violations of a move, by one command or more.
func violations(before, after *state.State, one bool) error {
	m := &mover{was: before, s: after, one: one}
	m.hold(after.Index > before.Index, OnlyForward, "index %d follows %d", after.Index, before.Index)
	if before.Settings().Incarnation.IsZero() {
		return errors.Join(m.found...)
	}
	moveSettings(m)
	moveTotals(m)
	moveTallies(m)
	moveNodes(m)
	moveTasks(m)
	moveAttempts(m)
	moveRanks(m)
	moveSlots(m)
	moveRooms(m)
	moveAllocations(m)
	moveJobs(m)
	moveDependencies(m)
	moveRequests(m)
	moveLimits(m)
	moveAccounts(m)
	moveBookings(m)
	moveImport(m)
	moveTrust(m)
	moveSessions(m)
	return errors.Join(m.found...)
}

// mover is a check of a move.
type mover struct {
	findings
	was, s *state.State
	one    bool // by one command
}

func moveSettings(m *mover) {
	a, b := m.was.Settings(), m.s.Settings()
	m.hold(b.Clock >= a.Clock, OnlyForward, "the clock goes from %d to %d", a.Clock, b.Clock)
	m.hold(b.Level >= a.Level, OnlyForward, "the feature level goes from %d to %d", a.Level, b.Level)
	m.hold(b.NextJob >= a.NextJob, NothingLost, "the next job goes from %s to %s", a.NextJob, b.NextJob)
	m.hold(b.RequestsFrom >= a.RequestsFrom, OnlyForward, "the cut-off of request ids goes from %d to %d", a.RequestsFrom, b.RequestsFrom)
	m.hold(b.Epochs >= a.Epochs, OnlyForward, "the epoch of retired nodes goes from %d to %d", a.Epochs, b.Epochs)
	m.hold(b.ArchivedTo >= a.ArchivedTo, OnlyForward, "the archive goes from %d to %d", a.ArchivedTo, b.ArchivedTo)
	m.hold(b.Audit.Seq > a.Audit.Seq && b.Audit.Index > a.Audit.Index || b.Audit == a.Audit, OnlyForward,
		"the audit trail goes from record %d to %d", a.Audit.Seq, b.Audit.Seq)
	m.hold(b.Audit.Index <= m.s.Index, OnlyForward, "the audit trail is at entry %d, ahead of the state", b.Audit.Index)
	m.hold(b.Incarnation == a.Incarnation || b.Standstill || !m.one, OnlyForward, "the incarnation changes without a standstill")
	m.hold(!b.Incarnation.IsZero(), OnlyForward, "the cluster has no incarnation any more")
	for topic := range a.Topics {
		m.hold(b.Topics[topic] >= a.Topics[topic] && b.Topics[topic] <= m.s.Index, OnlyForward, "topic %s goes from %d to %d",
			model.Topic(topic), a.Topics[topic], b.Topics[topic])
	}
}

// moveTotals: they never fall, except for the lost attempts that have reported their end after all.
func moveTotals(m *mover) {
	a, b := m.was.Settings().Totals, m.s.Settings().Totals
	told := uint64(0)
	for _, d := range table.Diffs(m.was.Attempts, m.s.Attempts) {
		if d.Was && d.Is && d.Before.End.Gone() && d.After.End == model.ReasonExit {
			told++
		}
	}
	m.hold(b.Submitted >= a.Submitted && b.Completed >= a.Completed && b.Failed >= a.Failed && b.Canceled >= a.Canceled &&
		b.Attempts >= a.Attempts && b.Lost+told >= a.Lost && b.Preempted >= a.Preempted && b.GPUSeconds >= a.GPUSeconds &&
		b.Waited >= a.Waited && b.Started >= a.Started && b.Estimates >= a.Estimates && b.EstimatesNear >= a.EstimatesNear &&
		b.EstimatesOff >= a.EstimatesOff && b.Histories >= a.Histories && b.HistoriesNear >= a.HistoriesNear &&
		b.HistoriesOff >= a.HistoriesOff, TotalsAgree, "the totals fall from %+v to %+v", a, b)
}

// moveNodes: an epoch is the life of one agent of one boot on one machine, and its
// renewals only grow.
func moveNodes(m *mover) {
	seen := map[model.NodeID]bool{}
	for id := range table.Diffs(m.was.Nodes, m.s.Nodes) {
		seen[id] = true
		moveNode(m, id)
	}
	for id := range table.Diffs(m.was.Leases, m.s.Leases) {
		if !seen[id] {
			moveNode(m, id)
		}
	}
}

func moveNode(m *mover, id model.NodeID) {
	a, had := m.was.Nodes.Get(id)
	b, found := m.s.Nodes.Get(id)
	if !had || !found {
		return
	}
	was, _ := m.was.Leases.Get(id)
	is, _ := m.s.Leases.Get(id)
	m.hold(b.Epoch >= a.Epoch, OnlyForward, "the epoch of node %s goes from %d to %d", id, a.Epoch, b.Epoch)
	m.hold(b.Epoch > a.Epoch || (b.RegIndex == a.RegIndex && b.Boot == a.Boot && b.Machine == a.Machine &&
		b.Lineage == a.Lineage && b.Session == a.Session), OnlyForward, "node %s is another in the same epoch %d", id, a.Epoch)
	m.hold(b.Epoch > a.Epoch || is.Seq > was.Seq || is == was,
		OnlyForward, "the lease of node %s goes from %+v to %+v", id, was, is)
}

func moveTasks(m *mover) {
	for k, d := range table.Diffs(m.was.Tasks, m.s.Tasks) {
		if !d.Was {
			continue
		}
		a, b, found := d.Before, d.After, d.Is
		if !found {
			m.hold(!m.s.Jobs.Has(k.Job), NothingLost, "task %s is gone, its job is not", k)
			continue
		}
		m.hold(b.Attempts >= a.Attempts, OneAttempt, "task %s goes from attempt %d to %d", k, a.Attempts, b.Attempts)
		m.hold(b.Events >= a.Events && b.Folded >= a.Folded && b.Retries >= a.Retries && b.Preempted >= a.Preempted &&
			b.Executed >= a.Executed, TotalsAgree, "the counts of task %s fall from %+v to %+v", k, a, b)
		if a.State.Terminal() {
			m.hold(b.State == a.State && b.Ended == a.Ended && b.Attempts == a.Attempts && b.Reason == a.Reason &&
				b.ExitCode == a.ExitCode && b.Signal == a.Signal, OneAttempt, "task %s moves after its end: from %+v to %+v", k, a, b)
		}
	}
}

func moveAttempts(m *mover) {
	for k, d := range table.Diffs(m.was.Attempts, m.s.Attempts) {
		a, b := d.Before, d.After
		if !d.Was {
			task, _ := m.was.Tasks.Get(k.TaskKey())
			m.hold(k.N > task.Attempts && (b.PlacedIndex == m.s.Index || m.adopted(k)), OneAttempt, "attempt %s is new, the task had %d", k, task.Attempts)
			continue
		}
		if !d.Is {
			task, _ := m.s.Tasks.Get(k.TaskKey())
			folded := k.N+state.KeepAttempts <= task.Attempts && !a.Live()
			m.hold(folded || !m.s.Jobs.Has(k.Job), OneAttempt, "attempt %s is gone", k)
			continue
		}
		extended := b.Frozen
		extended.TimeLimit = a.Frozen.TimeLimit // it may be raised while the attempt lives
		m.hold(b.PlacedIndex == a.PlacedIndex && extended == a.Frozen && b.Frozen.TimeLimit >= a.Frozen.TimeLimit &&
			b.Incarnation == a.Incarnation && b.Ranks == a.Ranks &&
			b.GPUs == a.GPUs, OneAttempt, "attempt %s is another: from %+v to %+v", k, a, b)
		if a.Live() {
			m.hold(b.State >= a.State && b.Ready >= a.Ready && b.Begun >= a.Begun && b.Gone >= a.Gone && !a.Stop.Outranks(b.Stop) &&
				(b.Run || !a.Run), OneAttempt, "attempt %s goes back from %+v to %+v", k, a, b)
		} else {
			m.hold(a == b || toldLate(m, &a, &b), OneAttempt, "attempt %s moves after its end: from %+v to %+v", k, a, b)
		}
	}
}

// toldLate: a lost attempt's true end counts as long as its task waits for a successor.
func toldLate(m *mover, a, b *model.Attempt) bool {
	task, _ := m.was.Tasks.Get(a.Key.TaskKey())
	return a.End.Gone() && b.End == model.ReasonExit && task.State == model.TaskQueued && task.Newest() == a.Key
}

func moveRanks(m *mover) {
	for k, d := range table.Diffs(m.was.Ranks, m.s.Ranks) {
		if !d.Was {
			continue
		}
		a, b, found := d.Before, d.After, d.Is
		if !found {
			m.hold(!m.s.Attempts.Has(k.Attempt()), WholeGang, "rank %s is gone, its attempt is not", k)
			continue
		}
		m.hold(b.Node == a.Node && b.Epoch == a.Epoch && b.GPUs == a.GPUs && (a.Orphan == 0 || a.Orphan == b.Orphan), WholeGang,
			"rank %s is another: from %+v to %+v", k, a, b)
		late := a
		late.Exit, late.Late = b.Exit, true
		m.hold(b.Phase >= a.Phase && b.Saved >= a.Saved && (!a.Phase.Ended() || a == b || (a.Phase == model.RankLost && !a.Late && b == late)),
			OneAttempt,
			"rank %s goes back from %+v to %+v", k, a, b)
	}
}
