// Package plug joins a peer and its HTTP API: it adapts the peer to the interfaces of the API.
// Neither imports the other; the program and the simulator, which run both, put this package
// between them.
package plug

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/port"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Config holds the parts of a plug.
type Config struct {
	Peer *cluster.Peer
	Log  *slog.Logger
	// Look is how often the peer is asked for the leader. It is what a change of leaders costs
	// waiting requests at most, in addition to the election. 0: 5 ms.
	Look time.Duration
	// Pretend changes the leader that the API sees. It is for tests of the tests; nil: no change.
	Pretend func(forward.Leader) forward.Leader
}

// Plug is a peer in the form that the API needs.
type Plug struct {
	Config

	view atomic.Pointer[leaderView]
}

// leaderView is the leader, until the context ends.
type leaderView struct {
	leader forward.Leader
	until  context.Context
	end    context.CancelFunc
}

const lookEvery = 5 * time.Millisecond

// New returns a plug for a peer. Run Watch for as long as the API serves.
func New(c Config) *Plug {
	if c.Look == 0 {
		c.Look = lookEvery
	}
	p := &Plug{Config: c}
	p.look()
	return p
}

// Watch follows the leadership until the context ends.
func (p *Plug) Watch(ctx context.Context) {
	tick := time.NewTicker(p.Look)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.look()
		case <-ctx.Done():
			return
		}
	}
}

// look ends the former view if it no longer holds.
func (p *Plug) look() {
	id, self := p.Peer.Leader()
	now := forward.Leader{ID: id, Self: self}
	if now.ID != "" {
		s := p.Peer.State()
		known, _ := s.Peers.Get(now.ID)
		now.Address = known.APIAddress
	}
	if p.Pretend != nil {
		now = p.Pretend(now)
	}
	old := p.view.Load()
	if old != nil && old.leader == now {
		return
	}
	next := &leaderView{leader: now}
	next.until, next.end = context.WithCancel(context.Background())
	p.view.Store(next)
	if old != nil {
		old.end()
	}
	if !now.Self && now.ID != "" && (old == nil || old.leader.ID != now.ID) {
		p.Log.Info("this peer follows", "leader", now.ID, "term", p.Peer.Status().Term)
	}
}

// Leader returns the leader.
func (p *Plug) Leader() (forward.Leader, context.Context) {
	v := p.view.Load()
	return v.leader, v.until
}

// Saw makes later reads at least as new as the index.
func (p *Plug) Saw(index uint64) { p.Peer.Saw(index) }

// Standing returns the status of the peer.
func (p *Plug) Standing() port.Standing {
	st := p.Peer.Status()
	out := port.Standing{
		ID: st.ID, Cluster: st.Cluster, Role: string(st.Role), Term: st.Term, Leader: st.Leader.ID, Last: st.Last,
		Committed: st.Committed, Applied: st.Applied, Leaderless: st.Leaderless, Passes: st.Passes.Count, PassesTook: st.Passes.Took,
		Delivered: st.Delivered, Undelivered: st.Undelivered, Skipped: st.Defects.Commands, Undecided: st.Defects.Decisions, Broken: st.Defects.States,
	}
	clocks := p.Peer.Clocks()
	out.ClockAhead, out.ClocksAgree = clocks.Ahead, clocks.Agree
	out.Silent, out.Voters = st.Silence.For, st.Silence.Voters
	out.Waiting, out.Behind = st.Waiting, st.Lag.Why()
	for _, s := range st.Servers {
		out.Servers = append(out.Servers, model.Peer{ID: s.ID, RaftAddress: s.Address})
	}
	return out
}

// State returns the peer's newest state.
func (p *Plug) State() state.State { return p.Peer.State() }

// Changed returns a channel that is closed at the next change.
func (p *Plug) Changed(topics model.TopicSet, after uint64) <-chan struct{} {
	return p.Peer.Changed(topics, after)
}

// Read returns a state as new as required.
func (p *Plug) Read(ctx context.Context, c port.Consistency) (state.State, error) {
	level := peer.Default
	switch c {
	case port.Default:
	case port.Stale:
		level = peer.Stale
	case port.Linearizable:
		level = peer.Linearizable
	}
	s, err := p.Peer.Read(ctx, level, 0)
	if err != nil && !errors.Is(err, peer.ErrNoLeader) {
		return s, &problem.Fault{Code: wire.CodeBehind, Err: err}
	}
	return s, faultOf(err)
}

// Propose carries out commands.
func (p *Plug) Propose(ctx context.Context, commands ...command.Command) ([]command.Result, uint64, error) {
	results, index, err := p.Peer.Propose(ctx, commands...)
	return results, index, faultOf(err)
}

// Renew renews a lease.
func (p *Plug) Renew(ctx context.Context, r command.Renewal, urgent bool) (model.Code, error) {
	code, err := p.Peer.Renew(ctx, r, urgent)
	return code, faultOf(err)
}

// Hear records contact of an attached job's client.
func (p *Plug) Hear(job model.JobID) { p.Peer.Soft().Beats.Hear(job) }

// faultOf converts the peer's errors to the API's codes. Any other error, such as the end of a
// context, leaves the outcome unknown.
func faultOf(err error) error {
	if err == nil {
		return nil
	}
	code := wire.CodeOutcomeUnknown
	_, elsewhere := errors.AsType[*peer.NotLeaderError](err)
	switch {
	case errors.Is(err, peer.ErrOutcomeUnknown):
	case elsewhere, errors.Is(err, peer.ErrNoLeader), errors.Is(err, peer.ErrClosed):
		code = wire.CodeNoLeader
	case errors.Is(err, peer.ErrOverloaded):
		code = wire.CodeOverloaded
	case errors.Is(err, peer.ErrNoSpace):
		code = wire.CodeNoSpace
	case errors.Is(err, peer.ErrDiverged):
		code = wire.CodeDiverged
	case errors.Is(err, peer.ErrBehind):
		code = wire.CodeBehind
	case errors.Is(err, command.ErrTooLarge):
		return err
	}
	return &problem.Fault{Code: code, Err: err}
}
