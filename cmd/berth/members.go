package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
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

// keepRenewed renews the certificate of a data folder until the context ends.
func keepRenewed(ctx context.Context, data string, c *trust.Credentials, sign trust.Sign, log *slog.Logger) {
	r := &trust.Renewal{Dir: filepath.Join(data, trust.Subfolder), Credentials: c, Sign: sign, Now: now, Log: log}
	r.Run(ctx)
}

// ownSign issues the certificates of a peer itself, which has the key of the authority.
func ownSign(data string) trust.Sign {
	return func(_ context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
		m, err := trust.Load(filepath.Join(data, trust.Subfolder))
		if err != nil {
			return nil, err
		}
		own, err := m.Identity()
		if err != nil {
			return nil, err
		}
		return m.SignFor(trust.Member{Role: own.Role, Name: own.Name, Names: trust.NamesOf(m.Certificate), Life: life}, request, now())
	}
}

// authority issues certificates at a peer, by the key in its data folder.
type authority struct {
	dir string // of keys and certificates
	own *trust.Credentials
}

// Cluster returns the id of the cluster.
func (a authority) Cluster() string { return a.own.Own().Cluster }

// Pin returns the hash of the authority's key.
func (a authority) Pin() trust.Pin { return a.own.Pin() }

// Certify issues the certificate of a member.
func (a authority) Certify(m trust.Member, request []byte) (*trust.Signed, error) {
	known, err := trust.Load(a.dir)
	if err != nil {
		return nil, err
	}
	if m.Life == 0 { // of a machine that joins: as that of this peer
		m.Life = trust.LifeOf(known.Certificate)
	}
	return known.SignFor(m, request, now())
}

// Key returns the authority's private key.
func (a authority) Key() ([]byte, error) {
	known, err := trust.Load(a.dir)
	if err != nil {
		return nil, err
	}
	return x509.MarshalPKCS8PrivateKey(known.Authority)
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

// askSign asks peers for the certificates of an agent.
func askSign(calls *client.Agent) trust.Sign {
	return func(ctx context.Context, request []byte, life time.Duration) (*trust.Signed, error) {
		answer, err := calls.Certify(ctx, &agentwire.Certify{Request: request, Life: life})
		if err != nil {
			return nil, err
		}
		return &trust.Signed{Certificate: answer.Certificate, Authorities: answer.Authorities, Gossip: answer.Gossip}, nil
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
