package model

import "time"

// Account is a scope's use of what it was given: GPU time of the present period if it has a quota of it, and
// GPUs if it owns some. The work of a project that owns GPUs draws on the project's guarantee, otherwise on
// that of a user with GPUs; the account of the cluster holds the work that draws on no guarantee, and the
// sum of all guarantees.
//
//berth:row
type Account struct {
	Scope ScopeKey `cbor:"1,keyasint,omitempty"`

	Began Time   `cbor:"2,keyasint,omitempty"` // of the period that Used is of; 0: it has no quota of GPU time
	Used  int64  `cbor:"3,keyasint,omitempty"` // GPU-milliseconds, up to At
	At    Time   `cbor:"4,keyasint,omitempty"`
	GPUs  uint32 `cbor:"5,keyasint,omitempty"` // held since At

	Own      uint32 `cbor:"6,keyasint,omitempty"` // GPUs held by what draws on its guarantee; the cluster's: by what draws on none
	Reserved int64  `cbor:"7,keyasint,omitempty"` // the cluster's: GPUs that are owned, all guarantees together
	Borrowed uint32 `cbor:"8,keyasint,omitempty"` // the cluster's: GPUs held beyond all guarantees
}

// Empty reports whether the row is empty, and need not be stored.
func (a Account) Empty() bool { return a.Began == 0 && a.Own == 0 && a.Reserved == 0 }

// UsedAt returns the GPU time, in GPU-milliseconds, used by an instant at or after At in the instant's
// period. Held GPUs count as they run.
func (a Account) UsedAt(now Time, period time.Duration) int64 {
	used, from := a.since(now, period)
	return used + int64(a.GPUs)*int64(max(now.Sub(from), 0)/time.Millisecond)
}

// since returns the use within an instant's period before a second instant, from which on held GPUs count.
func (a Account) since(now Time, period time.Duration) (used int64, from Time) {
	if began, _ := PeriodOf(now, period); began > a.Began {
		return 0, max(began, a.At)
	}
	return a.Used, a.At
}

// Hold updates the use and counts another number of GPUs from then on.
func (a *Account) Hold(gpus uint32, now Time, period time.Duration) {
	used := a.UsedAt(now, period)
	_, from := a.since(now, period)
	a.Began, _ = PeriodOf(now, period)
	a.Used, a.GPUs = used, gpus
	a.At = from.Add(max(now.Sub(from), 0).Truncate(time.Millisecond)) // what is left of a millisecond counts later
}

// Pools sets how GPUs are divided between owners and all others.
type Pools struct {
	Mode PoolMode `cbor:"1,keyasint,omitempty"`
	Part uint32   `cbor:"2,keyasint,omitempty"` // of the cluster, in thousandths, that hybrid keeps for owners; 0: DefaultPart
}

// DefaultPart is the part of the cluster that hybrid reserves for owners, in thousandths.
const DefaultPart = 300

// Kept returns how many of all GPUs are reserved for owners within their guarantees although they are idle,
// when so many are owned.
func (p Pools) Kept(all, owned int64) int64 {
	switch p.Mode {
	case PoolStatic:
		return owned
	case PoolHybrid:
		part := int64(p.Part)
		if part == 0 {
			part = DefaultPart
		}
		return min(all*part/1000, owned)
	case PoolDefault, PoolDynamic:
	}
	return 0
}

// PoolMode is how strictly GPUs belong to their owners.
type PoolMode uint8

// The modes.
const (
	PoolDefault PoolMode = 0 // as PoolDynamic
	PoolDynamic PoolMode = 1 // every user may use all GPUs
	PoolStatic  PoolMode = 2 // owners use at most what they own, others the GPUs without an owner
	PoolHybrid  PoolMode = 3 // a part is kept for owners within their guarantees, the rest is for all
)

// Valid reports whether m is one of the modes that can be chosen.
func (m PoolMode) Valid() bool { return m >= PoolDynamic && m <= PoolHybrid }

// String returns the mode's name.
func (m PoolMode) String() string { return NameOf(m, "dynamic", "dynamic", "static", "hybrid") }

// PoolModeOf returns the mode of a name; PoolDefault for another text.
func PoolModeOf(text string) PoolMode {
	for m := PoolDynamic; m <= PoolHybrid; m++ {
		if m.String() == text {
			return m
		}
	}
	return PoolDefault
}

// Accounts is the choice of unix accounts under which a node runs jobs.
type Accounts uint8

// The ways to run jobs.
const (
	AccountsShared Accounts = 0 // jobs of all users, under the account of its agent
	AccountsUsers  Accounts = 1 // jobs of all users, each under an account of its user
	AccountsOwn    Accounts = 2 // jobs of one user only, the one with the name of its agent's account
)

// Valid reports whether a is one of the three ways.
func (a Accounts) Valid() bool { return a <= AccountsOwn }

// String returns the name of the way in the API.
func (a Accounts) String() string { return NameOf(a, "shared", "users", "own") }

// Stranger stands for all users without an agent's account of the same name. No user has this name.
const Stranger = " "

// Admits reports whether the node runs jobs of a user; for the user "" it runs any.
func (n *Node) Admits(user string) bool {
	return user == "" || (n.Accounts != AccountsOwn || n.Account == user) && !n.Lacks(user)
}
