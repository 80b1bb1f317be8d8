package apitest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
)

// Peer is a peer without Raft: what it is asked to propose is applied at once.
type Peer struct {
	mu          sync.Mutex
	Cluster     *statetest.Cluster
	waiting     []waiter
	Fail        error          // that proposals fail with
	Behind      error          // that reads fail with
	Lacks       uint64         // entries of the cluster's log
	Voters      []model.PeerID // nil: p1, and p2, which is down
	Aside       model.PeerID   // a voter that reports, and takes no part
	Late        int            // over 0: this peer leads since a second, and the voter takes part from that many looks on
	ID          string         // of the cluster
	First       string         // address of the peer port of p1
	Mate        string         // and of p2
	KnownLeader forward.Leader
	until       context.Context
	end         context.CancelFunc
	renewed     []command.Renewal
	Moved       []string // changes of the membership

	programs func(*upgrade.Cluster) // changes what is known of them

	Feed *soft.Feed
}

type waiter struct {
	set   model.TopicSet
	after uint64
	ch    chan struct{}
}

// NewPeer returns a peer p1 that leads a new cluster.
func NewPeer(tb statetest.TB) *Peer {
	p := &Peer{ID: "c", Cluster: statetest.New(tb), KnownLeader: forward.Leader{ID: "p1", Self: true, Address: "127.0.0.1:1"}, First: "127.0.0.1:7001", Mate: "127.0.0.1:7002"}
	p.Cluster.Unchecked = true
	p.Feed = soft.NewFeed(1 << 20)
	p.Cluster.Told = p.Feed.Put
	p.until, p.end = context.WithCancel(context.Background())
	return p
}

// With changes the cluster and wakes waiting readers.
func (p *Peer) With(change func(*statetest.Cluster)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.Cluster)
	p.wake()
}

func (p *Peer) wake() {
	var left []waiter
	for _, w := range p.waiting {
		if core.LastOf(&p.Cluster.State, w.set) > w.after {
			close(w.ch)
		} else {
			left = append(left, w)
		}
	}
	p.waiting = left
}

// FailWith has proposals fail with an error from now on; nil: with none.
func (p *Peer) FailWith(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Fail = err
}

// Lead makes another peer, or this one, the leader.
func (p *Peer) Lead(l forward.Leader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.KnownLeader = l
	p.end()
	p.until, p.end = context.WithCancel(context.Background())
}

// Propose applies commands as one entry.
func (p *Peer) Propose(_ context.Context, commands ...command.Command) ([]command.Result, uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Fail != nil {
		return nil, 0, p.Fail
	}
	results := p.Cluster.Entry(commands...)
	p.wake()
	return results, p.Cluster.State.Index, nil
}

// Renew notes and applies a renewal.
func (p *Peer) Renew(_ context.Context, r command.Renewal, _ bool) (model.Code, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Fail != nil {
		return 0, p.Fail
	}
	p.renewed = append(p.renewed, r)
	results := p.Cluster.Entry(p.Cluster.Command(&command.Renew{Renewals: []command.Renewal{r}}))
	p.wake()
	return results[0].Verdicts[0], nil
}

// State returns the present state.
func (p *Peer) State() state.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Cluster.State
}

// Read returns the present state, or the error that the test has put into Behind.
func (p *Peer) Read(context.Context, peer.Consistency) (state.State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Cluster.State, p.Behind
}

// Changed returns a channel that is closed once a topic has changed after an index.
func (p *Peer) Changed(set model.TopicSet, after uint64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := make(chan struct{})
	p.waiting = append(p.waiting, waiter{set, after, ch})
	p.wake()
	return ch
}

// Leader returns the leader, with a context that ends with its leadership.
func (p *Peer) Leader() (forward.Leader, context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.KnownLeader, p.until
}

// Saw does nothing: there is one clock.
func (p *Peer) Saw(uint64) {}

// Clocks returns clocks that agree.
func (p *Peer) Clocks() peer.Clocks {
	out := peer.Clocks{Ahead: map[model.PeerID]time.Duration{"p1": 0}, Agree: true}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.Voters {
		out.Ahead[id] = 0
	}
	return out
}

// votersNow returns the voters: p1 and p2, unless a test has others, which are all up. p.mu is held.
func (p *Peer) votersNow() []model.PeerID {
	if p.Voters != nil {
		return p.Voters
	}
	return []model.PeerID{"p1", "p2"}
}

// Programs returns what p1 knows of two peers; tests change that.
func (p *Peer) Programs() upgrade.Cluster {
	s := p.State()
	p.mu.Lock()
	defer p.mu.Unlock()
	set := s.Settings()
	out := upgrade.Cluster{Level: set.Level, Now: set.Clock, Peers: []upgrade.Peer{
		{ID: "p1", Level: command.Level, Version: "v1.1.0", Heard: true, CaughtUp: true, Settled: true, Leads: p.KnownLeader.Self, Votes: true},
		{ID: "p2", Level: command.Level, Version: "v1.1.0", Heard: true, CaughtUp: true, Settled: true, Votes: true},
	}}
	if p.KnownLeader.Self {
		out.Leading = time.Minute
	}
	if p.programs != nil {
		p.programs(&out)
	}
	return out
}

// Remove notes the removal of a peer.
func (p *Peer) Remove(_ context.Context, id model.PeerID) error { return p.changes("remove", id) }

// Promote notes that a peer became a voter.
func (p *Peer) Promote(_ context.Context, id model.PeerID) error { return p.changes("promote", id) }

// Transfer notes that the leadership was handed over.
func (p *Peer) Transfer(_ context.Context, to model.PeerID) error { return p.changes("transfer", to) }

// changes notes a change of the membership.
func (p *Peer) changes(what string, id model.PeerID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Moved = append(p.Moved, what+" "+string(id))
	return nil
}

// Now is the cluster's time: tests are not older than the state that they make.
func (p *Peer) Now() time.Time {
	s := p.State()
	return s.Settings().Clock.Time()
}

// Waiters returns how many readers wait for a change; a woken one is notified while the change is made.
func (p *Peer) Waiters() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// Become makes a cluster the one of the peer.
func (p *Peer) Become(c *statetest.Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Cluster = c
}

// Waited returns when a reader waits for a change.
func (p *Peer) Waited(t *testing.T) {
	t.Helper()
	limit := time.After(time.Minute)
	for p.Waiters() == 0 {
		select {
		case <-limit:
			t.Fatal("no reader waits")
		case <-time.After(time.Millisecond):
		}
	}
}

// Know changes what the peer knows of the programs.
func (p *Peer) Know(change func(*upgrade.Cluster)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.programs
	p.programs = func(c *upgrade.Cluster) {
		if before != nil {
			before(c)
		}
		change(c)
	}
}
