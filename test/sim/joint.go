package sim

import (
	"context"
	"log/slog"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/plug"
)

// joint is a peer as its API sees it, as in berth server; and what breaks rules there, for tests of the tests.
type joint struct {
	*plug.Plug

	machine *peer
}

func newJoint(machine *peer, p *cluster.Peer) *joint {
	j := &joint{machine: machine}
	j.Plug = plug.New(plug.Config{Peer: p, Log: slog.New(slog.DiscardHandler), Pretend: j.pretend})
	return j
}

// pretend returns the peer that a peer with a broken rule takes for the leader.
func (j *joint) pretend(l forward.Leader) forward.Leader {
	if j.machine.grants.Load() {
		l.ID, l.Self = model.PeerID(j.machine.name), true
	}
	if j.machine.w.Twists.StalePolls && l.ID == "" {
		l.ID = "somebody"
	}
	return l
}

// Renew renews a lease; a peer that breaks the rule grants it from memory.
func (j *joint) Renew(ctx context.Context, r command.Renewal, urgent bool) (model.Code, error) {
	if j.machine.grants.Load() {
		return model.CodeOK, nil
	}
	return j.Plug.Renew(ctx, r, urgent)
}
