package sim

import (
	"context"
	"errors"
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

// lookEvery is how often a peer looks who leads: not as often as berth server does,
// since this is much of what a quiet minute costs.
const lookEvery = 20 * time.Millisecond

// plug is a peer as its API sees it, as in berth server; and what breaks rules
// there, for tests of the tests.
type plug struct {
	machine *peer
	peer    *cluster.Peer
	view    atomic.Pointer[view]
}

// view is who leads, until the context ends.
type view struct {
	leader forward.Leader
	until  context.Context
	end    context.CancelFunc
}

func newPlug(machine *peer, p *cluster.Peer) *plug {
	v := &plug{machine: machine, peer: p}
	v.look()
	return v
}

// watch follows who leads until the context ends.
func (p *plug) watch(ctx context.Context) {
	for sleep(ctx, lookEvery) {
		p.look()
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
	now = p.pretend(now)
	old := p.view.Load()
	if old != nil && old.leader == now {
		return
	}
	next := &view{leader: now}
	next.until, next.end = context.WithCancel(context.Background())
	p.view.Store(next)
	if old != nil {
		old.end()
	}
}

// pretend is whom a peer that breaks a rule takes for the leader.
func (p *plug) pretend(l forward.Leader) forward.Leader {
	if p.machine.grants.Load() {
		l.ID, l.Self = model.PeerID(p.machine.name), true
	}
	if p.machine.w.Twists.StalePolls && l.ID == "" {
		l.ID = "somebody"
	}
	return l
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
	return httpapi.Standing{ID: st.ID, Role: string(st.Role), Term: st.Term, Leader: st.Leader.ID, Leaderless: st.Leaderless}
}

// State is the peer's newest state.
func (p *plug) State() state.State { return p.peer.State() }

// Changed tells of changes.
func (p *plug) Changed(topics model.TopicSet, after uint64) <-chan struct{} {
	return p.peer.Changed(topics, after)
}

// Read is a state as new as asked for.
func (p *plug) Read(ctx context.Context, c httpapi.Consistency) (state.State, error) {
	level := map[httpapi.Consistency]cluster.Consistency{
		httpapi.Default: cluster.Default, httpapi.Stale: cluster.Stale, httpapi.Linearizable: cluster.Linearizable,
	}[c]
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

// Renew renews a lease; a peer that breaks the rule grants it from memory.
func (p *plug) Renew(ctx context.Context, r command.Renewal) (model.Code, error) {
	if p.machine.grants.Load() {
		return model.CodeOK, nil
	}
	code, err := p.peer.Renew(ctx, r)
	return code, faultOf(err)
}

// faultOf gives the peer's errors the API's codes. What is no error of the peer's
// leaves the outcome unknown.
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
	}
	return &httpapi.Fault{Code: code, Err: err}
}
