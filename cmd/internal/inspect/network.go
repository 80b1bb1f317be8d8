package inspect

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/examine"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// Bounds of what is asked.
const (
	askLimit  = 10 * time.Second // for one answer of the cluster
	mostNodes = 32               // nodes whose connections to a peer are tried
)

// answers are what the cluster and other machines have answered.
type answers struct {
	clocks     []doctor.PeerClock
	reaches    []doctor.Reach
	skipped    []doctor.Finding
	programs   doctor.Programs
	peer       *doctor.PeerState
	refused    string // why the cluster refuses the certificate of this machine
	users      []string
	usersErr   error
	generation uint64 // the highest in a certificate of a peer
	back       bool   // a peer has reached this machine

	mu sync.Mutex
}

// other is a peer, as far as its addresses are known.
type other struct {
	name              string // empty: unknown
	api, raft, gossip string
}

// ask asks the cluster, and tries connections in both directions.
func (m *member) ask(ctx context.Context) *answers {
	seen := &answers{peer: &doctor.PeerState{}, usersErr: errors.New("a node may not list users: run this command with the token of an admin (BERTH_TOKEN and BERTH_ADDRESS, or berth login)")}
	peers := m.back(ctx, seen)
	m.askCluster(ctx, seen)
	var all sync.WaitGroup
	results := make([][]doctor.Reach, len(peers))
	for i := range peers {
		all.Go(func() { results[i] = m.there(ctx, seen, &peers[i]) })
	}
	all.Wait()
	slices.SortFunc(seen.clocks, func(a, b doctor.PeerClock) int { return cmp.Compare(a.Peer, b.Peer) })
	var back []doctor.Reach
	back, seen.reaches = seen.reaches, nil
	for _, r := range results {
		seen.reaches = append(seen.reaches, r...)
	}
	seen.reaches = append(seen.reaches, back...)
	return seen
}

// back has all peers connect to this machine, and returns the peers. Without an answer these are those of the settings.
func (m *member) back(ctx context.Context, seen *answers) (peers []other) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	probed, err := m.probe(ctx, wire.Probe{Role: m.role, Name: m.name})
	if err != nil {
		seen.skipped = append(seen.skipped, doctor.Skip(doctor.CheckPorts, "to this machine", "no peer can be asked to connect to this machine: %v", err))
		return m.settled()
	}
	for i := range probed.Peers {
		p := &probed.Peers[i]
		if m.role == rolePeer && p.Peer == m.name {
			continue
		}
		peers = append(peers, other{name: p.Peer, api: p.API, raft: p.Raft, gossip: p.Gossip})
		if !p.Asked {
			seen.skipped = append(seen.skipped, doctor.Skip(doctor.CheckPorts, "from peer "+p.Peer, "the peer could not be asked to connect to this machine: %s", p.Error))
			continue
		}
		seen.programs.Peers = append(seen.programs.Peers, doctor.Program{Member: "peer " + p.Peer, Version: p.Version})
		for _, v := range p.Ports {
			seen.back = seen.back || v.Result == wire.PortAnswers && v.Network == "tcp"
			seen.reaches = append(seen.reaches,
				doctor.Reach{Other: "peer " + p.Peer, Port: v.Port, Network: v.Network, Address: v.Address, Back: true, Result: v.Result, Detail: v.Detail})
		}
		if listen, _ := m.gossip(); listen != "" && p.Gossip != "" && !triesGossip(p.Ports) {
			seen.skipped = append(seen.skipped, doctor.Skip(doctor.CheckPorts, "from peer "+p.Peer+": gossip", "the gossip of the peer does not know this machine: %s", cmp.Or(p.Hears, "it was never heard there")))
		}
	}
	return peers
}

// triesGossip reports whether the port of gossip is among those that a peer has tried.
func triesGossip(ports []wire.ProbePort) bool {
	return slices.ContainsFunc(ports, func(v wire.ProbePort) bool { return v.Port == wire.PortGossip })
}

// probe asks the cluster to connect to a member.
func (m *member) probe(ctx context.Context, of wire.Probe) (*wire.Probed, error) {
	c, err := m.client()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return client.MembersOf(c).Probe(ctx, &of)
}

// settled returns the peers of the settings: their API for a node, and their port for peers for a peer.
func (m *member) settled() (out []other) {
	if m.role == roleNode {
		for _, a := range m.settings.Agent.Peers {
			out = append(out, other{api: a})
		}
		return out
	}
	for _, f := range m.settings.Server.Bootstrap {
		if id, address, ok := strings.Cut(f, "="); ok && id != m.name {
			out = append(out, other{name: id, raft: address})
		}
	}
	for _, a := range m.settings.Server.Join {
		out = append(out, other{raft: a})
	}
	return out
}

// askCluster reads what the cluster shows: its peers, its versions, and its users where this machine may list them.
func (m *member) askCluster(ctx context.Context, seen *answers) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if m.role == roleNode {
		if c, err := cli.NewConnection(io.Discard).Dial(); err == nil {
			m.askUsers(ctx, c, seen)
		}
		seen.programs.Broken = tooFar(build.Version(), seen.programs.Peers)
		if len(seen.programs.Peers) == 0 {
			seen.programs.Err = errors.New("no peer answers")
		}
		return
	}
	c, err := m.client()
	if err != nil {
		seen.peer.Err, seen.programs.Err = err, err
		return
	}
	defer c.Close()
	m.askPeers(ctx, c, seen)
	up, err := client.MembersOf(c).Upgrade(ctx)
	if err != nil {
		seen.programs.Err = err
	} else {
		seen.programs.Broken, seen.programs.Level, seen.programs.Newest, seen.programs.Peers = up.Broken, up.Level, up.Newest, nil
		for i := range up.Members {
			v := &up.Members[i]
			seen.programs.Peers = append(seen.programs.Peers, doctor.Program{Member: v.Role + " " + v.Name, Version: v.Version})
		}
	}
	m.nodes(ctx, c, seen)
}

// tooFar names peers whose programs are too far from that of an agent.
func tooFar(own string, peers []doctor.Program) (out []string) {
	for _, p := range peers {
		if minors, known := upgrade.Apart(own, p.Version); known && minors > upgrade.AgentsApart {
			out = append(out, fmt.Sprintf("%s runs %s and this program is %s: agents and peers may be %d minor releases apart", p.Member, p.Version, own, upgrade.AgentsApart))
		}
	}
	return out
}

// askPeers reads the state of the peers.
func (m *member) askPeers(ctx context.Context, c *client.Client, seen *answers) {
	list, err := c.Peers(ctx)
	if err != nil {
		seen.peer.Err, seen.peer.Apart = err, apart(err)
		if last := LastEnd(m.data); last != nil && !m.daemon.runs() {
			seen.peer.Ended, seen.peer.Removed = last.At.Local().Format(time.DateTime)+": "+last.Why, last.Code == cmdline.ExitRemoved
		}
		return
	}
	p := seen.peer
	p.Leader, p.Voters, p.Tolerates, p.Standstill = list.Leader, list.Voters, list.Tolerates, list.Standstill
	p.Peers = len(list.Peers)
	if nodes, err := c.Nodes(ctx); err == nil {
		for i := range nodes.Nodes {
			if n := &nodes.Nodes[i]; n.Health == wire.HealthTwoAgents {
				p.TwoAgents = append(p.TwoAgents, "node "+n.ID+": "+n.Reason)
			}
		}
	}
	for i := range list.Peers {
		v := &list.Peers[i]
		if !v.Reachable {
			p.Unreachable = append(p.Unreachable, v.Name)
		}
		if v.Self {
			p.BackupEvery, p.BackupFailure = time.Duration(v.BackupEvery*float64(time.Second)), v.BackupFailure
			if v.BackupAge != nil {
				p.BackupAge = time.Duration(*v.BackupAge * float64(time.Second))
			}
		} else if v.BackupEvery > 0 {
			p.OthersBackUp = true
		}
	}
}

// apart returns why the peer of this machine takes no part in its cluster, if it has answered that.
func apart(err error) string {
	if p, is := errors.AsType[*wire.Problem](err); is && p.Code == wire.CodeNoLeader && p.Detail != problem.Usual(wire.CodeNoLeader).Detail {
		return p.Detail
	}
	return ""
}

// askUsers reads the users of the cluster.
func (m *member) askUsers(ctx context.Context, c *client.Client, seen *answers) {
	defer c.Close()
	list, err := client.PeopleOf(c).Users(ctx)
	if err != nil {
		if _, answered := errors.AsType[*wire.Problem](err); answered { // no answer: this machine has no settings of a user
			seen.usersErr = fmt.Errorf("%w: %w", seen.usersErr, err)
		}
		return
	}
	seen.usersErr = nil
	for _, u := range list.Users {
		seen.users = append(seen.users, u.Name)
	}
}

// nodes tries the connections of this peer to nodes, which the peer itself makes.
func (m *member) nodes(ctx context.Context, c *client.Client, seen *answers) {
	list, err := c.Nodes(ctx)
	if err != nil {
		return // that the peer does not answer is a finding already
	}
	many := list.Nodes[:min(len(list.Nodes), mostNodes)]
	if n := len(list.Nodes) - len(many); n > 0 {
		seen.skipped = append(seen.skipped, doctor.Skip(doctor.CheckPorts, "to nodes", "connections to %d of %d nodes are not tried: run this command on those nodes", n, len(list.Nodes)))
	}
	results, turns := make([][]doctor.Reach, len(many)), make(chan struct{}, 4)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			results[i] = m.toNode(ctx, c, many[i].ID)
		})
	}
	all.Wait()
	for _, r := range results {
		seen.reaches = append(seen.reaches, r...)
	}
}

// toNode returns how this peer reaches a node.
func (m *member) toNode(ctx context.Context, c *client.Client, id string) (out []doctor.Reach) {
	probed, err := client.MembersOf(c).Probe(ctx, &wire.Probe{Role: roleNode, Name: id})
	if err != nil {
		return []doctor.Reach{{Other: "node " + id, Port: "agent", Network: "tcp", Address: "its address", Result: doctor.Failed, Detail: err.Error()}}
	}
	for i := range probed.Peers {
		if probed.Peers[i].Peer != m.name {
			continue
		}
		for _, v := range probed.Peers[i].Ports {
			out = append(out, doctor.Reach{Other: "node " + id, Port: v.Port, Network: v.Network, Address: v.Address, Result: v.Result, Detail: v.Detail})
		}
	}
	return out
}

// there tries all ports of a peer that this machine needs.
func (m *member) there(ctx context.Context, seen *answers, p *other) (out []doctor.Reach) {
	of := "peer " + cmp.Or(p.name, p.api, p.raft)
	add := func(port, network, address string, err error) {
		result, detail := examine.Judge(err)
		out = append(out, doctor.Reach{Other: of, Port: port, Network: network, Address: address, Result: result, Detail: detail})
	}
	if p.api != "" && m.keys != nil {
		clock, version, err := m.greet(ctx, seen, p.api)
		add("api", "tcp", p.api, err)
		if err == nil {
			clock.Peer = strings.TrimPrefix(of, "peer ")
			seen.mu.Lock()
			seen.clocks = append(seen.clocks, clock)
			if p.name == "" {
				seen.programs.Peers = append(seen.programs.Peers, doctor.Program{Member: of, Version: version})
			}
			seen.mu.Unlock()
		}
	}
	m.askStanding(ctx, seen, p)
	knock := func(port, at string) {
		conn, err := m.dial(ctx, "tcp", at)
		if err == nil {
			_ = conn.Close()
		}
		add(port, "tcp", at, err)
	}
	if p.raft != "" && m.role == rolePeer && m.keys != nil {
		knock("raft", p.raft)
	}
	if at := m.gossipOf(p); at != "" && m.keys != nil {
		knock("gossip", at)
	}
	return out
}

// askStanding asks a peer why the cluster refuses the certificate of this machine: a handshake does not say that.
func (m *member) askStanding(ctx context.Context, seen *answers, p *other) {
	api := p.api
	if host, _, err := net.SplitHostPort(p.raft); api == "" && err == nil { // the port of the API is mostly the same on all machines
		_, port, _ := net.SplitHostPort(m.peers()[0])
		api = net.JoinHostPort(host, port)
	}
	if api == "" || m.keys == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cli.HTTPDialLimit)
	defer cancel()
	answer, err := examine.Standing(ctx, m.keys, api)
	if err != nil {
		return // that a port does not answer is a finding already
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	seen.refused = cmp.Or(seen.refused, answer.Message)
}

// gossipOf returns where the gossip of a peer is: as the peer says, or at its host and the port that this machine uses, as members
// are looked for at their start. Empty: the peer runs none, or this machine takes no part.
func (m *member) gossipOf(p *other) string {
	listen, _ := m.gossip()
	if listen == "" || p.gossip != "" {
		return p.gossip
	}
	host, _, err := net.SplitHostPort(cmp.Or(p.raft, p.api))
	_, port, bad := net.SplitHostPort(listen)
	if err != nil || bad != nil {
		return ""
	}
	return net.JoinHostPort(host, port)
}

// greet asks the API of a peer for its clock and its version, and notes the generation of the peer's certificate.
func (m *member) greet(ctx context.Context, seen *answers, address string) (doctor.PeerClock, string, error) {
	return examine.Greet(ctx, func(ctx context.Context, network, at string) (net.Conn, error) {
		conn, err := m.dial(ctx, network, at)
		if refused, is := errors.AsType[*trust.RefusedError](err); is && refused.Fault == trust.FaultGeneration {
			seen.mu.Lock()
			seen.generation = max(seen.generation, refused.Generation)
			seen.mu.Unlock()
		}
		if secure, is := conn.(*tls.Conn); is && err == nil {
			state := secure.ConnectionState()
			i, _ := trust.IdentityOf(&state)
			seen.mu.Lock()
			seen.generation = max(seen.generation, i.Generation)
			seen.mu.Unlock()
		}
		return conn, err
	}, address)
}
