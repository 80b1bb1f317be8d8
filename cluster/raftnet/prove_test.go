package raftnet_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm/model"
)

// proving is a network in which the other side of each connection has proven an id.
type proving struct {
	raftnet.TCP

	mu sync.Mutex
	id string
}

func (p *proving) Proven(net.Conn) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}

func (p *proving) prove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id = id
}

// A caller is the peer that it has proven to be: another claim, and no proof, end the connection. A peer that dials
// refuses another one at the address.
func TestAClaimMustBeProven(t *testing.T) {
	t.Parallel()
	server := call.NewServer(nil)
	call.Handle(server, echo, func(_ context.Context, from model.PeerID, _ *[]byte) (*[]byte, error) {
		out := []byte(from)
		return &out, nil
	})
	here, there := &proving{}, &proving{id: "p1"}
	mux, err := raftnet.Listen(raftnet.MuxConfig{Network: here, Bind: "127.0.0.1:0", Calls: server.Admit})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(self model.PeerID, to model.PeerID) (string, error) {
		client := call.NewClient(self, func(to peer.Server, timeout time.Duration) (net.Conn, error) {
			return raftnet.DialCall(there, to, timeout)
		})
		defer closing(t, client)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		got, err := call.Do(ctx, client, peer.Server{ID: to, Address: mux.Addr().String()}, echo, &[]byte{})
		if err != nil {
			return "", err
		}
		return string(*got), nil
	}
	here.prove("p9")
	if got, err := ask("p9", "p1"); got != "p9" || err != nil {
		t.Errorf("the right peer: %q, %v", got, err)
	}
	if got, err := ask("p9", ""); got != "p9" || err != nil {
		t.Errorf("a peer that does not know the other's id yet: %q, %v", got, err)
	}
	if got, err := ask("p2", "p1"); err == nil {
		t.Errorf("p9 is taken for p2: %q", got)
	}
	if _, err := ask("p9", "p3"); err == nil || !strings.Contains(err.Error(), `peer "p1" in place of "p3"`) {
		t.Errorf("p1 is taken for p3: %v", err)
	}
	here.prove("")
	if got, err := ask("p9", "p1"); err == nil {
		t.Errorf("no proof: %q", got)
	}
	raft, err := net.Dial("tcp", mux.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raft.Write([]byte("R")); err != nil {
		t.Fatal(err)
	}
	if n, err := raft.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Error("a stream of Raft without a proof stays open")
	}
	closing(t, raft, mux, server)
}

// Of the connections of one address that say nothing, some are closed at once, also of a member's: any process of that machine has it.
// Strangers at many addresses take no place of a member.
func TestStrangersLeaveRoom(t *testing.T) {
	t.Parallel()
	const each, all = 32, 256
	mux, err := raftnet.Listen(raftnet.MuxConfig{
		Network: raftnet.TCP{}, Bind: "127.0.0.1:0", Member: func(host string) bool { return strings.HasPrefix(host, "127.0.1.") },
		Calls: func(conn net.Conn, _ model.PeerID) error {
			_, err := conn.Write([]byte("w"))
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, mux)
	for i := range all/each + 1 {
		conns := openFrom(t, fmt.Sprintf("127.0.0.%d", i+1), mux, each+8)
		if i < all/each {
			closed(t, conns, 8)
		} else {
			closed(t, conns, each+8)
		}
	}
	closed(t, openFrom(t, "127.0.1.1", mux, each+8), 8)
	for _, conn := range openFrom(t, "127.0.1.2", mux, each) {
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Write([]byte("C")); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); n != 1 {
			t.Fatalf("another member has no place: %v", err)
		}
	}
}

// openFrom opens connections from an address.
func openFrom(t *testing.T, host string, to *raftnet.Mux, connections int) (out []net.Conn) {
	t.Helper()
	for range connections {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}).Dial("tcp", to.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		out = append(out, conn)
	}
	return out
}

// closed waits until the other side has closed some of the connections; more are not.
func closed(t *testing.T, conns []net.Conn, want int) {
	t.Helper()
	done := make(chan struct{}, len(conns))
	for _, conn := range conns {
		go func() {
			_, _ = conn.Read(make([]byte, 1))
			done <- struct{}{}
		}()
	}
	limit := time.After(4 * time.Second) // less than a connection may be silent
	for range want {
		select {
		case <-done:
		case <-limit:
			t.Fatalf("of %d connections not %d are closed", len(conns), want)
		}
	}
	select {
	case <-done:
		t.Errorf("of %d connections more than %d are closed", len(conns), want)
	default:
	}
}
