package model

import "cmp"

// Dependency makes a job wait for the end of an earlier one.
//
//berth:row
type Dependency struct {
	Key   DependencyKey   `cbor:"1,keyasint,omitempty"`
	Kind  DependencyKind  `cbor:"2,keyasint,omitempty"`
	State DependencyState `cbor:"3,keyasint,omitempty"`
}

// DependencyKey orders dependencies by the waiting job.
type DependencyKey struct {
	Job JobID `cbor:"1,keyasint,omitempty"` // that waits
	On  JobID `cbor:"2,keyasint,omitempty"` // that it waits for: an earlier one, as a whole
}

// Compare orders by the waiting job, then by the awaited one.
func (k DependencyKey) Compare(o DependencyKey) int {
	return cmp.Or(cmp.Compare(k.Job, o.Job), cmp.Compare(k.On, o.On))
}

// After is a dependency as it is submitted.
type After struct {
	Job  JobID          `cbor:"1,keyasint,omitempty"`
	Kind DependencyKind `cbor:"2,keyasint,omitempty"`
}

// DependencyKind is how the awaited job must end.
type DependencyKind uint8

// The kinds of dependency. Of an array all tasks count.
const (
	AfterOK    DependencyKind = 1 // every task completes
	AfterAny   DependencyKind = 2 // every task ends, however
	AfterNotOK DependencyKind = 3 // every task ends, and at least one failed or was canceled
)

// Valid reports whether k is one of the kinds.
func (k DependencyKind) Valid() bool { return k >= AfterOK && k <= AfterNotOK }

// String returns the kind's name in API and command line.
func (k DependencyKind) String() string { return name(k, "", "afterok", "afterany", "afternotok") }

// Wish returns the awaited end, in a word.
func (k DependencyKind) Wish() string { return name(k, "", "completed", "ended", "failed") }

// Judge returns the state of a dependency on a job in its state.
func (k DependencyKind) Judge(on *Job) DependencyState {
	failed := on.Failed+on.Canceled > 0
	switch {
	case on.EndIndex == 0:
		return DependencyWaits
	case k == AfterOK && failed, k == AfterNotOK && !failed:
		return DependencyNever
	}
	return DependencyMet
}

// DependencyState is what has become of a dependency.
type DependencyState uint8

// The states of a dependency.
const (
	DependencyWaits   DependencyState = 1 // the awaited job goes on
	DependencyMet     DependencyState = 2 // it has ended as it should
	DependencyNever   DependencyState = 3 // it has ended otherwise
	DependencyDropped DependencyState = 4 // removed
)

// Valid reports whether s is one of the states.
func (s DependencyState) Valid() bool { return s >= DependencyWaits && s <= DependencyDropped }

// String returns the state's name.
func (s DependencyState) String() string { return name(s, "", "waiting", "met", "never", "dropped") }
