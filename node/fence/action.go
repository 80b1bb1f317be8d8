package fence

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// Do is a kind of action.
type Do uint8

// The kinds of action, in the order of a plan: ends come before starts.
const (
	// DoKill ends all processes of a rank at once.
	DoKill Do = 1 + iota
	// DoStop begins to stop a running rank for Action.Reason: signal, grace, kill.
	DoStop
	// DoRefuse ensures that a rank never starts here, and reports never_started. The agent makes the rank's
	// folder if there is none, ends a supervisor that waits in the folder, and leaves a tombstone in the
	// place of the latch that a start would create. If the latch is there already, the rank did start: the
	// refusal has no effect, and the rank counts as running.
	DoRefuse
	// DoReport reports the end of a rank again: the set was read before the state contained the end. See
	// [Local.Progress].
	DoReport
	// DoClean verifies that Action.Slot is clean, with no process and no memory in use, and reports that.
	DoClean
	// DoAdopt records that a folder of an earlier incarnation is desired under that of the set, which becomes
	// its Local.Incarnation.
	DoAdopt
	// DoRun lets a prepared rank start its processes: its gang is ready.
	DoRun
	// DoStart prepares a rank and starts its processes, without waiting for other ranks.
	DoStart
	// DoPrepare prepares a rank up to its report that the rank is ready.
	DoPrepare
)

// Begins reports whether the action may be done only while [MayStart] holds. Until then the action is left
// out; a later plan contains it again.
func (d Do) Begins() bool { return d >= DoRun }

// String returns the action's name.
func (d Do) String() string {
	names := [...]string{"none", "kill", "stop", "refuse", "report", "clean", "adopt", "run", "start", "prepare"}
	if int(d) < len(names) {
		return names[d]
	}
	return "unknown"
}

// Action is one step from the actual to the desired state of a node.
type Action struct {
	Do          Do
	Rank        model.RankKey
	Incarnation model.Incarnation  // of the rank's folder, see Local; zero for DoClean
	Reason      model.Reason       // of DoStop
	Slot        model.SlotKey      // of DoClean
	Allocation  model.AllocationID // of DoClean, in place of Rank
}

// Cleaned returns the report that follows a DoClean.
func (a Action) Cleaned() model.Cleaned {
	return model.Cleaned{Slot: a.Slot, Rank: a.Rank, Allocation: a.Allocation}
}

func (a Action) compare(b Action) int {
	return cmp.Or(
		cmp.Compare(a.Do, b.Do), a.Rank.Compare(b.Rank), slices.Compare(a.Incarnation[:], b.Incarnation[:]),
		cmp.Compare(a.Reason, b.Reason), a.Slot.Compare(b.Slot), a.Allocation.Compare(b.Allocation),
	)
}

// Local is a rank's folder on a node. Incarnation and Rank together name it.
type Local struct {
	Rank        model.RankKey
	Incarnation model.Incarnation // that it was last desired under
	Placed      uint64            // log index of its placement
	Stop        model.Reason      // of the stop that is under way; none: not being stopped
	Exit        model.Exit        // with phase exited

	// Phase is taken while a living process prepares the rank, ready when its supervisor waits for the order
	// to run, running when its processes may have started, exited when its end is on disk, and never when the
	// rank has a tombstone. Any other phase, such as assigned, is a start that broke off: the folder is
	// there, without an end and without a living supervisor.
	Phase model.RankPhase
}

// Progress returns the report of the rank's phase; the caller adds the addresses of a rank that is ready.
func (l Local) Progress() model.Progress {
	p := model.Progress{Rank: l.Rank, Phase: l.Phase}
	if l.Phase == model.RankExited {
		p.Exit = l.Exit
	}
	return p
}

func (l Local) compare(o Local) int {
	return cmp.Or(l.Rank.Compare(o.Rank), slices.Compare(l.Incarnation[:], o.Incarnation[:]))
}

// ended reports whether the rank has ended for good or will never run.
func (l Local) ended() bool { return l.Phase == model.RankExited || l.Phase == model.RankNever }

// end returns the action that ends the rank from outside.
func (l Local) end() Action {
	do := DoRefuse
	if l.Phase == model.RankRunning {
		do = DoKill
	}
	return Action{Do: do, Rank: l.Rank, Incarnation: l.Incarnation}
}
