package raftnet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
	"go.uber.org/goleak"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm/model"
)

// listenTCP opens a Mux on loopback.
func listenTCP(t *testing.T, calls raftnet.Calls) *raftnet.Mux {
	t.Helper()
	mux, err := raftnet.Listen(raftnet.MuxConfig{Network: raftnet.TCP{}, Bind: "127.0.0.1:0", Calls: calls})
	if err != nil {
		t.Fatal(err)
	}
	return mux
}

func closing(t *testing.T, closers ...io.Closer) {
	t.Helper()
	for _, c := range closers {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAdvertisedAddressMayDiffer(t *testing.T) {
	mux, err := raftnet.Listen(raftnet.MuxConfig{Network: raftnet.TCP{}, Bind: "127.0.0.1:0", Advertise: "gpu-host:7000"})
	if err != nil {
		t.Fatal(err)
	}
	transport := raftnet.NewTransport(mux.Raft(), raftnet.TransportConfig{})
	if got := transport.LocalAddr(); got != "gpu-host:7000" || mux.Addr().String() != "gpu-host:7000" {
		t.Errorf("raft knows this peer as %s, the mux as %s", got, mux.Addr())
	}
	closing(t, transport, mux)
}

func TestPortInUse(t *testing.T) {
	mux := listenTCP(t, nil)
	if _, err := raftnet.Listen(raftnet.MuxConfig{Network: raftnet.TCP{}, Bind: mux.Addr().String()}); err == nil {
		t.Error("two listeners on one port")
	}
	closing(t, mux)
}

// serveRaft answers what a transport's consumer gets, as raft's main goroutine would.
func serveRaft(transport *raftnet.Transport, stop <-chan struct{}) {
	for {
		select {
		case rpc := <-transport.Consumer():
			rpc.Respond(&raft.AppendEntriesResponse{Term: 1, Success: true}, nil)
		case <-stop:
			return
		}
	}
}

// TestCloseEndsAcceptedConnections: raft.NetworkTransport leaves those it accepted open, each with a
// goroutine that waits for the other side.
func TestCloseEndsAcceptedConnections(t *testing.T) {
	defer goleak.VerifyNone(t)
	here, there := listenTCP(t, nil), listenTCP(t, nil)
	a := raftnet.NewTransport(here.Raft(), raftnet.TransportConfig{})
	b := raftnet.NewTransport(there.Raft(), raftnet.TransportConfig{})
	stop := make(chan struct{})
	go serveRaft(b, stop)
	request := &raft.AppendEntriesRequest{Term: 1}
	if err := a.AppendEntries("b", b.LocalAddr(), request, &raft.AppendEntriesResponse{}); err != nil {
		t.Fatal(err)
	}
	raw, err := net.Dial("tcp", there.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(raw, "R\x00"); err != nil {
		t.Fatal(err)
	}
	if err := codec.NewEncoder(raw, &codec.MsgpackHandle{}).Encode(request); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Read(make([]byte, 1)); err != nil { // an answer: the connection was accepted
		t.Fatal(err)
	}
	close(stop)
	closing(t, b, b, there) // twice, as raft may
	if err := raw.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, raw); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("an accepted connection outlived Close")
	}
	closing(t, raw)
	if err := a.AppendEntries("b", b.LocalAddr(), request, &raft.AppendEntriesResponse{}); err == nil {
		t.Error("a closed transport answered")
	}
	closing(t, a, here)
}

var echo = call.Define[[]byte, []byte](call.Control, "echo")

func TestCallOverTCP(t *testing.T) {
	defer goleak.VerifyNone(t)
	server := call.NewServer(nil)
	call.Handle(server, echo, func(_ context.Context, from model.PeerID, q *[]byte) (*[]byte, error) {
		out := fmt.Appendf(nil, "%s: %s", from, *q)
		return &out, nil
	})
	mux := listenTCP(t, server.Admit)
	to := peer.Server{Address: mux.Addr().String()}
	client := call.NewClient("p9", func(to peer.Server, timeout time.Duration) (net.Conn, error) {
		return raftnet.DialCall(raftnet.TCP{}, to, timeout)
	})
	var callers sync.WaitGroup
	places := make(chan struct{}, 50) // a peer works on 64 calls of another at once
	for i := range 200 {
		callers.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			body := bytes.Repeat([]byte{byte('a' + i%26)}, i*i)
			got, err := call.Do(t.Context(), client, to, echo, &body)
			if want := "p9: " + string(body); err != nil || string(*got) != want {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	callers.Wait()
	closing(t, client, mux, server)
}
