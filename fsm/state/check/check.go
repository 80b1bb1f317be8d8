// Package check tests the invariants of the replicated state: [State] those of one state, [Move] and [Step]
// those of two that follow each other. It reads rows only, and computes what is derived in its own way.
//
//berth:pure
package check

import (
	"errors"
	"fmt"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Invariant is a property of every state, or of every move from one state to the next, whatever the commands
// were.
type Invariant uint8

// The invariants.
const (
	// SingleOwner: a slot has at most one owner - a live attempt's rank, a live allocation, a cleaning after
	// either, or a foreign attempt.
	SingleOwner Invariant = 1
	// WholeGang: a live attempt holds all its GPUs or has given up some for good, rank by rank; its counters
	// and its task agree with its ranks.
	WholeGang Invariant = 2
	// OneAttempt: a task has at most one live attempt, its newest; an ended one does not come to life again.
	OneAttempt Invariant = 3
	// ShownClean: a slot is freed only on its node's confirmation.
	ShownClean Invariant = 4
	// NothingLost: an acknowledged job stays until it has ended, and is one.
	NothingLost Invariant = 5
	// WithinLimits: no command increases an excess over a limit.
	WithinLimits Invariant = 6
	// TotalsAgree: every count is that of the rows that it counts.
	TotalsAgree Invariant = 7
	// SameOnReplay: indexes and digest follow from the rows, so that a state read from a snapshot is the
	// state that was written.
	SameOnReplay Invariant = 8
	// References: a row that names another names an existing one.
	References Invariant = 9
	// OnlyForward: clocks, epochs, sequences and marks never go back.
	OnlyForward Invariant = 10
	// InTurn: a job waits only for earlier ones, and runs nothing while it waits.
	InTurn Invariant = 11
)

var invariantNames = [...]string{
	SingleOwner: "single owner", WholeGang: "whole gang", OneAttempt: "one attempt", ShownClean: "shown clean",
	NothingLost: "nothing lost", WithinLimits: "within limits", TotalsAgree: "totals agree",
	SameOnReplay: "same on replay", References: "references", OnlyForward: "only forward", InTurn: "in turn",
}

// String returns the invariant's name.
func (i Invariant) String() string {
	if int(i) < len(invariantNames) {
		return invariantNames[i]
	}
	return "unknown"
}

// Violation is one way in which a state or a move breaks an invariant.
type Violation struct {
	Invariant Invariant
	What      string
}

// Error returns "invariant: what".
func (v *Violation) Error() string { return v.Invariant.String() + ": " + v.What }

// State returns the ways in which a state breaks the invariants: nil, or a joined error of [Violation]
// values. It reads every row and recomputes all that is derived, so it is for tests, simulations and
// restores, not for every entry.
func State(s *state.State) error {
	c := &checker{s: s}
	if s.Settings().Incarnation.IsZero() {
		checkEmpty(c)
		return errors.Join(c.found...)
	}
	checkSlots(c)
	checkAllocations(c)
	checkAttempts(c)
	checkTasks(c)
	checkJobs(c)
	checkThrottles(c)
	checkMoved(c)
	checkWaits(c)
	checkDependencies(c)
	checkNodeUse(c)
	checkFit(c)
	checkUsage(c)
	checkAccounts(c)
	checkLifetime(c)
	checkTallies(c)
	checkIndexes(c)
	checkSums(c)
	checkReferences(c)
	checkBookings(c)
	checkAuth(c)
	checkOutbox(c)
	checkImport(c)
	return errors.Join(c.found...)
}

// Violations returns the violations in an error of [State] or [Move].
func Violations(err error) (out []*Violation) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			out = append(out, Violations(e)...)
		}
	} else if v, ok := errors.AsType[*Violation](err); ok {
		out = append(out, v)
	}
	return out
}

// checker is a check of a state.
type checker struct {
	findings
	s *state.State
}

// findings collects violations.
type findings struct{ found []error }

// hold adds a violation unless a condition holds.
func (f *findings) hold(so bool, i Invariant, format string, args ...any) {
	if !so {
		f.found = append(f.found, &Violation{i, fmt.Sprintf(format, args...)})
	}
}

// checkEmpty: before its bootstrap a state has no rows.
func checkEmpty(c *checker) {
	for name, n := range tx.RowCounts(c.s) {
		c.hold(n == 0, References, "table %s has %d rows before the bootstrap", name, n)
	}
}

// residentOf returns the row of a slot's rank, and whether it lives on the slot's node.
func residentOf(c *checker, slot *model.Slot) (r model.Rank, there bool) {
	r, found := c.s.Ranks.Get(slot.Rank)
	return r, found && r.Node == slot.Node
}
