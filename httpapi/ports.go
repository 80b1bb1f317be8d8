package httpapi

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/forward"
)

// Proposer has commands carried out. Its errors are *[Fault]s; any other error
// leaves the outcome unknown.
type Proposer interface {
	// Propose returns the results, in order, and the index of their log entry once
	// this peer's state holds it.
	Propose(ctx context.Context, commands ...command.Command) ([]command.Result, uint64, error)
	// Renew renews a node's lease through the log. It is never repeated.
	Renew(ctx context.Context, r command.Renewal, urgent bool) (model.Code, error)
}

// Reader reads this peer's state.
type Reader interface {
	// State is the state as it is.
	State() state.State
	// Read is a state as new as asked for; it waits until the context ends.
	Read(ctx context.Context, c Consistency) (state.State, error)
	// Changed returns a channel that is closed once one of the topics has changed
	// after the index.
	Changed(topics model.TopicSet, after uint64) <-chan struct{}
}

// Members is what a peer knows of its cluster.
type Members interface {
	forward.Members
	// Standing is how this peer stands.
	Standing() Standing
}

// Telemetry keeps what GPUs measure of themselves, at the leader.
type Telemetry interface {
	// Put keeps a node's samples in place of its former ones.
	Put(node model.NodeID, samples []model.Sample)
	// All lists the newest sample of every GPU.
	All() []soft.Reading
}

// Tails keeps the ends of ranks' output.
type Tails interface {
	// Put keeps a tail, in place of a former one of the rank.
	Put(k model.RankKey, t soft.Tail) error
	// Get finds the tail of a rank.
	Get(k model.RankKey) (soft.Tail, bool)
}

// Beats keeps when the clients of attached jobs were last heard, at the leader.
type Beats interface {
	Hear(job model.JobID)
}

// Histories tells of jobs that have ended.
type Histories interface {
	// Past is a state that holds what is kept of a job that has ended.
	Past(id model.JobID, task uint32) (state.State, bool, error)
	// Ends shows what has ended before a key, newest first, until look wants no more.
	Ends(ctx context.Context, before archive.HistoryKey, look func(archive.Ended) (more bool)) error
}

// Archive is this peer's archive.
type Archive interface {
	Histories
	// Find looks records of the audit trail up.
	Find(f archive.Filter) (archive.Found, error)
	// Verify computes the trail's hashes anew, up to a head.
	Verify(ctx context.Context, head model.AuditHead) (archive.Verdict, error)
	// Reach waits until the archive is complete to a log index.
	Reach(ctx context.Context, index uint64, atMost time.Duration) bool
	// Standing is how the archive stands.
	Standing() archive.Standing
}

// Refusals keeps what was refused before it came to the log, or what was read of other
// people's data.
type Refusals interface {
	// Refused notes one. It must not block.
	Refused(one archive.Refusal)
	// Find lists them, newest first; next is the Before of older ones, 0 if there are none.
	Find(ctx context.Context, f archive.RefusalFilter) (list []archive.Refusal, next uint64, err error)
	// Verify says whether what is kept is as it was written.
	Verify(ctx context.Context) (archive.RefusalsVerdict, error)
}

// Feed keeps what the log has made known of late.
type Feed interface {
	// After lists at most so many notices after a place; gone says that some of them are
	// not kept.
	After(p model.NoticePlace, most int) (list []*soft.Item, gone bool)
	// Before is the place after which so many of those that are picked follow.
	Before(many int, pick func(*model.Notice) bool) model.NoticePlace
	// Last is the place of the newest.
	Last() model.NoticePlace
	// Changed returns a channel that is closed once there is something after a place.
	Changed(p model.NoticePlace) <-chan struct{}
}

// Consistency says how new a read must be.
type Consistency uint8

// The consistencies.
const (
	Default      Consistency = iota // at least what this peer has answered or forwarded
	Stale                           // as it is
	Linearizable                    // everything acknowledged anywhere before
)

// Standing is how a peer stands in its cluster.
type Standing struct {
	ID         model.PeerID
	Cluster    string
	Role       string // "leader", "follower", "candidate" or "stopped"
	Term       uint64
	Leader     model.PeerID // empty: none is known
	Last       uint64       // newest entry in its log
	Committed  uint64
	Applied    uint64
	Leaderless time.Duration // for how long no leader was heard of
	Silent     time.Duration // for how long this peer surely neither led nor heard a leader; 0: it may
	Voters     []model.PeerID
	Servers    []model.Peer  // id and Raft address of every member
	Waiting    string        // why this peer takes no part in a cluster yet; empty: it does
	Behind     string        // why this peer's state has not caught up with the cluster's; empty: it has
	Passes     uint64        // of the scheduler, in this leadership; 0 while another peer leads
	PassesTook time.Duration // in all

	ClockAhead  map[model.PeerID]time.Duration // wall clock of each peer, as far as it is known, less that of this one
	ClocksAgree bool                           // those of a majority of the peers show the same time

	// Of this process:

	Delivered   uint64 // to webhooks
	Undelivered uint64 // tries that did not arrive
	Skipped     uint64 // commands, for a defect
	Undecided   uint64 // decisions that came to nothing for a defect
	Broken      uint64 // restored states that break invariants
}

// Fault is why a peer did not do what it was asked for: a code of the API, and
// the peer's own words, which are logged and not sent.
type Fault struct {
	Code string
	Err  error
}

// Error is the code and the peer's words.
func (f *Fault) Error() string { return f.Code + ": " + f.Err.Error() }

// Unwrap is the peer's error.
func (f *Fault) Unwrap() error { return f.Err }
