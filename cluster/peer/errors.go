package peer

import (
	"errors"
	"fmt"

	"github.com/berth-gpu/berth/fsm/model"
)

// The reasons for which a proposal or a read fails.
var (
	// ErrNoLeader means that nothing was proposed, since there is no leader: try again.
	ErrNoLeader = errors.New("no peer leads at the moment")
	// ErrOutcomeUnknown means that the command may or may not have been carried out: try again with the same
	// request id.
	ErrOutcomeUnknown = errors.New("the outcome is unknown")
	// ErrOverloaded means that too many commands wait to be proposed: try again later.
	ErrOverloaded = errors.New("too many commands wait")
	// ErrNoSpace means that the leader's disk is nearly full and takes no user commands.
	ErrNoSpace = errors.New("the leader's disk is nearly full")
	// ErrDiverged means that the peers' states differ and no majority agrees: user commands are refused until
	// an operator has resolved the difference.
	ErrDiverged = errors.New("the peers' states differ")
	// ErrClosed means that this peer has been shut down or has halted.
	ErrClosed = errors.New("this peer has stopped")
	// ErrWiped means that the cluster knows this peer with another data folder, or not at all although the
	// peer was started to found the cluster.
	ErrWiped = errors.New("the cluster exists already and does not know this peer with this data folder: " + NewIDRemedy)
	// ErrRemoved means that this peer was removed from the cluster.
	ErrRemoved = errors.New("this peer was removed from the cluster: to use this machine again, give it an empty data folder, another id and a new join token")
	// ErrBehind means that this peer could not reach the requested index in time.
	ErrBehind = errors.New("this peer is behind")
)

// NewIDRemedy is the remedy for a peer whose data folder was lost.
const NewIDRemedy = "a lost data folder takes the peer's votes with it, so the peer never comes back under its old id; " +
	"start it with an empty data folder, a new --id and --join (server.id, server.join)"

// NotLeaderError means that nothing was proposed here; it names the leader.
type NotLeaderError struct {
	Leader  model.PeerID
	Address string // of Raft
}

// Error returns a text that names the leader.
func (e *NotLeaderError) Error() string {
	return fmt.Sprintf("peer %s at %s leads", e.Leader, e.Address)
}

// QuarantineError means that this peer's state differs from that of the majority: another peer must take its
// place.
type QuarantineError struct {
	Index     uint64
	Own, Most model.Hash
}

// Error returns the difference and the remedy.
func (e *QuarantineError) Error() string {
	return fmt.Sprintf("the state at index %d has digest %x here and %x on the majority of peers: move this peer's data folder "+
		"away, and start a new peer with an empty one, a new --id and --join (server.id, server.join)", e.Index, e.Own[:6], e.Most[:6])
}
