package fleet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/port"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// probeLimit bounds the time of a request for another peer's progress.
const probeLimit = time.Second

// peers lists the cluster's peers, and reports whether this one can serve.
type peers struct{ api *core.API }

func (a peers) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("peers", http.MethodGet, "/cluster/peers", "Every peer, as the answering one sees it"), a.list)
	core.Handle(a.api, doc, core.Op("healthz", http.MethodGet, "/healthz", "This peer's process is alive"),
		func(context.Context, *struct{}) (*core.Answer[wire.Health], error) {
			h := a.health()
			return &core.Answer[wire.Health]{Index: a.api.Peer.Members.Standing().Applied, Body: &h}, nil
		})
	core.Handle(a.api, doc, core.Op("readyz", http.MethodGet, "/readyz", "This peer can serve: it knows a leader, is up to date and is not shutting down"), a.ready)
}

func (a peers) health() wire.Health {
	st := a.api.Peer.Members.Standing()
	return wire.Health{Status: "ok", Peer: string(st.ID), Role: st.Role, Leader: string(st.Leader)}
}

// ready fails while requests should go to another peer.
func (a peers) ready(ctx context.Context, _ *struct{}) (*core.Answer[wire.Health], error) {
	h := a.health()
	if a.api.Ending() {
		return nil, problem.Refuse(wire.CodeBehind, "this peer is shutting down")
	}
	st := a.api.Peer.Members.Standing()
	switch {
	case st.Waiting != "":
		return nil, problem.Refuse(wire.CodeNoLeader, st.Waiting)
	case h.Leader == "":
		return nil, problem.Usual(wire.CodeNoLeader)
	case st.Behind != "":
		return nil, problem.Refuse(wire.CodeBehind, st.Behind)
	}
	s, err := a.api.Fresh(ctx, port.Default)
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
	st := a.api.Peer.Members.Standing()
	out := &wire.Peers{
		Cluster: st.Cluster, Term: st.Term, Leader: string(st.Leader), ClocksDisagree: !st.ClocksAgree,
		Peers: make([]wire.Peer, len(st.Servers)),
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var probes sync.WaitGroup
	for i, server := range st.Servers {
		probes.Go(func() { out.Peers[i] = a.one(ctx, &s, &st, server) })
	}
	probes.Wait()
	return &core.Answer[wire.Peers]{Index: s.Index, Body: out}, nil
}

func (a peers) one(ctx context.Context, s *state.State, st *port.Standing, server model.Peer) wire.Peer {
	known, _ := s.Peers.Get(server.ID)
	out := wire.Peer{
		Name: string(server.ID), Address: known.APIAddress, RaftAddress: server.RaftAddress, Role: "follower",
		Version: known.Version, Self: server.ID == st.ID,
	}
	if server.ID == st.Leader {
		out.Role = "leader"
	}
	if ahead, heard := st.ClockAhead[server.ID]; heard {
		seconds := ahead.Round(time.Millisecond).Seconds()
		out.ClockOffset = &seconds
	}
	if out.Self {
		out.Reachable, out.AppliedIndex = true, st.Applied
		return out
	}
	index, err := a.probe(ctx, known)
	out.Reachable, out.AppliedIndex = err == nil, index
	return out
}

var errAnother = errors.New("another peer answers there")

// probe asks a peer for its progress.
func (a peers) probe(ctx context.Context, peer model.Peer) (index uint64, err error) {
	if peer.APIAddress == "" {
		return 0, errors.New("its address is not known")
	}
	r, err := core.NewRequest(ctx, http.MethodGet, peer.APIAddress, "/healthz", nil)
	if err != nil {
		return 0, err
	}
	got, err := a.api.Out.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = got.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(got.Body, core.MaxPeerAnswer))
	if err != nil {
		return 0, err
	}
	if !bytes.Contains(data, []byte(`"peer":`+strconv.Quote(string(peer.ID)))) {
		return 0, errAnother
	}
	return strconv.ParseUint(got.Header.Get(wire.HeaderIndex), 10, 64)
}
