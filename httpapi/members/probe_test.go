package members_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// listener is a TCP port of this machine that accepts connections.
func listener(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// closedPort is a TCP port of this machine that nothing listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// portOf returns what a peer has found at a port.
func portOf(t *testing.T, p *wire.ProbePeer, name, network string) wire.ProbePort {
	t.Helper()
	for _, v := range p.Ports {
		if v.Port == name && v.Network == network {
			return v
		}
	}
	t.Fatalf("peer %s has not tried %s over %s: %+v", p.Peer, name, network, p)
	return wire.ProbePort{}
}

// Every peer connects to a member at the addresses of the state, and says what it has found: a port that answers, one that is
// refused, and gossip that does not answer.
func TestPeersProbeAMember(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p1", Self: true, Address: "127.0.0.1:1"})
	open, closed, gossip := listener(t), closedPort(t), listener(t)
	s.API.Config.Reach = func(_ context.Context, role trust.Role, name string) (string, error) {
		if role == trust.RolePeer && name == "p2" {
			return "127.0.0.1:7002", nil
		}
		return gossip, os.ErrDeadlineExceeded
	}
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 1)
		nodes := c.State.Nodes.Fork()
		n, _ := nodes.Get("n1")
		n.Address = open
		nodes.Put("n1", n)
		c.State.Nodes = nodes.Table()
		c.Do(&command.SetPeer{Peer: model.Peer{ID: "p1", RaftAddress: closed, APIAddress: open, Level: 1}})
		s.First, s.Mate = closed, s.Wired.Address
	})
	calls := client.MembersOf(s.Plain())
	got, err := calls.Probe(t.Context(), &wire.Probe{Role: "node", Name: "n1"})
	if err != nil || got.Name != "n1" || got.AnsweredBy != "p2" || len(got.Peers) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	away, own := &got.Peers[0], &got.Peers[1]
	if away.Peer != "p1" || away.Asked || away.Error == "" {
		t.Errorf("a peer that cannot be asked: %+v", away)
	}
	if !own.Asked || own.Time.IsZero() || own.Version != "test" || own.Level != command.Level || own.Gossip != "127.0.0.1:7002" {
		t.Errorf("the peer itself: %+v", own)
	}
	for _, want := range []wire.ProbePort{
		{Port: "agent", Network: "tcp", Address: open, Result: wire.PortAnswers},
		{Port: "gossip", Network: "tcp", Address: gossip, Result: wire.PortNoAnswer},
	} {
		if found := portOf(t, own, want.Port, want.Network); found != want {
			t.Errorf("%+v, want %+v", found, want)
		}
	}
	if got, err = calls.Probe(t.Context(), &wire.Probe{Role: "peer", Name: "p1"}); err != nil {
		t.Fatal(err)
	}
	if raft := portOf(t, &got.Peers[1], "raft", "tcp"); raft.Result != wire.PortRefused || raft.Address != closed {
		t.Errorf("raft: %+v", raft)
	}
	if api := portOf(t, &got.Peers[1], "api", "tcp"); api.Result != wire.PortAnswers || api.Address != open {
		t.Errorf("api: %+v", api)
	}
}

// Nothing is connected to but members of the cluster, and an agent may ask for its own node only.
func TestProbesAreOfMembers(t *testing.T) {
	t.Parallel()
	s := apitest.NewSecured(t, apitest.New(t), forward.Leader{ID: "p1", Self: true, Address: "127.0.0.1:1"})
	s.With(func(c *statetest.Cluster) { c.Node("n1", 1); c.Node("n2", 1); s.Mate = s.Wired.Address })
	calls := client.MembersOf(s.Plain())
	for _, q := range []wire.Probe{{Role: "node", Name: "n9"}, {Role: "peer", Name: "127.0.0.1:22"}} {
		if _, err := calls.Probe(t.Context(), &q); apitest.CodeOf(err) != wire.CodeNotFound {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, body := range []string{`{"role":"moon","name":"n1"}`, `{"role":"node","name":"n1","address":"127.0.0.1:22"}`, ""} {
		if got := s.Do(http.MethodPost, "/cluster/probe", body); got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
	}
}

// An agent may have its own node probed, and no other; users need to be operators.
func TestAnAgentProbesItsOwnNode(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 1); c.Node("n2", 1) })
	var own wire.Probed
	s.Do(http.MethodPost, "/cluster/probe", "", apitest.As(apitest.AgentOf2)...).Into(&own)
	if own.Role != "node" || own.Name != "n2" {
		t.Errorf("%+v", own)
	}
	s.Do(http.MethodPost, "/cluster/probe", `{"role":"node","name":"n1"}`, apitest.As(apitest.AgentOf2)...).Problem(http.StatusForbidden, model.CodeDenied.String())
	s.Do(http.MethodPost, "/cluster/probe", `{"role":"peer","name":"p1"}`, apitest.As(apitest.AgentOf2)...).Problem(http.StatusForbidden, model.CodeDenied.String())
	s.Do(http.MethodPost, "/cluster/probe", `{"role":"node","name":"n1"}`, apitest.As(apitest.Operator)...).Into(&own)
	if own.Name != "n1" {
		t.Errorf("%+v", own)
	}
	s.Do(http.MethodPost, "/cluster/probe", `{"role":"node","name":"n1"}`, apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, model.CodeDenied.String())
}
