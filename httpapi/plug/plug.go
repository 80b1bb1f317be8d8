// Package plug joins a peer and its HTTP API: it adapts the peer to the interfaces of the API.
// Neither imports the other; the program and the simulator, which run both, put this package
// between them.
package plug

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Config holds the parts of a plug.
type Config struct {
	Peer *cluster.Peer
	Log  *slog.Logger
	// Pretend changes the leader that the API sees, whenever that is read. It is for tests of the tests; nil: no change.
	Pretend func(forward.Leader) forward.Leader
}

// Plug is a peer in the form that the API needs: it follows the leadership, and its errors are the API's.
type Plug struct {
	*cluster.Peer

	config  Config
	changes <-chan struct{}
	view    atomic.Pointer[leaderView]
}

// leaderView is the leader, until the context ends.
type leaderView struct {
	leader forward.Leader
	until  context.Context
	end    context.CancelFunc
}

// New returns a plug for a peer. Run Watch for as long as the API serves.
func New(c Config) *Plug {
	p := &Plug{Peer: c.Peer, config: c, changes: c.Peer.LeaderChanges()}
	p.look() // after the channel is there, so that no change is missed
	return p
}

// Watch follows the leadership until the context ends.
func (p *Plug) Watch(ctx context.Context) {
	for {
		select {
		case <-p.changes:
			p.look()
		case <-ctx.Done():
			return
		}
	}
}

// look ends the former view if it no longer holds.
func (p *Plug) look() {
	leader, self := p.Peer.Leader()
	now := forward.Leader{ID: leader.ID, Self: self, Address: leader.Address}
	if p.config.Pretend != nil {
		now = p.config.Pretend(now)
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
		p.config.Log.Info("this peer follows", "leader", now.ID, "term", p.Peer.Status().Term)
	}
}

// Leader returns the leader.
func (p *Plug) Leader() (forward.Leader, context.Context) {
	v := p.view.Load()
	return v.leader, v.until
}

// Read returns a state as new as required.
func (p *Plug) Read(ctx context.Context, c peer.Consistency) (state.State, error) {
	s, err := p.Peer.Read(ctx, c, 0)
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

// Remove removes a peer.
func (p *Plug) Remove(ctx context.Context, id model.PeerID) error {
	return faultOf(p.Peer.Remove(ctx, id))
}

// Promote gives a peer a vote.
func (p *Plug) Promote(ctx context.Context, id model.PeerID) error {
	return faultOf(p.Peer.Promote(ctx, id))
}

// Transfer lets a peer lead; empty: any.
func (p *Plug) Transfer(ctx context.Context, to model.PeerID) error {
	return faultOf(p.Peer.Transfer(ctx, to))
}

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
