package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// plug is a peer as the HTTP API sees it.
type plug struct {
	peer *cluster.Peer
	log  *slog.Logger
	view atomic.Pointer[leaderView]
}

// leaderView is who leads, until the context ends.
type leaderView struct {
	leader forward.Leader
	until  context.Context
	end    context.CancelFunc
}

// lookEvery is how often a peer looks who leads. It is what a change of leaders
// costs waiting requests at most, beside the election.
const lookEvery = 5 * time.Millisecond

func newPlug(p *cluster.Peer, log *slog.Logger) *plug {
	v := &plug{peer: p, log: log}
	v.look()
	return v
}

// watch follows who leads until the context ends.
func (p *plug) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
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
func (p *plug) look() {
	st := p.peer.Status()
	now := forward.Leader{ID: st.Leader.ID, Self: st.Role == cluster.RoleLeader}
	if now.ID != "" {
		s := p.peer.State()
		known, _ := s.Peers.Get(now.ID)
		now.Address = known.APIAddress
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
		p.log.Info("this peer follows", "leader", now.ID, "term", st.Term)
	}
}

// Leader is who leads.
func (p *plug) Leader() (forward.Leader, context.Context) {
	v := p.view.Load()
	return v.leader, v.until
}

// Saw has later reads be at least as new as the index.
func (p *plug) Saw(index uint64) { p.peer.Saw(index) }

// Standing is how the peer stands.
func (p *plug) Standing() httpapi.Standing {
	st := p.peer.Status()
	out := httpapi.Standing{
		ID: st.ID, Cluster: st.Cluster, Role: string(st.Role), Term: st.Term, Leader: st.Leader.ID, Last: st.Last,
		Committed: st.Committed, Applied: st.Applied, Leaderless: st.Leaderless, Passes: st.Passes.Count, PassesTook: st.Passes.Took,
	}
	for _, s := range st.Servers {
		out.Servers = append(out.Servers, model.Peer{ID: s.ID, RaftAddress: s.Address})
	}
	return out
}

// State is the peer's newest state.
func (p *plug) State() state.State { return p.peer.State() }

// Changed tells of changes.
func (p *plug) Changed(topics model.TopicSet, after uint64) <-chan struct{} {
	return p.peer.Changed(topics, after)
}

// Read is a state as new as asked for.
func (p *plug) Read(ctx context.Context, c httpapi.Consistency) (state.State, error) {
	level := cluster.Default
	switch c {
	case httpapi.Default:
	case httpapi.Stale:
		level = cluster.Stale
	case httpapi.Linearizable:
		level = cluster.Linearizable
	}
	s, err := p.peer.Read(ctx, level, 0)
	if err != nil && !errors.Is(err, cluster.ErrNoLeader) {
		return s, &httpapi.Fault{Code: wire.CodeBehind, Err: err}
	}
	return s, faultOf(err)
}

// Propose has commands carried out.
func (p *plug) Propose(ctx context.Context, commands ...command.Command) ([]command.Result, uint64, error) {
	results, index, err := p.peer.Propose(ctx, commands...)
	return results, index, faultOf(err)
}

// Renew renews a lease.
func (p *plug) Renew(ctx context.Context, r command.Renewal) (model.Code, error) {
	code, err := p.peer.Renew(ctx, r)
	return code, faultOf(err)
}

// faultOf gives the peer's errors the API's codes. What is no error of the peer's,
// such as the end of a context, leaves the outcome unknown.
func faultOf(err error) error {
	if err == nil {
		return nil
	}
	code := wire.CodeOutcomeUnknown
	_, elsewhere := errors.AsType[*cluster.NotLeaderError](err)
	switch {
	case errors.Is(err, cluster.ErrOutcomeUnknown):
	case elsewhere, errors.Is(err, cluster.ErrNoLeader), errors.Is(err, cluster.ErrClosed):
		code = wire.CodeNoLeader
	case errors.Is(err, cluster.ErrOverloaded):
		code = wire.CodeOverloaded
	case errors.Is(err, cluster.ErrNoSpace):
		code = wire.CodeNoSpace
	case errors.Is(err, cluster.ErrDiverged):
		code = wire.CodeDiverged
	case errors.Is(err, cluster.ErrBehind):
		code = wire.CodeBehind
	case errors.Is(err, command.ErrTooLarge):
		return err
	}
	return &httpapi.Fault{Code: code, Err: err}
}
