package fence

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// Do is a kind of action.
type Do uint8

// The kinds of action, in the order of a plan: what ends comes before what
// begins.
const (
	// DoKill ends all processes of a rank at once.
	DoKill Do = 1 + iota
	// DoStop begins to stop a running rank for Action.Reason: signal, grace, kill.
	DoStop
	// DoRefuse makes sure that a rank never starts here, and reports
	// never_started. It makes the rank's folder if there is none, ends a
	// supervisor that waits in it, and leaves a tombstone in the place of the
	// latch that a start would create. If the latch is there already the rank
	// did start: the refusal comes to nothing, and the rank counts as running.
	DoRefuse
	// DoReport reports the end of a rank again: the set was read before the state
	// had it. See [Local.Progress].
	DoReport
	// DoClean shows that Action.Slot is clean: no process and no memory in use;
	// then it reports so.
	DoClean
	// DoAdopt records that a folder of an earlier incarnation is desired under
	// that of the set, which becomes its Local.Incarnation.
	DoAdopt
	// DoRun lets a prepared rank start its processes: its gang is ready.
	DoRun
	// DoStart prepares a rank and starts its processes, without waiting for others.
	DoStart
	// DoPrepare prepares a rank up to its report that it is ready.
	DoPrepare
)

// Begins says that the action may be done only while [MayStart] holds. Until
// then it is left out; a later plan has it again.
func (d Do) Begins() bool { return d >= DoRun }

// String is the action's name.
func (d Do) String() string {
	names := [...]string{"none", "kill", "stop", "refuse", "report", "clean", "adopt", "run", "start", "prepare"}
	if int(d) < len(names) {
		return names[d]
	}
	return "unknown"
}

// Action is one step from what is on a node towards what is desired.
type Action struct {
	Do          Do
	Rank        model.RankKey
	Incarnation model.Incarnation  // of the rank's folder, see Local; zero for DoClean
	Reason      model.Reason       // of DoStop
	Slot        model.SlotKey      // of DoClean
	Allocation  model.AllocationID // of DoClean, in place of Rank
}

// Cleaned is the report that follows a DoClean.
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

	// Phase is taken while the rank is being prepared by somebody who lives,
	// ready when its supervisor waits to be let run, running when its processes
	// may have started, exited when its end is on disk, and never once it has a
	// tombstone. Anything else, such as assigned, is a start that broke off: the
	// folder is there, and neither an end nor a living supervisor.
	Phase model.RankPhase
}

// Progress is the report of where the rank stands; the addresses of one that is
// ready are left to the caller.
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

// ended says that the rank runs no more and never will.
func (l Local) ended() bool { return l.Phase == model.RankExited || l.Phase == model.RankNever }

// end is the action that brings the rank to an end which is not its own.
func (l Local) end() Action {
	do := DoRefuse
	if l.Phase == model.RankRunning {
		do = DoKill
	}
	return Action{Do: do, Rank: l.Rank, Incarnation: l.Incarnation}
}
