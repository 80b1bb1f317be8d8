// Package simtrust gives the peers and agents of a simulated cluster certificates, so that they connect over TLS by the rules
// of package trust, as across machines.
package simtrust

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/test/sim/simnet"
	"github.com/berth-gpu/berth/trust"
)

// Certificates are those of one cluster's members. With nil, connections are in plain text.
type Certificates struct {
	mu      sync.Mutex
	founder *trust.Material               // of the present generation
	members map[string]*trust.Credentials // by machine
}

// New makes an authority.
func New() *Certificates {
	return &Certificates{founder: must(trust.Found(trust.Member{Name: "founder"}, time.Now())), members: map[string]*trust.Credentials{}}
}

// must returns a value; an error, which only a defect can cause here, ends the program.
//
//berth:halt
func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("simtrust: %v", err))
	}
	return value
}

// of returns what a machine presents and accepts, from its first connection on.
func (c *Certificates) of(machine string, role trust.Role, name string) *trust.Credentials {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members[machine] == nil {
		m := must(c.founder.Certify(trust.Member{Role: role, Name: name}, time.Now()))
		c.members[machine] = must(trust.NewCredentials(m, time.Now, nil))
	}
	return c.members[machine]
}

// Raise has a machine's next connections, and the certificates of later members, be of the next generation.
func (c *Certificates) Raise(machine string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	higher := *c.founder
	higher.Generation++
	c.founder = &higher
	delete(c.members, machine)
}

// network is that between peers.
type network struct {
	trust.Network

	host *simnet.Host
}

// Listen accepts connections of peers of the same cluster and generation.
func (n network) Listen(address string) (net.Listener, error) {
	l, err := n.host.Listen(address)
	if err != nil {
		return nil, err
	}
	return n.Credentials.Listen(l), nil
}

// Network returns the network by which a peer reaches the others. open dials from its machine.
func (c *Certificates) Network(peer string, host *simnet.Host, open trust.Dialer) raftnet.Network {
	if c == nil {
		return host
	}
	return network{trust.Network{Credentials: c.of(peer, trust.RolePeer, peer), Open: open}, host}
}

// Front returns the listener of a peer's API: members show certificates, users come in plain text.
func (c *Certificates) Front(peer string, l net.Listener) net.Listener {
	if c == nil {
		return l
	}
	own := c.of(peer, trust.RolePeer, peer)
	return &trust.Listener{Listener: l, Config: own.Server(trust.DemandMember), Plain: true, Former: own.Former}
}

// Led returns what an agent calls whenever its cluster has accepted it. A node that has been accepted lately follows no recovery.
func (c *Certificates) Led(machine, node string) func() {
	if c == nil {
		return nil
	}
	return c.of(machine, trust.RoleNode, node).Led
}

// Dialer returns how an agent connects to peers. open dials from its machine.
func (c *Certificates) Dialer(machine, node string, open trust.Dialer) trust.Dialer {
	if c == nil {
		return open
	}
	own := c.of(machine, trust.RoleNode, node)
	return func(ctx context.Context, _, address string) (net.Conn, error) { return own.Dial(ctx, open, address) }
}
