// Package port contains the interfaces of a peer that the HTTP API needs, where programs, the simulator and tests have different ones.
// Their nouns are those of cluster/peer.
package port

import (
	"context"
	"io"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/history"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Proposer carries out commands. Its errors are *problem.Faults; any other error leaves the outcome
// unknown.
type Proposer interface {
	// Propose returns the results, in order, and the index of their log entry once
	// this peer's state holds it.
	Propose(ctx context.Context, commands ...command.Command) ([]command.Result, uint64, error)
	// Renew renews a node's lease through the log. It is never repeated.
	Renew(ctx context.Context, r command.Renewal, urgent bool) (model.Code, error)
}

// Reader reads this peer's state.
type Reader interface {
	// State returns the present state.
	State() state.State
	// Read returns a state as new as required; it waits until the context ends.
	Read(ctx context.Context, c peer.Consistency) (state.State, error)
	// Changed returns a channel that is closed once one of the topics has changed
	// after the index.
	Changed(topics model.TopicSet, after uint64) <-chan struct{}
}

// Members is what a peer knows of its cluster.
type Members interface {
	forward.Members
	// Status returns the status of this peer.
	Status() peer.Status
	// Clocks compares the wall clocks of the peers.
	Clocks() peer.Clocks
	// Remove removes a peer, Promote gives one a vote at once, and Transfer lets one lead (empty: any). Only the leader can.
	Remove(ctx context.Context, id model.PeerID) error
	Promote(ctx context.Context, id model.PeerID) error
	Transfer(ctx context.Context, to model.PeerID) error
	// Programs returns what this peer knows of the programs of all peers.
	Programs() upgrade.Cluster
}

// Histories returns jobs that have ended.
type Histories interface {
	// Past returns a state that holds what is kept of a job that has ended.
	Past(id model.JobID, task uint32) (state.State, bool, error)
	// Ends passes what has ended before a key to look, newest first, until look returns false.
	Ends(ctx context.Context, before archive.HistoryKey, look func(archive.Ended) (more bool)) error
}

// Archive is this peer's archive.
type Archive interface {
	Histories
	// Find returns records of the audit trail.
	Find(f archive.Filter) (archive.Found, error)
	// Verify recomputes the trail's hashes, up to a head.
	Verify(ctx context.Context, head model.AuditHead) (archive.Verdict, error)
	// Reach waits until the archive is complete to a log index.
	Reach(ctx context.Context, index uint64, atMost time.Duration) bool
	// Standing returns the status of the archive.
	Standing() archive.Standing
	// Copy passes the size of the archive's file, in bytes, and its content as of one moment.
	Copy(write func(size int64, content io.Reader) error) error
}

// Refusals keeps refusals that did not reach the log, or reads of other users' data.
type Refusals interface {
	// Refused records one. It must not block.
	Refused(one archive.Refusal)
	// Find returns records, newest first; next is the Before of older ones, 0 if there are none.
	Find(ctx context.Context, f archive.RefusalFilter) (list []archive.Refusal, next uint64, err error)
	// Verify reports whether the records are as they were written.
	Verify(ctx context.Context) (archive.RefusalsVerdict, error)
}

// History keeps records of the cluster's last 24 hours, one a minute.
type History interface {
	// Between returns the records from one minute up to another, which is left out.
	Between(from, to history.Minute) []history.Record
}

// Settings gives access by name to the settings of the whole cluster.
type Settings interface {
	// List returns all values in force.
	List(*state.State) []wire.Setting
	// Change returns the commands that give the named settings these values. Its error lists which
	// may not have their value, and which may.
	Change(*state.State, map[string]string) ([]command.Body, error)
}
