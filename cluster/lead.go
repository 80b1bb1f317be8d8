package cluster

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/leader"
	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/cluster/votes"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// lead reads raft's notices of leadership and runs the leader's work while this peer leads.
//
// Raft's main goroutine waits until a notice is received; a slow reader stops it, which deadlocked others
// (hashicorp/nomad#6977) and opens the window of hashicorp/raft#695. So one goroutine does nothing but
// receive notices, and another acts on the newest.
func (p *Peer) lead(notices <-chan bool) {
	n := &notice{poke: make(chan struct{}, 1)}
	p.life.work.Go(func() {
		for {
			select {
			case leads := <-notices:
				if p.cfg.Tests.SlowNotice != nil {
					p.cfg.Tests.SlowNotice()
				}
				p.tenure.turn.Store(int64(p.cfg.Clock.Boot()))
				p.tenure.leads.Store(leads)
				n.set(leads)
			case <-p.life.ctx.Done():
				p.tenure.leads.Store(false)
				return
			}
		}
	})
	p.life.work.Go(func() { p.followNotices(n) })
}

// notice holds the newest notice and the number of notices: a leadership that was lost and won again is
// another one.
type notice struct {
	mu    sync.Mutex
	leads bool
	poke  chan struct{}
}

func (n *notice) set(leads bool) {
	n.mu.Lock()
	n.leads = leads
	n.mu.Unlock()
	select {
	case n.poke <- struct{}{}:
	default:
	}
}

func (n *notice) get() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leads
}

// followNotices starts the leader's work when leadership is won and ends it at any change; one leadership's
// work ends before the next starts.
func (p *Peer) followNotices(n *notice) {
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case <-n.poke:
		case <-p.life.ctx.Done():
			return
		}
		stop()
		stop = func() {}
		if !n.get() {
			p.log.Info("lost leadership")
			continue
		}
		p.log.Info("gained leadership", "term", p.raft.CurrentTerm())
		p.tenure.begin()
		ctx, cancel := context.WithCancel(p.life.ctx)
		var work sync.WaitGroup
		work.Go(func() { p.leadUntil(ctx) })
		stop = func() { cancel(); work.Wait() }
	}
}

// leadUntil does a leader's work until the context ends. If part of it fails while this peer still leads, it
// starts again.
func (p *Peer) leadUntil(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { p.promoteUntil(ctx) })
	defer work.Wait()
	for ctx.Err() == nil {
		err := p.beginTerm(ctx)
		if err == nil {
			err = p.decide(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		p.log.Warn("leader's work failed, restarting it", "err", err)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// decide runs the deciders, and delivers notifications, until the context ends.
func (p *Peer) decide(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	if p.cfg.Tuning.Webhooks != nil {
		work.Go(func() {
			notify.Run(ctx, notify.Config{
				Peer: leading{p}, Actor: actor(p), Wall: p.cfg.Clock.Wall, Send: p.cfg.Tuning.Webhooks.Send,
				Random: func() uint32 { return mathrand.Uint32N(1001) }, Log: p.log, Counts: &p.tenure.told, //nolint:gosec // spreads retries, guards nothing
			})
		})
	}
	return leader.Run(ctx, p.leaderConfig())
}

func (p *Peer) promoteUntil(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var memory votes.Memory
	for {
		select {
		case <-tick.C:
			memory = p.promoteVoters(memory)
		case <-ctx.Done():
			return
		}
	}
}

// Soft returns this peer's data outside the log.
func (p *Peer) Soft() Soft { return p.tenure.soft }

// beginTerm waits until this leader's state holds everything committed before its term, and founds the state of a
// new cluster.
func (p *Peer) beginTerm(ctx context.Context) error {
	if _, err := p.reads.wait(ctx, struct{}{}); err != nil {
		return err
	}
	s := p.State()
	if set := s.Settings(); !set.Incarnation.IsZero() {
		return nil
	}
	b, err := founding(p.cfg.Tuning.Founding, p.mates.foundingLevel(ctx, p.cfg.Self, func() []peer.Server { return p.Status().Servers }))
	if err != nil {
		return err
	}
	c, err := command.New(actor(p), b)
	if err != nil {
		return err
	}
	results, _, err := p.Propose(ctx, c)
	if err == nil && !results[0].OK() && results[0].Code != model.CodeBootstrapped {
		err = errors.New(results[0].Detail)
	}
	return err
}

// Programs returns what this peer knows of all peers' programs.
func (p *Peer) Programs() upgrade.Cluster {
	s, st, now := p.State(), p.Status(), p.cfg.Clock.Boot()
	self := upgrade.Peer{
		ID: p.cfg.Self.ID, Level: p.cfg.Self.Level, Version: p.cfg.Self.Version, Heard: true, CaughtUp: st.Lag.CaughtUp(),
		Began: p.program.Began(),
	}
	p.program.Report().Show(&self)
	set := s.Settings()
	return upgrade.Cluster{
		Level: set.Level, Now: max(set.Clock, model.TimeOf(p.cfg.Clock.Wall())), Leading: p.tenure.leading(now),
		Peers: p.mates.programs(&s, &st, self, now),
	}
}

func (p *Peer) leaderConfig() leader.Config {
	return leader.Config{
		ID: p.cfg.Self.ID, Peer: leading{p}, Clock: p.cfg.Clock, Log: p.log,
		Liveness: liveness.Config{StartDeadline: p.cfg.Tuning.StartDeadline, Hinted: p.cfg.Tuning.Hinted},
		Clocks: func() (model.Time, bool) {
			at, _, ok := p.agreedTime()
			return at, ok
		},
		Members:  p.membersInState,
		Programs: p.Programs,
		Wake:     p.mates.changed,
		Archived: p.archivedByMost,
		Beats:    p.tenure.soft.Beats,
		Use:      leader.Use{Unused: p.tenure.soft.Board.Unused, Busy: p.tenure.soft.Board.Busy},
		Report:   leader.Report{Passed: p.tenure.passed, Defects: func() { p.tenure.wrong.Add(1) }},
	}
}

// membersInState returns the peers of the configuration as they last described themselves: in the last exchange, or
// in the state if they are silent.
func (p *Peer) membersInState() []model.Peer {
	list := p.Status().Servers
	known := map[model.PeerID]model.Peer{p.cfg.Self.ID: p.cfg.Self}
	for _, v := range p.mates.of(list, p.cfg.Clock.Boot()) {
		known[v.hello.Peer.ID] = v.hello.Peer
	}
	s := p.State()
	out := make([]model.Peer, 0, len(list))
	for _, m := range list {
		member, found := known[m.ID]
		if !found {
			member, found = s.Peers.Get(m.ID)
		}
		if found {
			out = append(out, member)
		}
	}
	for _, joiner := range p.mates.expected() {
		if indexOf(list, joiner.ID) < 0 {
			out = append(out, joiner)
		}
	}
	return out
}

// leading is the leader's work's view of its peer.
type leading struct{ p *Peer }

func (l leading) Barrier(ctx context.Context) error {
	_, err := l.p.reads.wait(ctx, struct{}{})
	return err
}

func (l leading) Propose(ctx context.Context, commands ...command.Command) ([]command.Result, error) {
	results, _, err := l.p.Propose(ctx, commands...)
	return results, err
}

func (l leading) State() state.State { return l.p.State() }

func (l leading) Changed(topics model.TopicSet, after uint64) <-chan struct{} {
	return l.p.Changed(topics, after)
}
