package fleet

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/votes"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// probeLimit bounds the time of a request for another peer's progress.
const probeLimit = time.Second

// peers lists the cluster's peers, and reports whether this one can serve.
type peers struct{ api *core.API }

func (a peers) route(doc huma.API) {
	core.AnswerCall(a.api, progress, a.progress)
	core.Handle(a.api, doc, core.Op("peers", http.MethodGet, "/cluster/peers", "Every peer, as the answering one sees it"), a.list)
	core.Handle(a.api, doc, core.Op("healthz", http.MethodGet, "/healthz", "This peer's process is alive"),
		func(context.Context, *struct{}) (*core.Answer[wire.Health], error) {
			h := a.health()
			return &core.Answer[wire.Health]{Index: a.api.Peer.Members.Status().Applied, Body: &h}, nil
		})
	core.Handle(a.api, doc, core.Op("readyz", http.MethodGet, "/readyz", "This peer can serve: it knows a leader, is up to date and is not shutting down"), a.ready)
}

func (a peers) health() wire.Health {
	st := a.api.Peer.Members.Status()
	return wire.Health{Status: "ok", Peer: string(st.ID), Role: string(st.Role), Leader: string(st.Leader.ID)}
}

// ready fails while requests should go to another peer.
func (a peers) ready(ctx context.Context, _ *struct{}) (*core.Answer[wire.Health], error) {
	h := a.health()
	if a.api.Ending() {
		return nil, problem.Refuse(wire.CodeBehind, "this peer is shutting down")
	}
	st := a.api.Peer.Members.Status()
	switch {
	case st.Waiting != "":
		return nil, problem.Refuse(wire.CodeNoLeader, st.Waiting)
	case h.Leader == "":
		return nil, problem.Usual(wire.CodeNoLeader)
	case !st.Lag.CaughtUp():
		return nil, problem.Refuse(wire.CodeBehind, st.Lag.Why())
	}
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	if s.Settings().Incarnation.IsZero() {
		return nil, problem.Refuse(model.CodeNotBootstrapped.String(), "the cluster has no state yet")
	}
	return &core.Answer[wire.Health]{Index: s.Index, Body: &h}, nil
}

// list asks all peers at once for their progress.
func (a peers) list(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Peers], error) {
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicSettings), nil)
	if err != nil {
		return nil, err
	}
	st, clocks := a.api.Peer.Members.Status(), a.api.Peer.Members.Clocks()
	out := &wire.Peers{
		Cluster: st.Cluster, Term: st.Term, Leader: string(st.Leader.ID), ClocksDisagree: !clocks.Agree,
		Peers: make([]wire.Peer, len(st.Servers)),
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var probes sync.WaitGroup
	for i, server := range st.Servers {
		probes.Go(func() { out.Peers[i] = a.one(ctx, &s, &st, server) })
	}
	probes.Wait()
	out.Voters = len(st.Silence.Voters)
	up := 0
	for _, v := range out.Peers {
		if v.Voter && v.Reachable {
			up++
		}
	}
	out.Tolerates = votes.Tolerates(out.Voters, up)
	for i := range out.Peers {
		if ahead, heard := clocks.Ahead[st.Servers[i].ID]; heard {
			seconds := ahead.Round(time.Millisecond).Seconds()
			out.Peers[i].ClockOffset = &seconds
		}
	}
	return &core.Answer[wire.Peers]{Index: s.Index, Body: out}, nil
}

func (a peers) one(ctx context.Context, s *state.State, st *peer.Status, server peer.Server) wire.Peer {
	known, _ := s.Peers.Get(server.ID)
	out := wire.Peer{
		Name: string(server.ID), Address: known.APIAddress, PublicURL: known.PublicURL, RaftAddress: server.Address, Role: "follower",
		Version: known.Version, Self: server.ID == st.ID, Voter: slices.Contains(st.Silence.Voters, server.ID),
	}
	if a.api.Config.Gossip != nil {
		out.Gossip = a.api.Config.Gossip(trust.RolePeer, out.Name)
	}
	if server.ID == st.Leader.ID {
		out.Role = "leader"
	}
	if out.Self {
		out.Reachable, out.AppliedIndex = true, st.Applied
		return out
	}
	index, err := a.probe(ctx, server)
	out.Reachable, out.AppliedIndex = err == nil, index
	return out
}

var errAnother = errors.New("another peer answers there")

// Progress is how far a peer's state has come.
type Progress struct {
	Peer    model.PeerID `cbor:"1,keyasint"`
	Applied uint64       `cbor:"2,keyasint,omitempty"`
}

// progress is the call for it. A peer answers once its API does.
var progress = call.Define[struct{}, Progress](call.Control, "progress")

func (a peers) progress(context.Context, model.PeerID, *struct{}) (*Progress, error) {
	return &Progress{Peer: a.api.Config.Self, Applied: a.api.Peer.Members.Status().Applied}, nil
}

// probe asks a peer for its progress.
func (a peers) probe(ctx context.Context, server peer.Server) (index uint64, err error) {
	got, err := core.AskPeer(ctx, a.api, server, progress, &struct{}{})
	switch {
	case err != nil:
		return 0, err
	case got.Peer != server.ID:
		return 0, errAnother
	}
	return got.Applied, nil
}
