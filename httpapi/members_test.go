package httpapi

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// secured is a follower of a site whose agents must prove their nodes, at an address.
type secured struct {
	*site

	own     *trust.Material
	address string
}

// revokedIn returns the certificates that a state refuses, as a peer does.
func revokedIn(o *one) trust.Revoked {
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

// newKeyring returns the keyring of a peer p2 that has founded a cluster, with its certificate and what connections use.
func newKeyring(t *testing.T, s *one) (*issue.Keyring, *trust.Material, *trust.Credentials) {
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

func newSecured(t *testing.T, s *site, at forward.Leader) *secured {
	t.Helper()
	authority, own, credentials := newKeyring(t, s.one)
	peer := &follower{s.one, at}
	tails, err := soft.OpenTails(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	port := newWired(t, "p2")
	api := New(core.Config{
		Self: "p2", Version: "test", Dial: (&net.Dialer{}).DialContext, Now: func() time.Time { return s.now() }, Prove: issue.ByCertificate(credentials),
		Authority: authority, Probe: trust.Probe, Judge: credentials.Judge,
		Peer: core.Peer{
			Proposer: peer, Reader: peer, Members: peer, Tails: tails, Beats: peer, Answers: port.answers, Calls: port.calls,
			Telemetry: soft.NewBoard(func() time.Duration { return 0 }),
		},
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
	return &secured{&site{s.one, t, api, "http://" + plain.Addr().String(), port, nil, new(atomic.Int64)}, own, plain.Addr().String()}
}

// agentOf returns the client of an agent with the certificate of a member; nil: without one.
func (s *secured) agentOf(m *trust.Material) *client.Agent {
	s.t.Helper()
	o := client.Options{Addresses: []string{s.address}}
	if m != nil {
		credentials, err := trust.NewCredentials(m, time.Now, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		o.Dial = func(ctx context.Context, _, address string) (net.Conn, error) {
			return trust.Dial(ctx, nil, address, credentials.Client())
		}
	}
	a, err := client.NewAgent(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(a.Close)
	return a
}

func (s *secured) member(role trust.Role, name string) *trust.Material {
	s.t.Helper()
	m, err := s.own.Certify(trust.Member{Role: role, Name: name}, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

func codeOf(err error) string {
	if p, is := errors.AsType[*wire.Problem](err); is {
		return p.Code
	}
	return ""
}

// An agent acts for the node of its certificate and for no other, through a leader and through a follower; a certificate of
// another role and none at all are refused, whether or not users must authenticate.
func TestAgentsProveTheirNode(t *testing.T) {
	t.Parallel()
	lead := newSecured(t, newSite(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	for name, s := range map[string]*secured{"leader": lead, "follower": newSecured(t, lead.site, forward.Leader{ID: "p1", Address: lead.wired.address})} {
		register := func(m *trust.Material, node model.NodeID) error {
			q := registration()
			q.Node, q.Machine, q.Lineage = node, string(node), string(node)
			_, err := s.agentOf(m).Register(t.Context(), q)
			return err
		}
		one := model.NodeID("one-by-" + name)
		own := s.member(trust.RoleNode, string(one))
		if err := register(own, one); err != nil {
			t.Errorf("%s: the node itself: %v", name, err)
		}
		if err := register(own, "other"); codeOf(err) != model.CodeDenied.String() {
			t.Errorf("%s: another node: %v", name, err)
		}
		if err := register(s.member(trust.RolePeer, string(one)), one); codeOf(err) != wire.CodeUnauthenticated {
			t.Errorf("%s: a peer: %v", name, err)
		}
		if err := register(nil, one); codeOf(err) != wire.CodeUnauthenticated {
			t.Errorf("%s: without a certificate: %v", name, err)
		}
		state := lead.State()
		if _, found := state.Nodes.Get("other"); found {
			t.Errorf("%s: another node was registered", name)
		}
	}
}

// A header cannot take the place of a certificate, nor can a token of the role agent.
func TestNoHeaderIsACertificate(t *testing.T) {
	t.Parallel()
	s := newSecured(t, newSite(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	for _, header := range []string{"X-Berth-Node", "X-Berth-Forwarded", "X-Forwarded-Client-Cert", "X-Ssl-Client-Cert", "Ssl-Client-Verify"} {
		s.do(http.MethodPost, agentwire.PathSilence, "", header, "n1").problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
	s.do(http.MethodPost, agentwire.PathSilence, "", "Authorization", "Bearer berth_x").problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	if got := s.do(http.MethodGet, "/queue", ""); got.status != http.StatusOK {
		t.Errorf("other paths on loopback: %d", got.status)
	}
}

// An agent gets another certificate for the node of its present one, whatever it asks for.
func TestAnAgentsCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	s := newSecured(t, newSite(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	request := newRequest(t)
	agent := s.agentOf(s.member(trust.RoleNode, "n1"))
	answer, err := agent.Certify(t.Context(), &agentwire.Certify{Request: request, Life: 1000 * time.Hour * 24})
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(answer.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	i, err := trust.ParseIdentity(c.URIs[0])
	if err != nil || i.Name != "n1" || i.Role != trust.RoleNode || trust.LifeOf(c) > trust.Life {
		t.Errorf("%+v for %s, %v", i, trust.LifeOf(c), err)
	}
	if _, err := agent.Certify(t.Context(), &agentwire.Certify{Request: []byte("x")}); codeOf(err) != wire.CodeInvalid {
		t.Errorf("a request that is none: %v", err)
	}
	if _, err := s.agentOf(nil).Certify(t.Context(), &agentwire.Certify{Request: request}); codeOf(err) != wire.CodeUnauthenticated {
		t.Errorf("without a certificate: %v", err)
	}
}

// The agent of a node gets the texts of what is to run on that node, for as long as it is, and of nothing else.
func TestTextsAreForTheNodesOfTheirJob(t *testing.T) {
	t.Parallel()
	s := newSecured(t, newSite(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	one, other := s.agentOf(s.member(trust.RoleNode, "n1")), s.agentOf(s.member(trust.RoleNode, "n2"))
	var attempt model.AttemptKey
	before := s.State()
	s.with(func(c *statetest.Cluster) {
		c.Node("n1", 1)
		job := c.Submit(1, func(b *command.Submit) { b.Script, b.Env, b.Stdin = "#!/bin/sh\n", []string{"A=1"}, "aGVsbG8=" })
		attempt = c.Place(job)
		c.Node("n2", 1)
	})
	st := s.State()
	texts := st.Desired("n1").Ranks[0]
	current := s.api.Peer.Reader
	s.api.Peer.Reader = &catchingUp{behind{s.one, before}} // the agent has its plan from a peer that is ahead of this one
	if _, err := one.Blob(t.Context(), texts.Script); err != nil {
		t.Errorf("by a peer that lags behind: %v", err)
	}
	s.api.Peer.Reader = current
	for what, hash := range map[string]model.Hash{"script": texts.Script, "environment": texts.Env, "input": texts.Stdin} {
		if hash.IsZero() {
			t.Fatalf("the job has no %s", what)
		}
		if _, err := one.Blob(t.Context(), hash); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := other.Blob(t.Context(), hash); codeOf(err) != wire.CodeNotFound {
			t.Errorf("%s, for another node: %v", what, err)
		}
	}
	s.with(func(c *statetest.Cluster) {
		c.Start(attempt)
		c.Exit(attempt, 0)
	})
	if _, err := one.Blob(t.Context(), texts.Script); codeOf(err) != wire.CodeNotFound {
		t.Errorf("after the end of the job: %v", err)
	}
}
