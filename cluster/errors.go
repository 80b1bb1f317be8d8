package cluster

import (
	"errors"
	"fmt"

	"github.com/berth-gpu/berth/fsm/model"
)

// What can keep a proposal or a read from succeeding.
var (
	// ErrNoLeader says that nothing was proposed, since nobody leads: try again.
	ErrNoLeader = errors.New("no peer leads at the moment")
	// ErrOutcomeUnknown says that the command may or may not have been carried
	// out: try again with the same request id.
	ErrOutcomeUnknown = errors.New("the outcome is unknown")
	// ErrOverloaded says that too much waits to be proposed: try again later.
	ErrOverloaded = errors.New("too many commands wait")
	// ErrNoSpace says that the leader's disk is nearly full and takes no user
	// commands.
	ErrNoSpace = errors.New("the leader's disk is nearly full")
	// ErrDiverged says that peers' states differ and no majority agrees: no user
	// command is taken until an operator has looked.
	ErrDiverged = errors.New("the peers' states differ")
	// ErrClosed says that this peer has been shut down or has halted.
	ErrClosed = errors.New("this peer has stopped")
	// ErrWiped says that the cluster knows this peer with another data folder, or not
	// at all although it was started to found it.
	ErrWiped = errors.New("the cluster exists already and does not know this peer with this data folder: " + newID)
	// ErrBehind says that this peer cannot answer at the wanted index in time.
	ErrBehind = errors.New("this peer is behind")
)

// newID is the remedy for a peer whose data folder was lost.
const newID = "a lost data folder takes the peer's votes with it, so the peer never comes back under its old id; " +
	"start it with an empty data folder, a new --id and --join"

// NotLeaderError says that nothing was proposed here and who leads.
type NotLeaderError struct {
	Leader  model.PeerID
	Address string // of Raft
}

// Error names the leader.
func (e *NotLeaderError) Error() string {
	return fmt.Sprintf("peer %s at %s leads", e.Leader, e.Address)
}

// QuarantineError says that this peer's state differs from that of the majority:
// another peer must take its place.
type QuarantineError struct {
	Index     uint64
	Own, Most model.Hash
}

// Error returns what differs and what to do.
func (e *QuarantineError) Error() string {
	return fmt.Sprintf("the state at index %d has digest %x here and %x on the majority of peers: move this peer's data folder "+
		"away, and start a new peer with an empty one, a new --id and --join", e.Index, e.Own[:6], e.Most[:6])
}
