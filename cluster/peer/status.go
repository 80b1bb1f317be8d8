package peer

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Server is a peer as Raft's configuration names it.
type Server struct {
	ID      model.PeerID
	Address string // of its peer port
}

// Role is a peer's role in Raft.
type Role string

// The roles.
const (
	RoleLeader    Role = "leader"
	RoleFollower  Role = "follower"
	RoleCandidate Role = "candidate"
	RoleStopped   Role = "stopped"
)

// Status describes a peer and its view of the cluster.
type Status struct {
	ID      model.PeerID
	Cluster string
	Role    Role
	Term    uint64
	Leader  Server // zero while none is known
	Servers []Server
	Up      []model.PeerID // members that take part, as far as this peer knows; a leader counts those that answer its messages only

	Last       uint64 // index of the newest entry in this peer's log
	Committed  uint64
	Applied    uint64        // index of the newest command in the state
	Leaderless time.Duration // for how long no leader was heard; 0 while there is one
	Leading    time.Duration // for how long this peer has led; 0: it does not
	Silence    Silence       // what may be relied on of that

	Defects  Defects
	Messages Messages
	Passes   Passes // of the scheduler, while this peer leads

	Waiting string // why this peer takes no part in a cluster, yet or any more; empty: it does
	Lag     Lag

	Delivered   uint64 // to webhooks by this process
	Undelivered uint64 // tries of it that did not arrive
}

// Defects counts the effects of defects since this process began.
type Defects struct {
	Commands  uint64 // skipped, on every peer alike
	Decisions uint64 // of this peer as it led that came to nothing, and were taken again
	States    uint64 // restored from snapshots that break invariants
}

// Messages counts messages of Raft that this process treated out of the ordinary.
type Messages struct {
	Busy      uint64 // heartbeats that were answered while Raft worked on another message
	Malformed uint64 // refused, because no sound peer sends them
	Foreign   uint64 // refused, because the sender or its data folder, or this peer's, is another than they name
}

// Silence is a peer's knowledge of whether there is a leader.
type Silence struct {
	// For is how long this peer has neither led nor heard a leader; 0 while it leads. It is rather too short
	// than too long: a message counts from when it came in, and the start of the process counts like one.
	For    time.Duration
	Voters []model.PeerID // of the newest configuration that this peer has, sorted
}

// Passes sums up the scheduler's passes of one leadership.
type Passes struct {
	Count   uint64
	Decided uint64        // placements and grants in their plans
	Took    time.Duration // to make the plans, in all
}

// Lag is how far a peer's state is behind what the cluster has committed.
type Lag struct {
	// Known reports whether the state has reached, since the process began, an index at which it held
	// everything that was acknowledged before: only then does a restarted or joining peer know the cluster's
	// index.
	Known   bool
	Entries uint64 // that the state lacks, by what the other peers reported in the last 5 s
}

// CaughtUp reports whether a peer may answer for the cluster, by the only criterion for that: the peer has
// been as new as the cluster once since its process began, and lacks at most [CloseEnough] entries now. A
// peer that has not caught up is not ready (GET /readyz), and its default reads wait as linearizable ones do
// and fail with [ErrBehind]: so no peer answers "not found" for an entry that it still lacks.
func (l Lag) CaughtUp() bool { return l.Known && l.Entries <= CloseEnough }

// Why returns why a peer has not caught up; empty if it has.
func (l Lag) Why() string {
	switch {
	case l.CaughtUp():
		return ""
	case l.Entries > 0:
		return fmt.Sprintf("this peer's state lacks %d entries of the cluster's log: it answers once it has caught up", l.Entries)
	}
	return "this peer has not yet reached the state that the cluster had when the peer started: it answers once it has"
}

// CloseEnough is how many entries a member may lack and still count as caught up.
const CloseEnough = 500

// Store is figures of a peer's data folder.
type Store struct {
	SnapshotIndex uint64
	SnapshotAt    time.Time // when the newest snapshot was taken; zero: there is none
	SnapshotBytes int64     // of all that are kept
	LogBytes      int64
	Free, Total   uint64 // bytes of the file system
	Backup        Backup
}

// Backup is the state of the backups of a peer; the zero value means that the peer makes none.
type Backup struct {
	Every   time.Duration // interval at which backups are made
	Newest  time.Time     // when the newest in its folder was made; zero: there is none
	Failure string        // why the last try failed; empty: it has not
}

// Clocks is a comparison of the peers' wall clocks.
type Clocks struct {
	Ahead map[model.PeerID]time.Duration // of this peer's, by peer; only those that reported within 5 s
	Agree bool                           // those of a majority of the members show the same time within 2 s
}
