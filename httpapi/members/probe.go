package members

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// Bounds of probes.
const (
	portLimit    = 2 * time.Second // for one port
	reachLimit   = 4 * time.Second // for all that one peer does
	probesAtOnce = 8               // at one peer; the next are refused
)

// reachAsk asks a peer to connect to a member. It names the member and never an address: each peer takes the addresses from its own state.
type reachAsk struct {
	Role trust.Role `cbor:"1,keyasint"`
	Name string     `cbor:"2,keyasint"`
}

// reached is what the peer has found.
type reached struct {
	Time    time.Time `cbor:"1,keyasint"`
	Version string    `cbor:"2,keyasint,omitempty"`
	Level   uint32    `cbor:"3,keyasint,omitempty"`
	Gossip  string    `cbor:"4,keyasint,omitempty"`
	Hears   string    `cbor:"5,keyasint,omitempty"`
	Ports   []port    `cbor:"6,keyasint,omitempty"`
}

// port is a [wire.ProbePort].
type port struct {
	Port    string `cbor:"1,keyasint"`
	Network string `cbor:"2,keyasint"`
	Address string `cbor:"3,keyasint"`
	Result  string `cbor:"4,keyasint"`
	Detail  string `cbor:"5,keyasint,omitempty"`
}

// reach is the call for it. A peer of an older version does not know it, and counts as one that has not answered.
var reach = call.Define[reachAsk, reached](call.Forward, "reach-member")

// probeRoute adds the path by which members and operators find out whether peers reach a member.
func (m members) probeRoute(doc huma.API) {
	core.AnswerCall(m.api, reach, func(ctx context.Context, _ model.PeerID, q *reachAsk) (*reached, error) { return m.reach(ctx, q) })
	o := core.Example(core.Op("probe-member", http.MethodPost, "/cluster/probe", "Have every peer connect to a member"), `{"role":"node","name":"n1"}`)
	o.Description = "Each peer connects to the addresses that the cluster has of the member, its gossip included. Agents may name their own node only. Nothing is changed."
	o.Metadata = map[string]any{core.AnsweredHere: true}
	core.HandleMaybeBody(m.api, doc, o, m.probeMember)
}

// probeInput is the input of POST /cluster/probe.
type probeInput struct{ core.Raw }

// probeMember asks every peer.
func (m members) probeMember(ctx context.Context, _ *probeInput, body *wire.Probe) (*core.Answer[wire.Probed], error) {
	s := m.api.State()
	q, err := probedMember(ctx, &s, body)
	if err != nil {
		return nil, err
	}
	select {
	case m.probing <- struct{}{}:
		defer func() { <-m.probing }()
	default:
		return nil, problem.Refuse(wire.CodeOverloaded, "this peer connects to other members already: try again in some seconds")
	}
	st := m.api.Peer.Members.Status()
	out := &wire.Probed{
		Member: wire.Member{Role: string(q.Role), Name: q.Name}, AnsweredBy: string(m.api.Config.Self),
		Peers: make([]wire.ProbePeer, len(st.Servers)),
	}
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	var all sync.WaitGroup
	for i, server := range st.Servers {
		all.Go(func() { out.Peers[i] = m.askReach(ctx, &s, server, q) })
	}
	all.Wait()
	return &core.Answer[wire.Probed]{Index: s.Index, Body: out}, nil
}

// probedMember returns the member that a request is about.
func probedMember(ctx context.Context, s *state.State, body *wire.Probe) (*reachAsk, error) {
	q := &reachAsk{Role: trust.Role(body.Role), Name: body.Name}
	if c := auth.From(ctx); c.Kind == auth.Node {
		own := reachAsk{Role: trust.RoleNode, Name: c.Name}
		if given := (reachAsk{}); *q != given && *q != own {
			return nil, problem.Denied("an agent may have peers connect to its own node only, which is " + c.Name)
		}
		q = &own
	}
	if _, err := tokenRole(q.Role); err != nil {
		return nil, err
	}
	known := s.Nodes.Has(model.NodeID(q.Name))
	if q.Role == trust.RolePeer {
		known = s.Peers.Has(model.PeerID(q.Name))
	}
	if !known {
		return nil, problem.Refuse(wire.CodeNotFound, fmt.Sprintf("there is no %s %q: berth peers and berth nodes list all", q.Role, model.Clip(q.Name)))
	}
	return q, nil
}

// askReach has one peer connect to the member.
func (m members) askReach(ctx context.Context, s *state.State, server peer.Server, q *reachAsk) wire.ProbePeer {
	known, _ := s.Peers.Get(server.ID)
	out := wire.ProbePeer{Peer: string(server.ID), API: known.APIAddress, Raft: server.Address, Ports: []wire.ProbePort{}}
	got, err := (*reached)(nil), error(nil)
	if server.ID == m.api.Config.Self {
		got, err = m.reach(ctx, q)
	} else {
		got, err = core.AskPeer(ctx, m.api, server, reach, q)
	}
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Asked, out.Time, out.Version, out.Level, out.Gossip, out.Hears = true, got.Time, got.Version, got.Level, got.Gossip, got.Hears
	for _, p := range got.Ports {
		out.Ports = append(out.Ports, wire.ProbePort(p))
	}
	return out
}

// reach connects to a member from this peer.
func (m members) reach(ctx context.Context, q *reachAsk) (*reached, error) {
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	s, c := m.api.State(), &m.api.Config
	out := &reached{Time: c.Now(), Version: c.Version, Level: command.Level}
	if c.Reach != nil {
		out.Gossip, _ = c.Reach(ctx, trust.RolePeer, string(c.Self)) // its own address
	}
	if c.Gossip != nil {
		out.Hears = c.Gossip(q.Role, q.Name)
	}
	if q.Role == trust.RolePeer && q.Name == string(c.Self) {
		return out, nil
	}
	out.Ports = m.recorded(&s, q)
	var all sync.WaitGroup
	for i := range out.Ports {
		all.Go(func() { m.knock(ctx, &out.Ports[i]) })
	}
	var gossip []port
	all.Go(func() { gossip = m.knockGossip(ctx, q) })
	all.Wait()
	out.Ports = append(out.Ports, gossip...)
	return out, nil
}

// recorded returns the ports of a member, as the state has them.
func (m members) recorded(s *state.State, q *reachAsk) []port {
	if q.Role == trust.RoleNode {
		n, _ := s.Nodes.Get(model.NodeID(q.Name))
		return []port{{Port: "agent", Network: "tcp", Address: n.Address}}
	}
	p, _ := s.Peers.Get(model.PeerID(q.Name))
	raft := p.RaftAddress
	for _, server := range m.api.Peer.Members.Status().Servers {
		if server.ID == p.ID {
			raft = server.Address
		}
	}
	return []port{{Port: "raft", Network: "tcp", Address: raft}, {Port: "api", Network: "tcp", Address: p.APIAddress}}
}

// knock connects to a port, and to an agent as a peer does, so that another program in its place is noticed.
func (m members) knock(ctx context.Context, p *port) {
	if p.Address == "" {
		p.Result, p.Detail = wire.PortFailed, "the cluster has no address of it"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, portLimit)
	defer cancel()
	dial := (&net.Dialer{}).DialContext
	if p.Port == "agent" && m.api.Config.Dial != nil {
		dial = m.api.Config.Dial
	}
	conn, err := dial(ctx, "tcp", p.Address)
	if err == nil {
		_ = conn.Close()
	}
	p.Result, p.Detail = judgeDial(err)
}

// knockGossip connects to the gossip of a member. Without gossip here, or if it does not know the member, there is nothing to try.
func (m members) knockGossip(ctx context.Context, q *reachAsk) []port {
	if m.api.Config.Reach == nil {
		return nil
	}
	address, err := m.api.Config.Reach(ctx, q.Role, q.Name)
	if address == "" {
		return nil
	}
	p := port{Port: wire.PortGossip, Network: "tcp", Address: address}
	p.Result, p.Detail = judgeDial(err)
	return []port{p}
}

// judgeDial returns what the result of a connection means.
func judgeDial(err error) (result, detail string) {
	timeout, is := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return wire.PortAnswers, ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return wire.PortRefused, "nothing listens there"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), is && timeout.Timeout():
		return wire.PortNoAnswer, ""
	}
	return wire.PortFailed, err.Error()
}
