package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Peer is a running member of a cluster, or one that waits to be one. Its methods may be called from any
// goroutine.
type Peer struct {
	cfg    Config
	log    *slog.Logger
	raft   *raft.Raft
	fsm    *fsm.FSM
	wire   wire
	lanes  *laneSet
	reads  *batcher[struct{}, uint64]
	renew  *batcher[renewing, model.Code]
	mates  *mates
	seen   atomic.Uint64 // greatest index that this peer has answered or forwarded
	tenure tenure
	life   life

	program *program

	settled atomic.Bool // see Lag

	committed *committedLogs   // nil: entries that are committed may be cut off
	watched   raft.StableStore // under watch

	folders *folders
	waiting atomic.Pointer[string] // why this peer takes no part yet; nil: it does
	apart   atomic.Pointer[string] // why this peer takes no part any more; nil: it does
}

// feedBytes bounds the memory of the notices from which followers of a feed may resume: some ten thousand
// notices.
const feedBytes = 8 << 20

// wire is a peer's connection to the others.
type wire struct {
	started   atomic.Pointer[raft.Raft] // p.raft, for what may be asked before it runs
	mux       *raftnet.Mux
	transport *muffled
	server    *call.Server
	client    *call.Client
	raftLog   *hclogSink
	hosts     atomic.Pointer[[]string] // addresses of the members' machines; nil: not known yet
}

// life is what ends with the peer.
type life struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // goroutines that use raft
	watch  context.CancelFunc
	watchd sync.WaitGroup
	end    sync.Once
	ended  chan struct{}
	halt   sync.Once
	doom   error // why the peer halted; set before doomed is closed
	doomed chan struct{}

	members chan struct{} // full during a change of the membership
}

// Start starts a peer over its stores. A peer whose stores are new belongs to no cluster: call Bootstrap or
// Join.
func Start(cfg Config) (*Peer, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Self.Folder = cfg.Stores.Folder.FolderID()
	cfg.Tuning = cfg.Tuning.withDefaults(cfg.Tests)
	if cfg.Bind == "" {
		cfg.Bind = cfg.Self.RaftAddress
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Peer{cfg: cfg, log: cfg.Logger.With("peer", cfg.Self.ID), mates: newMates()}
	p.tenure.soft = Soft{Beats: soft.NewBeats(cfg.Clock.Boot), Board: soft.NewBoard(cfg.Clock.Boot), Feed: soft.NewFeed(feedBytes)}
	p.life.ctx, p.life.cancel = context.WithCancel(context.Background())
	p.life.ended, p.life.doomed, p.life.members = make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	p.program = newProgram(cfg.Self, cfg.Stores.Program, cfg.Tuning.LevelHold, cfg.Clock.Wall())
	p.fsm = fsm.New(fsm.Config{
		Halt: p.halt, Logger: p.log, Level: cfg.Self.Level, Apply: cfg.Tests.Apply, GoOn: cfg.Tests.GoOn,
		Applied: p.program.seeing(p.archiveHook()), Told: p.tenure.soft.Feed,
	})
	p.folders = newFolders(cfg.Self.ID, cfg.Stores.Folder, p.fsm)
	if err := open(p); err != nil {
		p.fsm.Close()
		p.life.cancel()
		return nil, err
	}
	return p, nil
}

// open starts the parts from the bottom up: wire, disk watchdog, raft, and the users of raft.
func open(p *Peer) error {
	if err := openWire(p); err != nil {
		return err
	}
	watchCtx, stop := context.WithCancel(context.Background())
	p.life.watch = stop
	stores := p.guardStores(watchCtx)
	notices := make(chan bool, p.cfg.Tests.notices())
	conf := raftConfig(p, notices)
	r, err := newRaft(p, conf, stores)
	if err != nil {
		stop()
		p.life.watchd.Wait()
		closeWire(p)
		return fmt.Errorf("starting raft of peer %s: %w", p.cfg.Self.ID, err)
	}
	p.raft, p.folders.raft = r, r
	p.wire.started.Store(r)
	p.folders.open.Store(p.inCluster())
	if !p.inCluster() {
		p.program.Fresh()
	}
	p.lanes = newLanes(p.cfg.Tuning.InFlight, p.submitEntry, p.entryLanded)
	p.reads = newBatcher(math.MaxInt, atOnce, p.barrier)
	p.renew = newBatcher(maxGathered, p.cfg.Tuning.openFor, p.proposeRenewals)
	p.handleCalls()
	for _, run := range []func(context.Context){
		p.lanes.run, p.reads.run, p.renew.run, p.exchangeReports, p.guardHealth, p.keepArchive,
		p.keepFolders, p.findMembers, p.settle, func(ctx context.Context) { p.program.keep(ctx, p.log, p.caughtUp) },
	} {
		p.life.work.Go(func() { run(p.life.ctx) })
	}
	p.lead(notices)
	return nil
}

// newRaft starts raft. Its stores are under watch by then, and a call that has failed is held back until the
// peer ends; so when the peer halts, the wait for raft ends, too.
func newRaft(p *Peer, conf *raft.Config, s Stores) (*raft.Raft, error) {
	var r *raft.Raft
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done) // also if the goroutine is made to end in a store's call
		r, err = raft.NewRaft(conf, commitTeller{p.fsm, p.tellCommit}, s.Log, s.Stable, s.Snapshots, p.wire.transport)
	}()
	select {
	case <-done:
		if r == nil && err == nil {
			err = p.life.doom
		}
		return r, err
	case <-p.life.doomed:
		go func() {
			if <-done; r != nil {
				_ = r.Shutdown().Error()
			}
		}()
		return nil, p.life.doom
	}
}

func openWire(p *Peer) error {
	network := newMoving(p.cfg.Network, p.cfg.Listed, p.members)
	p.wire.raftLog = newHclogSink(p.log)
	p.wire.server = call.NewServer(p.log)
	mux, err := raftnet.Listen(raftnet.MuxConfig{
		Network: network, Bind: p.cfg.Bind, Advertise: p.cfg.Self.RaftAddress, Calls: p.wire.server.Admit, Member: p.isMember, Logger: p.log,
	})
	if err != nil {
		p.wire.raftLog.close()
		return errors.Join(fmt.Errorf("peer %s cannot listen on %s: %w", p.cfg.Self.ID, p.cfg.Bind, err), p.wire.server.Close())
	}
	p.wire.mux = mux
	p.wire.client = call.NewClient(p.cfg.Self.ID, func(to peer.Server, timeout time.Duration) (net.Conn, error) {
		if to.ID == "" { // whichever peer is at the address
			return raftnet.DialCall(p.cfg.Network, to, timeout)
		}
		return raftnet.DialCall(network, to, timeout)
	})
	conf := raftnet.TransportConfig{Logger: p.wire.raftLog.logger(), Unguarded: p.cfg.Tests.Transport}
	if !p.cfg.Tests.NoChecksums {
		conf.CheckEntry = raftstore.CheckSeal
	}
	if !p.cfg.Tests.AnyFolder {
		conf.Folders = p.folders
	}
	p.wire.transport = &muffled{Transport: raftnet.NewTransport(mux.Raft(), conf)}
	return nil
}

func closeWire(p *Peer) {
	for _, part := range []interface{ Close() error }{p.wire.transport, p.wire.client, p.wire.mux, p.wire.server} {
		if err := part.Close(); err != nil {
			p.log.Debug("cannot close the connections", "err", err)
		}
	}
	p.wire.raftLog.close()
}

// tellCommit has followers told of a commit, if this peer leads.
func (p *Peer) tellCommit(index uint64) {
	if p.leads() && !p.wire.transport.quiet.Load() {
		p.wire.transport.Committed(index)
	}
}

func raftConfig(p *Peer, notices chan bool) *raft.Config {
	t := &p.cfg.Tuning
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(p.cfg.Self.ID)
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = t.Timeouts.Heartbeat, t.Timeouts.Election, t.Timeouts.Lease
	// A follower learns of a commit with the next message; without traffic that is
	// after CommitTimeout.
	c.CommitTimeout = t.CommitTimeout
	c.SnapshotThreshold = raftstore.JitteredThreshold(string(p.cfg.Self.ID), t.SnapshotThreshold)
	c.SnapshotInterval = t.SnapshotInterval
	c.TrailingLogs = t.TrailingLogs
	c.NotifyCh = notices
	c.Logger = p.wire.raftLog.logger()
	return c
}

// halt ends the process by the configured way.
func (p *Peer) halt(reason error) {
	p.life.halt.Do(func() {
		p.life.doom = reason
		close(p.life.doomed)
	})
	p.cfg.Halt(reason)
}

// State returns the newest state that this peer has applied; it may be behind the cluster's.
func (p *Peer) State() state.State { return p.fsm.State() }

// Changed returns a channel that is closed once one of the topics has changed after the index, as far as this
// peer knows.
func (p *Peer) Changed(topics model.TopicSet, after uint64) <-chan struct{} {
	return p.fsm.Changed(topics, after)
}

// Leader returns the leader as far as this peer knows, empty while none is known, and whether that is this
// peer. It may be called often: it costs next to nothing, where Status gathers much.
func (p *Peer) Leader() (leader peer.Server, self bool) {
	address, id := p.raft.LeaderWithID()
	return peer.Server{ID: model.PeerID(id), Address: string(address)}, roleOf(p.raft.State()) == peer.RoleLeader
}

// LeaderChanges returns a channel that receives after each change of what Leader returns, until the peer ends. Changes that
// come before the last one was received count as one.
func (p *Peer) LeaderChanges() <-chan struct{} {
	changed := make(chan struct{}, 1)
	// Raft would wait for a full channel, or drop what does not fit, so its observer only has a filter, which never waits.
	p.raft.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.RaftState:
			select {
			case changed <- struct{}{}:
			default:
			}
		}
		return false
	}))
	return changed
}

// Status returns the peer's status.
func (p *Peer) Status() peer.Status {
	address, id := p.raft.LeaderWithID()
	t := p.wire.transport
	s := peer.Status{
		ID: p.cfg.Self.ID, Cluster: p.mates.cluster(p.cfg.Cluster), Role: roleOf(p.raft.State()), Term: p.raft.CurrentTerm(),
		Leader: peer.Server{ID: model.PeerID(id), Address: string(address)}, Last: p.raft.LastIndex(), Committed: p.raft.CommitIndex(),
		Applied: p.fsm.State().Index, Passes: p.tenure.sum(), Leading: p.tenure.leading(p.cfg.Clock.Boot()),
		Defects:   peer.Defects{Commands: p.fsm.Panics(), Decisions: p.tenure.wrong.Load(), States: p.fsm.Broken()},
		Delivered: p.tenure.told.Delivered.Load(), Undelivered: p.tenure.told.Failed.Load(), Lag: p.Lag(),
		Messages: peer.Messages{Busy: t.BusyAnswers(), Malformed: t.Malformed(), Foreign: t.Refused()},
	}
	if why := p.waiting.Load(); why != nil {
		s.Waiting = *why
	}
	if why := p.Apart(); why != "" {
		s.Waiting = why
	}
	if f := p.raft.GetConfiguration(); f.Error() == nil {
		list := f.Configuration().Servers
		s.Servers, s.Silence = servers(list), silence(p, list)
		s.Up = p.up(s.Servers)
	}
	if s.Role != peer.RoleLeader {
		if last := p.raft.LastContact(); id == "" && !last.IsZero() {
			s.Leaderless = time.Since(last)
		}
	}
	return s
}

// members returns the members as Raft's configuration has them; none before Raft has started.
func (p *Peer) members() []peer.Server {
	r := p.wire.started.Load()
	if r == nil {
		return nil
	}
	f := r.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return servers(f.Configuration().Servers)
}

// StandApart notes why this peer takes no part in its cluster any more, such as a certificate that the others refuse; empty: it takes part.
// It then accepts no user commands, and [Status].Waiting has the reason.
func (p *Peer) StandApart(why string) {
	if why == "" {
		p.apart.Store(nil)
	} else {
		p.apart.Store(&why)
	}
}

// Apart returns why this peer takes no part in its cluster any more; empty: it does.
func (p *Peer) Apart() string {
	if why := p.apart.Load(); why != nil {
		return *why
	}
	return ""
}

func roleOf(s raft.RaftState) peer.Role {
	switch s {
	case raft.Leader:
		return peer.RoleLeader
	case raft.Candidate:
		return peer.RoleCandidate
	case raft.Follower:
		return peer.RoleFollower
	case raft.Shutdown:
	}
	return peer.RoleStopped
}

func servers(list []raft.Server) (out []peer.Server) {
	for _, s := range list {
		out = append(out, peer.Server{ID: model.PeerID(s.ID), Address: string(s.Address)})
	}
	return out
}

// Shutdown leaves gracefully: the peer refuses further proposals, hands leadership over if it has it, and
// ends. The context bounds the hand-over.
func (p *Peer) Shutdown(ctx context.Context) error {
	var err error
	if p.raft.State() == raft.Leader {
		err = p.Transfer(ctx, "")
	}
	p.saveCommitted()
	p.Kill()
	return err
}

// Kill ends the peer at once, as far as others can observe, and all its goroutines.
func (p *Peer) Kill() {
	p.life.end.Do(func() {
		p.lanes.close()
		p.wire.raftLog.hush()
		p.wire.transport.silence(true)
		p.life.cancel()
		p.life.work.Wait()
		p.life.watch() // first: this releases raft's calls to a store that has failed
		p.life.watchd.Wait()
		if err := p.raft.Shutdown().Error(); err != nil {
			p.log.Debug("cannot shut raft down", "err", err)
		}
		closeWire(p)
		p.fsm.Close()
		close(p.life.ended)
	})
	<-p.life.ended
}
