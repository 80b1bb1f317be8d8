package members

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// maxSkew is how much the clock of a machine that joins may differ from the leader's. Certificates and leases rely on
// clocks that agree about as well as NTP has them agree.
const maxSkew = 30 * time.Second

// probeLimit bounds the connection back to a machine that joins.
const probeLimit = 1500 * time.Millisecond // less than a follower waits for the leader's answer

// join issues the certificate of a machine with a join token, and records it. Everything that can be wrong is found
// before the token is spent.
func (m members) join(ctx context.Context, _ *core.BodyInput, body *wire.Join) (*core.Answer[wire.Joined], error) {
	authority, err := m.authority()
	if err != nil {
		return nil, err
	}
	s, err := m.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	member, err := m.admit(ctx, &s, body)
	if err != nil {
		return nil, err
	}
	if err := m.probe(ctx, body); err != nil {
		return nil, err
	}
	signed, err := authority.Certify(trust.Member{Role: trust.Role(body.Role), Name: body.Name, Names: namesFor(&s, member, body)},
		body.Request)
	if err != nil {
		return nil, problem.Invalid("request", err.Error())
	}
	leaf, err := x509.ParseCertificate(signed.Certificate)
	if err != nil {
		return nil, err
	}
	record := issue.Record(member, leaf, signed.Revision)
	record.Token, record.Renewal = auth.HashOf(body.Token), body.Renew
	// Without the key of the request, which is no other command when it is sent again: token and key of the machine make it the same.
	_, index, err := m.api.ProposeAs(ctx, "token:"+auth.ID(record.Token), "", record)
	if err != nil {
		return nil, err
	}
	m.api.Log.Info("member_joined", "member", member.String(), "serial", record.Serial, "address", body.Address, "from", core.SenderOf(ctx))
	cluster, _ := authority.About()
	out := &wire.Joined{
		Success: true, Cluster: cluster, Certificate: signed.Certificate, Authorities: string(signed.Authorities), Link: signed.Link,
		Revision: signed.Revision, Peers: peersOf(&s),
	}
	if out.Keys, err = trust.MarshalKeys(signed.Keys); err != nil {
		return nil, err
	}
	return &core.Answer[wire.Joined]{Index: index, Body: out}, nil
}

// namesFor returns the host names and addresses for the certificate of a member: those that an admin has put into the token, and
// the host at which the probe has found the machine, or at which the other peers have it. What a machine says of itself is no
// proof: its certificate would be good for the name of any server. A node gets none.
func namesFor(s *state.State, member membership.Member, body *wire.Join) (names []string) {
	if member.Role != model.RolePeer {
		return nil
	}
	address := body.Address
	if known, found := s.Peers.Get(model.PeerID(member.Name)); found && address == "" { // it renews
		address = known.RaftAddress
	}
	if host, _, err := model.SplitHostPort(address); err == nil {
		names = append(names, host)
	}
	if token, found := s.Tokens.Get(auth.HashOf(body.Token)); found && token.Hosts != "" {
		names = append(names, strings.Split(token.Hosts, ",")...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// admit returns the member that a machine would be, or why the machine may not join. A token that was used for this member already
// is accepted: the command finds out whether this is the same machine.
func (m members) admit(ctx context.Context, s *state.State, body *wire.Join) (member membership.Member, err error) {
	role, err := tokenRole(trust.Role(body.Role))
	if err != nil {
		return member, err
	}
	member = membership.Member{Role: role, Name: body.Name}
	if !model.Name(body.Name) {
		return member, model.WantName("name", body.Name)
	}
	now := m.api.Config.Now()
	if skew := body.Time.Sub(now); skew < -maxSkew || skew > maxSkew {
		return member, problem.Invalid("time", fmt.Sprintf("is %s at the machine that joins and %s at peer %s, more than %s apart: correct the clock that is wrong",
			body.Time.UTC().Format(time.DateTime), now.UTC().Format(time.DateTime), m.api.Config.Self, maxSkew))
	}
	hash := auth.HashOf(body.Token)
	token, found := s.Tokens.Get(hash)
	if known, again := s.Certificates.Get(member); !found && again && known.Token == hash {
		return member, nil
	}
	if !found || token.Role != role || !token.Good(m.api.Now(s)) {
		return member, problem.Denied("the join token is unknown, was used already, was revoked or has expired: each is good for one machine; make another with berth token join")
	}
	if token.User != "" && token.User != body.Name {
		return member, problem.Denied(fmt.Sprintf("the join token is for %s, not for %s: use that name, or make a token for this one with berth token join", membership.Member{Role: role, Name: token.User}, member))
	}
	from, err := netip.ParseAddr(core.SenderOf(ctx))
	if network, bound := netip.ParsePrefix(token.Network); bound == nil && (err != nil || !network.Contains(from.Unmap())) {
		return member, problem.Denied(fmt.Sprintf("the join token is for machines in the network %s, and the request came from %q: join from there, or make another token", token.Network, core.SenderOf(ctx)))
	}
	return member, nil
}

// probe connects to the address under which a machine will listen: an address that the others cannot reach must not
// become that of a member.
func (m members) probe(ctx context.Context, body *wire.Join) error {
	if body.Address == "" || m.api.Config.Probe == nil {
		return nil
	}
	if err := model.CheckHostPort(body.Address); err != nil {
		return problem.Invalid("address", err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	if err := m.api.Config.Probe(ctx, body.Address, body.Proof); err != nil {
		return problem.Invalid("address", fmt.Sprintf("%s does not lead from peer %s to the machine that joins: %v; open the port in firewalls, or name another address with --advertise",
			body.Address, m.api.Config.Self, err))
	}
	return nil
}

// peersOf returns the addresses of all peers.
func peersOf(s *state.State) []wire.PeerAddress {
	out := []wire.PeerAddress{}
	for _, p := range s.Peers.All() {
		out = append(out, wire.PeerAddress{ID: string(p.ID), API: p.APIAddress, Raft: p.RaftAddress})
	}
	return out
}
