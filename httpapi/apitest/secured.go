package apitest

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/httpapi"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// Plain is a client on loopback.
func (s *Secured) Plain() *client.Client {
	s.T.Helper()
	c, err := client.New(client.Options{Addresses: []string{s.Address}})
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(c.Close)
	return c
}

// Secured is a follower of a site whose agents must prove their nodes, at an address.
type Secured struct {
	*Site

	Own     *trust.Material
	Address string
}

// revokedIn returns the certificates that a state refuses, as a peer does.
func revokedIn(o *Peer) trust.Revoked {
	return func(i trust.Identity, issued time.Time) bool {
		role := model.RoleAgent
		if i.Role == trust.RolePeer {
			role = model.RolePeer
		}
		s := o.State()
		row, found := s.Certificates.Get(membership.Member{Role: role, Name: i.Name})
		return found && row.Refuses(model.TimeOf(issued))
	}
}

// NewKeyring returns the keyring of a peer p2 that has founded a cluster, with its certificate and what connections use.
func NewKeyring(t *testing.T, s *Peer) (*issue.Keyring, *trust.Material, *trust.Credentials) {
	t.Helper()
	own, err := trust.Found(trust.Member{Name: "p2"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), trust.Subfolder)
	credentials, err := trust.NewCredentials(own, time.Now, revokedIn(s))
	if err := errors.Join(err, trust.Save(dir, own)); err != nil {
		t.Fatal(err)
	}
	present := func() membership.Trust { v := s.State(); return v.Trust() }
	return &issue.Keyring{Dir: dir, Credentials: credentials, Now: time.Now, Present: present}, own, credentials
}

// NewSecured returns a peer p2 that follows a site and asks agents for certificates.
func NewSecured(t *testing.T, s *Site, at forward.Leader) *Secured {
	t.Helper()
	authority, own, credentials := NewKeyring(t, s.Peer)
	peer := &follower{s.Peer, at}
	port := NewWire(t, "p2")
	api := httpapi.New(core.Config{
		Self: "p2", Version: "test", Dial: (&net.Dialer{}).DialContext, Now: func() time.Time { return s.Now() }, Prove: issue.ByCertificate(credentials),
		Authority: authority, Probe: trust.Probe, Judge: credentials.Judge,
		Peer: Parts(t, peer, port),
	})
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- api.Serve(&trust.Listener{Listener: plain, Config: credentials.Server(trust.DemandMember), Plain: true})
	}()
	t.Cleanup(func() {
		if err := errors.Join(api.Shutdown(context.Background()), <-served); err != nil {
			t.Log(err)
		}
	})
	return &Secured{&Site{s.Peer, t, api, endpoint.Origin(plain.Addr().String()), port, nil, new(atomic.Int64)}, own, plain.Addr().String()}
}

// AgentOf returns the client of an agent with the certificate of a member; nil: without one.
func (s *Secured) AgentOf(m *trust.Material) *client.Agent {
	s.T.Helper()
	o := client.Options{Addresses: []string{s.Address}}
	if m != nil {
		credentials, err := trust.NewCredentials(m, time.Now, nil)
		if err != nil {
			s.T.Fatal(err)
		}
		o.Dial = func(ctx context.Context, _, address string) (net.Conn, error) {
			return trust.Dial(ctx, nil, address, credentials.Client())
		}
	}
	a, err := client.NewAgent(o)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(a.Close)
	return a
}

// Member returns what a member with a certificate of the cluster has.
func (s *Secured) Member(role trust.Role, name string) *trust.Material {
	s.T.Helper()
	m, err := s.Own.Certify(trust.Member{Role: role, Name: name}, time.Now())
	if err != nil {
		s.T.Fatal(err)
	}
	return m
}

// CodeOf returns the code of a problem, or "".
func CodeOf(err error) string {
	if p, is := errors.AsType[*wire.Problem](err); is {
		return p.Code
	}
	return ""
}
