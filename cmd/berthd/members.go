package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/trust"
)

// now is the wall clock by which certificates are checked.
var now = time.Now

// openCredentials returns the credentials of a data folder.
func openCredentials(data string, role trust.Role, name string, revoked trust.Revoked) (*trust.Credentials, error) {
	if info, err := os.Stat(data); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: cannot create the data folder: a file has this name; check that the path is right", data)
	}
	dir := filepath.Join(data, trust.Subfolder)
	c, err := trust.Open(dir, role, name, now, revoked)
	if errors.Is(err, trust.ErrEmpty) {
		return nil, cli.Usage("%s has no certificate: %w", data, err)
	}
	if err == nil && role == trust.RoleNode {
		c.OnGeneration(func(generation uint64) error { return trust.SaveGeneration(dir, generation) })
	}
	return c, err
}

// revocations are the certificates that the cluster refuses, once its state is known.
type revocations struct {
	present atomic.Pointer[func() state.State]
}

// revoked reports whether the certificates of a member that were issued at an instant are refused.
func (r *revocations) revoked(member trust.Identity, issued time.Time) bool {
	present := r.present.Load()
	if present == nil {
		return false
	}
	role := model.RoleAgent
	if member.Role == trust.RolePeer {
		role = model.RolePeer
	}
	s := (*present)()
	known, found := s.Certificates.Get(membership.Member{Role: role, Name: member.Name})
	return found && known.Refuses(model.TimeOf(issued))
}

// admits reports whether the cluster has a member of this name in gossip, which was not revoked. Before the state is known, no member is.
func (r *revocations) admits(name string) bool {
	present := r.present.Load()
	if present == nil {
		return false
	}
	s := (*present)()
	role, id, _ := strings.Cut(name, "/")
	member, known := membership.Member{Role: model.RoleAgent, Name: id}, s.Nodes.Has(model.NodeID(id))
	if trust.Role(role) == trust.RolePeer {
		member.Role, known = model.RolePeer, s.Peers.Has(model.PeerID(id))
	}
	row, found := s.Certificates.Get(member)
	return known && !(found && row.Revoked)
}

// askSign asks peers for the certificates of an agent.
func askSign(calls *client.Agent) trust.Sign {
	return func(ctx context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
		answer, err := calls.Certify(ctx, &agentwire.Certify{Request: request, Life: life})
		if err != nil {
			return nil, err
		}
		return &trust.Signed{
			Certificate: answer.Certificate, Authorities: answer.Authorities, Link: answer.Link, Revision: answer.Revision,
		}, nil
	}
}

// dialPeers returns what connects an agent to peers.
func dialPeers(c *trust.Credentials) cli.Dial {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, cli.HTTPDialLimit)
		defer cancel()
		return c.Dial(ctx, cli.DialPlain, address)
	}
}

// agentDial returns what dials agents: the other side must be a node that has registered with the address.
func agentDial(c *trust.Credentials, present func() state.State) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := cli.DialTLS(c.NodeClient())
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secure, is := conn.(*tls.Conn)
		if !is {
			return nil, errors.Join(errors.New("the connection is not encrypted"), conn.Close())
		}
		state := secure.ConnectionState()
		i, _ := trust.IdentityOf(&state)
		s := present()
		if n, found := s.Nodes.Get(model.NodeID(i.Name)); !found || n.Address != address {
			return nil, errors.Join(fmt.Errorf("at %s is the agent of node %s, which has not registered with this address", address, i.Name), conn.Close())
		}
		return conn, nil
	}
}
