package main

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/trust"
)

// An agent keeps the highest generation that it has seen of its cluster, also over a restart: it follows a peer of a
// recovered cluster once its own is silent, and from then on refuses those that were left behind.
func TestAnAgentKeepsTheGeneration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certifyPeers(t, dir, "p1")
	first, err := trust.Load(filepath.Join(dir, "p1", trust.Subfolder))
	if err != nil {
		t.Fatal(err)
	}
	node, err := first.Certify(trust.Member{Role: trust.RoleNode, Name: "n1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "n1")
	if err := trust.Save(filepath.Join(data, trust.Subfolder), node); err != nil {
		t.Fatal(err)
	}
	recovered := *first
	recovered.Generation = 2
	second, err := recovered.Certify(trust.Member{Role: trust.RolePeer, Name: "p1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	before, after := secureEcho(t, first), secureEcho(t, second)
	dial := func(address string, silent time.Duration) error {
		var passed time.Duration
		clock := func() time.Time { return time.Now().Add(passed) }
		agent, err := openCredentials(data, trust.RoleNode, "n1", clock, nil) // as after a restart
		if err != nil {
			t.Fatal(err)
		}
		passed = silent
		conn, err := cli.DialTLS(agent.Client())(t.Context(), "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	if err := dial(after, 0); trust.FaultOf(err) != trust.FaultGeneration {
		t.Errorf("a recovered cluster, while the node's own may be there: %v", err)
	}
	if err := errors.Join(dial(before, 0), dial(after, trust.FollowAfter)); err != nil {
		t.Fatal(err)
	}
	if err := dial(before, trust.FollowAfter); trust.FaultOf(err) != trust.FaultGeneration {
		t.Errorf("a peer that was left behind: %v", err)
	}
}

// secureEcho returns the address of a listener with the certificate of a peer.
func secureEcho(t *testing.T, m *trust.Material) string {
	t.Helper()
	c, err := trust.NewCredentials(m, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &trust.Listener{Listener: plain, Config: c.Server(trust.DemandMember)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return plain.Addr().String()
}
