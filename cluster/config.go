package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Clock reads the machine's two clocks.
type Clock interface {
	// Wall returns the time of day, which may jump.
	Wall() time.Time
	// Boot returns CLOCK_BOOTTIME, which never jumps and counts suspended time.
	Boot() time.Duration
}

// Timeouts are Raft's. A failover takes about twice the heartbeat timeout.
type Timeouts struct {
	Heartbeat time.Duration // a follower that hears no leader for this long starts an election
	Election  time.Duration // a candidate without a majority tries again
	Lease     time.Duration // a leader without a majority steps down
}

// LAN are the timeouts for peers a few milliseconds apart, WAN for others.
//
// A leader's lease is as long as the heartbeat timeout, the most that raft allows: the lease decides nothing,
// since reads go through the log, so a shorter one would only make a leader on a busy machine step down
// sooner.
var (
	LAN = Timeouts{250 * time.Millisecond, 250 * time.Millisecond, 250 * time.Millisecond}
	WAN = Timeouts{time.Second, time.Second, time.Second}
)

// Stores are raft's durable stores.
type Stores struct {
	Log       raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
	Space     func() (raftstore.Space, error) // room on their disk; nil: not watched
	Folder    Folder                          // which folder they are in
	Program   ProgramRecord                   // of the peer's program; nil: it is not kept
}

// Config is the identity of a peer and its environment.
type Config struct {
	Self    model.Peer // ID, addresses, version; RaftAddress is what others dial; Folder comes from Stores
	Cluster string     // the cluster's id; empty until the peer has joined one
	Bind    string     // address to listen on; empty: Self.RaftAddress

	// Listed is where the operator says that the peers are; an entry may lack the id. A member that does not answer at the address that the
	// cluster has is looked for there.
	Listed []peer.Server

	Network raftnet.Network
	Stores  Stores
	Clock   Clock
	Archive *archive.Archive // audit trail and histories; nil: none are kept, and no job leaves the state
	Logger  *slog.Logger

	// Halt ends the process: this peer must not go on. Halt may return; the peer is of no use afterwards in
	// either case.
	Halt func(reason error)
	// Joined is called with the cluster's id when a join has succeeded; nil: not called.
	Joined func(cluster string) error

	Tuning Tuning
	Tests  Unguarded
}

// Tuning holds settings that are rarely changed; zero fields take the defaults.
type Tuning struct {
	Hinted            func(model.NodeID) bool // whether gossip finds a node silent; nil: there is no gossip
	Timeouts          Timeouts
	SnapshotThreshold uint64        // entries between snapshots, before ±25 % by peer; 8192
	SnapshotInterval  time.Duration // how often that is looked at; 30 s
	TrailingLogs      uint64        // entries kept behind a snapshot; 10240, and not less
	SnapshotRate      int64         // bytes a second; 64 MiB, 0 keeps the default, negative: unlimited
	CommitTimeout     time.Duration // how soon an idle follower learns of a commit of which no request has told it; 200 ms
	InFlight          int           // entries under way at once; 1
	RenewWindow       time.Duration // renewals gathered into one entry after an urgent one; 200 ms
	RenewRest         time.Duration // and without one; 1.8 s, which an agent's patience of 3 s must cover
	StartDeadline     time.Duration // of attempts; 10 min
	LevelHold         time.Duration // from the last peer's upgrade until the feature level rises; 0: none
	Webhooks          *notify.World // how their receivers are reached while this peer leads; nil: it delivers nothing

	// Founding is the initial state of a new cluster if this peer leads first; the first leader sets the
	// incarnation, the level and, if it is missing, the secret of notices. Without a policy a cluster runs
	// with the default one.
	Founding command.Bootstrap
}

// Unguarded disables single guards, for tests that show the hazard behind each guard, and for nothing else.
type Unguarded struct {
	Transport    raftnet.Unguarded
	NoWatchdog   bool   // leave a hung or failing store alone
	NoNoticeRoom bool   // let raft's main goroutine wait until a notice of leadership is taken
	SlowNotice   func() // called for each notice, before it is acted on
	ShortLogs    bool   // allow TrailingLogs under its minimum
	NoQuarantine bool   // go on when the digest differs from the majority's
	NoFloor      bool   // serve a state that lies behind one already served
	GoOn         bool   // go on after a snapshot could not be restored
	NoChecksums  bool   // take entries of other peers without a look at their checksums
	VoteAtOnce   bool   // give a member a vote as soon as it has joined
	AnyFolder    bool   // take part whatever folder a peer comes with, and found without asking

	// Apply replaces apply.Apply, to simulate a defect.
	Apply func(state.State, state.Meta, []command.Command) (state.State, []command.Result, state.Changes)
}

// notices returns the capacity for leadership notices that are not received yet.
func (u *Unguarded) notices() int {
	if u.NoNoticeRoom {
		return 0
	}
	return 64
}

// minTrailingLogs keeps followers that lag a little from needing a snapshot: with few trailing logs raft was
// seen to install snapshots in a loop, each older than the follower's log (hashicorp/raft#697).
const minTrailingLogs = 10_240

func (t Tuning) withDefaults(unguarded Unguarded) Tuning {
	def := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	if t.Timeouts == (Timeouts{}) {
		t.Timeouts = LAN
	}
	def(&t.SnapshotInterval, 30*time.Second)
	def(&t.CommitTimeout, 200*time.Millisecond)
	def(&t.RenewWindow, 200*time.Millisecond)
	def(&t.RenewRest, 1800*time.Millisecond)
	def(&t.StartDeadline, 10*time.Minute)
	if t.SnapshotThreshold == 0 {
		t.SnapshotThreshold = 8192
	}
	if !unguarded.ShortLogs {
		t.TrailingLogs = max(t.TrailingLogs, minTrailingLogs)
	}
	if t.SnapshotRate == 0 {
		t.SnapshotRate = 64 << 20
	}
	if t.InFlight == 0 {
		t.InFlight = 1
	}
	if t.Founding.Retention == (model.Retention{}) {
		t.Founding.Retention = model.Retention{Jobs: 10_000, Age: 7 * 24 * time.Hour}
	}
	if t.Founding.Policy == "" {
		t.Founding.Policy, t.Founding.Running = model.DefaultPolicy, true
	}
	return t
}

func (c *Config) validate() error {
	switch {
	case c.Self.ID == "" || c.Self.RaftAddress == "":
		return errors.New("a peer needs an id and an address")
	case c.Network == nil || c.Clock == nil || c.Halt == nil || c.Stores.Log == nil || c.Stores.Stable == nil || c.Stores.Snapshots == nil:
		return fmt.Errorf("peer %s lacks a network, stores, a clock or a way to halt", c.Self.ID)
	case c.Stores.Folder == nil || c.Stores.Folder.FolderID() == "":
		return fmt.Errorf("peer %s has a data folder without an id", c.Self.ID)
	}
	return nil
}
