package explain

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
)

// UnblockKind names a kind of change. Kinds are part of the API: they do not change.
type UnblockKind string

// What can let a task start.
const (
	UnblockStart   UnblockKind = "start"   // an operator starts the orchestrator
	UnblockResume  UnblockKind = "resume"  // an operator ends the standstill
	UnblockRelease UnblockKind = "release" // a user releases the task
	UnblockTurn    UnblockKind = "turn"    // Jobs end as the task requires, or its user drops these dependencies
	UnblockDrop    UnblockKind = "drop"    // its user drops its dependencies, some of which cannot be met any more
	UnblockBegin   UnblockKind = "begin"   // time passes until At, the earliest begin that it asked for
	UnblockWait    UnblockKind = "wait"    // time passes until At
	UnblockLimit   UnblockKind = "limit"   // an operator sets Limit, which is higher in what Of names
	UnblockEnd     UnblockKind = "end"     // all of Ends end, and their GPUs are clean
	UnblockNode    UnblockKind = "node"    // Nodes more nodes register, each with GPUs free GPUs
	UnblockPeriod  UnblockKind = "period"  // the next period of a quota begins at At
	UnblockPool    UnblockKind = "pool"    // an operator lets all users use every GPU
	UnblockTime    UnblockKind = "time"    // its user cancels it and submits it again with TimeLimit
	UnblockYield   UnblockKind = "yield"   // its user cancels it and submits it again as preemptible
	UnblockOver    UnblockKind = "over"    // time passes until At, when Booking is over
	UnblockCancel  UnblockKind = "cancel"  // Booking is canceled
	UnblockFewer   UnblockKind = "fewer"   // its user cancels it and submits it again with MinGPUs
	UnblockPreempt UnblockKind = "preempt" // time passes until At, when Ends may be stopped for it; At 0: the next plan does that
)

// Unblock is a change after which the next plan would place a task: it was tried
// on a copy of the state.
type Unblock struct {
	Kind  UnblockKind
	At    model.Time
	Limit model.Limit
	Of    string // LimitGPUs, LimitLive and the like
	Ends  []blocker.Holder
	Jobs  []dependency.After
	Come

	TimeLimit time.Duration
	MinGPUs   uint32
	Booking   model.Booking
}

// Come is the nodes that would have to be added.
type Come struct {
	Nodes    uint32
	GPUs     uint32 // on each
	Model    string // of those GPUs; empty: any
	MemoryMB uint32 // of each of them, at least
	Labels   string // of those nodes, as [model.Labels] writes them
}

// Bounds of the search for changes.
const (
	maxTrials = 24 // changes tried
	maxEnds   = 5  // sets of holders named
	maxRaises = 8  // of one limit
)

// trial tries changes on the state of a question.
type trial struct {
	question

	now   model.Time
	left  int // how many changes may still be tried
	found []Unblock
}

// unblock finds changes each of which would let a task start.
func unblock(s *state.State, e *Explanation) []Unblock {
	if len(e.Blockers) == 0 {
		return nil
	}
	t := &trial{question: question{state: s, task: e.Task, why: e.Blockers}, now: e.At, left: maxTrials}
	for _, b := range t.why {
		t.lift(&b)
	}
	if t.withoutGPUs() {
		if t.blockedBy(blocker.CodeCores, blocker.CodeAhead, blocker.CodeLimit, blocker.CodeThrottle) {
			t.endHolders()
		}
		return t.found
	}
	if t.blockedBy(blocker.CodeGPUs, blocker.CodeAhead, blocker.CodeReserved, blocker.CodeBarred, blocker.CodePool, blocker.CodeBooked,
		blocker.CodeClosed) {
		t.addNodes()
	}
	if t.blockedBy(blocker.CodeGPUs, blocker.CodeAhead, blocker.CodeBarred, blocker.CodeLimit, blocker.CodeThrottle, blocker.CodePool,
		blocker.CodeBooked, blocker.CodeClosed) {
		t.endHolders()
	}
	if t.blockedBy(blocker.CodeGPUs, blocker.CodeAhead, blocker.CodeBarred, blocker.CodeReserved) && t.reasons() == 1 {
		t.mayTake()
	}
	return t.found
}

// reasons counts what keeps the task from starting, except maintenances that have begun: the victims of the task
// are on other nodes.
func (q *question) reasons() (n int) {
	for _, b := range q.why {
		if b.Shut == "" {
			n++
		}
	}
	return n
}

// lift tries the changes that remove a blocker without adding or freeing GPUs.
func (t *trial) lift(b *blocker.Blocker) {
	task := int64(t.task.Task)
	switch b.Code {
	case blocker.CodeStopped:
		t.offer(Unblock{Kind: UnblockStart}, &command.SetRunning{Running: true})
	case blocker.CodeStandstill:
		t.offer(Unblock{Kind: UnblockResume}, &command.Resume{})
	case blocker.CodeHeld:
		t.offer(Unblock{Kind: UnblockRelease}, &command.Release{Job: t.task.Job, Task: task})
	case blocker.CodeDependency:
		t.turn(b)
	case blocker.CodeBegin, blocker.CodeBackoff:
		t.wait(b)
		if !t.blockedBy(blocker.CodeHeld) {
			t.offer(Unblock{Kind: UnblockRelease}, &command.Release{Job: t.task.Job, Task: task})
		}
	case blocker.CodeLimit:
		t.raise(*b)
		t.fewer(b)
	case blocker.CodeRunTime:
		t.raise(*b)
	case blocker.CodeGPUHours:
		t.wait(b)
		t.raise(*b)
	case blocker.CodePool:
		t.lend(b)
	case blocker.CodeAvoid:
		t.offer(Unblock{Kind: UnblockRelease}, &command.Release{Job: t.task.Job, Task: task})
	case blocker.CodeBooked, blocker.CodeClosed:
		t.unbook(b)
	case blocker.CodeBarred:
		t.pass(b)
	case blocker.CodeThrottle, blocker.CodeNever, blocker.CodeGPUType, blocker.CodeGPUMemory, blocker.CodeConstraint, blocker.CodeAccounts,
		blocker.CodeNodes, blocker.CodeGPUs, blocker.CodeDegraded, blocker.CodeAhead, blocker.CodeReserved,
		blocker.CodeSuspending, blocker.CodeCores:
	}
}

// turn tries what would happen if all jobs that the task waits for had ended as required. It does so once, at the
// first of them.
func (t *trial) turn(at *blocker.Blocker) {
	u := Unblock{Kind: UnblockTurn}
	for _, b := range t.why {
		if b.Code == blocker.CodeDependency {
			u.Jobs = append(u.Jobs, dependency.After{Job: b.On, Kind: b.After, Any: b.Other, Delay: b.Delay})
			if b.Have > 0 && !b.Other {
				u.Kind = UnblockDrop
			}
		}
	}
	if u.Jobs[0].Job == at.On && u.Jobs[0].Kind == at.After {
		t.offer(u, &command.DropDependencies{Job: t.task.Job})
	}
}

// offer notes a change if it lets the task start.
func (t *trial) offer(u Unblock, bodies ...command.Body) bool {
	v, done := t.after(bodies...)
	if !done || !v.Placed() {
		return false
	}
	t.found = append(t.found, u)
	return true
}

// after returns the verdict on the task after commands; false if they cannot be carried out, or if too many
// changes were tried already.
func (t *trial) after(bodies ...command.Body) (v sched.Verdict, done bool) {
	next, done := t.carry(bodies...)
	if !done {
		return v, false
	}
	return sched.Judge(&next, t.now, admission.TicketOf(&next, t.task)), true
}

// carry carries out commands on a copy of the state; false if that cannot be done, or if too many changes
// were tried already.
func (t *trial) carry(bodies ...command.Body) (next state.State, done bool) {
	if t.left == 0 {
		return next, false
	}
	t.left--
	return sched.After(t.state, bodies...)
}

func (t *trial) wait(b *blocker.Blocker) {
	kind := UnblockWait
	switch b.Code { //nolint:exhaustive // a backoff is the other
	case blocker.CodeBegin:
		kind = UnblockBegin
	case blocker.CodeGPUHours:
		kind = UnblockPeriod
	}
	if t.placedAt(b.Until) {
		t.found = append(t.found, Unblock{Kind: kind, At: b.Until})
	}
}

// raise raises a limit until it leaves room for the task: tasks that wait before it under the same limit go first.
// A user under the default limit gets a limit of its own.
func (t *trial) raise(b blocker.Blocker) {
	for range maxRaises {
		limit, found := t.state.Limits.Get(b.Scope)
		if !found {
			limit = model.NoLimit(b.Scope)
		}
		switch need := b.Used + b.Need; b.Of {
		case blocker.LimitGPUs:
			limit.GPUs = need
		case blocker.LimitLive:
			limit.Live = need
		case blocker.LimitGPUsPerJob:
			limit.GPUsPerJob = need
		case blocker.LimitCPUs:
			limit.CPUs = need
		case blocker.LimitRunTime:
			limit.RunTime = time.Duration(need) * time.Second
		case blocker.LimitGPUHours:
			limit.GPUTime = (b.Used/3_600_000 + 1) * 3600 // the next whole hour
		}
		v, done := t.after(&command.SetLimit{Limit: limit})
		if done && v.Placed() {
			t.found = append(t.found, Unblock{Kind: UnblockLimit, Limit: limit, Of: b.Of})
			return
		}
		i := slices.IndexFunc(v.Bars, func(v blocker.Blocker) bool { return v.Scope == b.Scope && v.Of == b.Of })
		if i < 0 || len(v.Bars) > 1 {
			return
		}
		b = v.Bars[i]
	}
}
