package members_test

import (
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// An agent acts for the node of its certificate and for no other, through a leader and through a follower; a certificate of
// another role and none at all are refused, whether or not users must authenticate.
func TestAgentsProveTheirNode(t *testing.T) {
	t.Parallel()
	lead := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	for name, s := range map[string]*apitest.Secured{
		"leader":   lead,
		"follower": apitest.NewSecured(t, lead.Site, forward.Leader{ID: "p1", Address: lead.Wired.Address}),
	} {
		register := func(m *trust.Material, node model.NodeID) error {
			q := apitest.Registration()
			q.Node, q.Machine, q.Lineage = node, string(node), string(node)
			_, err := s.AgentOf(m).Register(t.Context(), q)
			return err
		}
		one := model.NodeID("one-by-" + name)
		own := s.Member(trust.RoleNode, string(one))
		if err := register(own, one); err != nil {
			t.Errorf("%s: the node itself: %v", name, err)
		}
		if err := register(own, "other"); apitest.CodeOf(err) != model.CodeDenied.String() {
			t.Errorf("%s: another node: %v", name, err)
		}
		if err := register(s.Member(trust.RolePeer, string(one)), one); apitest.CodeOf(err) != wire.CodeUnauthenticated {
			t.Errorf("%s: a peer: %v", name, err)
		}
		if err := register(nil, one); apitest.CodeOf(err) != wire.CodeUnauthenticated {
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
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	for _, header := range []string{"X-Berth-Node", "X-Berth-Forwarded", "X-Forwarded-Client-Cert", "X-Ssl-Client-Cert", "Ssl-Client-Verify"} {
		s.Do(http.MethodPost, agentwire.PathSilence, "", header, "n1").Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
	s.Do(http.MethodPost, agentwire.PathSilence, "", "Authorization", "Bearer berth_x").Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	if got := s.Do(http.MethodGet, "/queue", ""); got.Status != http.StatusOK {
		t.Errorf("other paths on loopback: %d", got.Status)
	}
}

// An agent gets another certificate for the node of its present one, whatever it asks for.
func TestAnAgentsCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	request := newRequest(t)
	agent := s.AgentOf(s.Member(trust.RoleNode, "n1"))
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
	if _, err := agent.Certify(t.Context(), &agentwire.Certify{Request: []byte("x")}); apitest.CodeOf(err) != wire.CodeInvalid {
		t.Errorf("a request that is none: %v", err)
	}
	if _, err := s.AgentOf(nil).Certify(t.Context(), &agentwire.Certify{Request: request}); apitest.CodeOf(err) != wire.CodeUnauthenticated {
		t.Errorf("without a certificate: %v", err)
	}
}

// The agent of a node gets the texts of what is to run on that node, for as long as it is, and of nothing else.
func TestTextsAreForTheNodesOfTheirJob(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p2", Self: true, Address: "127.0.0.1:1"})
	one, other := s.AgentOf(s.Member(trust.RoleNode, "n1")), s.AgentOf(s.Member(trust.RoleNode, "n2"))
	var attempt model.AttemptKey
	before := s.State()
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 1)
		job := c.Submit(1, func(b *command.Submit) { b.Script, b.Env, b.Stdin = "#!/bin/sh\n", []string{"A=1"}, "aGVsbG8=" })
		attempt = c.Place(job)
		c.Node("n2", 1)
	})
	st := s.State()
	texts := st.Desired("n1").Ranks[0]
	current := s.API.Peer.Reader
	// the agent has its plan from a peer that is ahead of this one
	s.API.Peer.Reader = &apitest.CatchingUp{Behind: apitest.Behind{Peer: s.Peer, Old: before}}
	if _, err := one.Blob(t.Context(), texts.Script); err != nil {
		t.Errorf("by a peer that lags behind: %v", err)
	}
	s.API.Peer.Reader = current
	for what, hash := range map[string]model.Hash{"script": texts.Script, "environment": texts.Env, "input": texts.Stdin} {
		if hash.IsZero() {
			t.Fatalf("the job has no %s", what)
		}
		if _, err := one.Blob(t.Context(), hash); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := other.Blob(t.Context(), hash); apitest.CodeOf(err) != wire.CodeNotFound {
			t.Errorf("%s, for another node: %v", what, err)
		}
	}
	s.With(func(c *statetest.Cluster) {
		c.Start(attempt)
		c.Exit(attempt, 0)
	})
	if _, err := one.Blob(t.Context(), texts.Script); apitest.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("after the end of the job: %v", err)
	}
}
