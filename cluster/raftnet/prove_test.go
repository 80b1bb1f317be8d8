package raftnet_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
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

// Of the connections of a stranger that say nothing, some are closed at once; those of a member stay.
func TestStrangersLeaveRoom(t *testing.T) {
	t.Parallel()
	const many, places = 40, 32
	for _, v := range []struct {
		member bool
		stay   int
	}{{false, places}, {true, many}} {
		mux, err := raftnet.Listen(raftnet.MuxConfig{
			Network: raftnet.TCP{}, Bind: "127.0.0.1:0", Member: func(host string) bool { return v.member && host == "127.0.0.1" },
			Calls: func(conn net.Conn, _ model.PeerID) error {
				_, err := conn.Write([]byte("w"))
				return err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		var open []net.Conn
		for range many {
			conn, err := net.Dial("tcp", mux.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			open = append(open, conn)
		}
		for limit := time.Now().Add(4 * time.Second); len(open) > v.stay && time.Now().Before(limit); {
			open = slices.DeleteFunc(open, func(conn net.Conn) bool {
				_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
				_, err := conn.Read(make([]byte, 1))
				return !errors.Is(err, os.ErrDeadlineExceeded)
			})
		}
		welcome := 0
		for _, conn := range open {
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := conn.Write([]byte("C")); err != nil {
				continue
			}
			if n, _ := conn.Read(make([]byte, 1)); n == 1 {
				welcome++
			}
		}
		if welcome != v.stay {
			t.Errorf("member %v: %d of %d connections have a place, want %d", v.member, welcome, many, v.stay)
		}
		closing(t, mux)
	}
}
