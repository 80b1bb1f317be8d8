package raftnet_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftnet"
)

// refusal sends a request of Raft and returns the error of its answer.
func refusal(t *testing.T, conn net.Conn, kind byte, request any) (text string) {
	t.Helper()
	out := bytes.NewBuffer([]byte{kind})
	if err := codec.NewEncoder(out, &codec.MsgpackHandle{}).Encode(request); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	var answer any
	in := codec.NewDecoder(conn, &codec.MsgpackHandle{})
	if err := in.Decode(&text); err != nil {
		t.Fatal(err)
	}
	if err := in.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return text
}

// requests returns how each kind of request is made, of a header and the second address of its sender.
func requests() map[byte]func(h raft.RPCHeader, second []byte) any {
	configuration := raft.EncodeConfiguration(raft.Configuration{})
	return map[byte]func(h raft.RPCHeader, second []byte) any{
		0: func(h raft.RPCHeader, second []byte) any {
			return &raft.AppendEntriesRequest{RPCHeader: h, Term: 7, Leader: second} //nolint:staticcheck // raft reads it
		},
		1: func(h raft.RPCHeader, second []byte) any {
			return &raft.RequestVoteRequest{RPCHeader: h, Term: 7, Candidate: second} //nolint:staticcheck // raft reads it
		},
		2: func(h raft.RPCHeader, second []byte) any {
			return &raft.InstallSnapshotRequest{RPCHeader: h, SnapshotVersion: 1, Term: 7, Leader: second, Configuration: configuration}
		},
		3: func(h raft.RPCHeader, _ []byte) any { return &raft.TimeoutNowRequest{RPCHeader: h} },
		4: func(h raft.RPCHeader, _ []byte) any { return &raft.RequestPreVoteRequest{RPCHeader: h, Term: 7} },
	}
}

// Each message of Raft counts as that of the peer that has proven its id at the other side of the stream, and of no other.
func TestAMessageIsThatOfItsProvenSender(t *testing.T) {
	t.Parallel()
	here := &proving{id: "p3"}
	mux, err := raftnet.Listen(raftnet.MuxConfig{Network: here, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	transport := raftnet.NewTransport(mux.Raft(), raftnet.TransportConfig{})
	stop := make(chan struct{})
	go serveRaft(transport, stop)
	conns := map[string]net.Conn{}
	say := func(proven string, kind byte, request any) string {
		t.Helper()
		conn := conns[proven] // one stream for each sender, while those of others are open
		if conn == nil {
			here.prove(proven)
			if conn, err = net.Dial("tcp", mux.Addr().String()); err != nil {
				t.Fatal(err)
			}
			conns[proven] = conn
			if _, err := io.WriteString(conn, "R"); err != nil {
				t.Fatal(err)
			}
		}
		return refusal(t, conn, kind, request)
	}
	says := func(id, address string) raft.RPCHeader {
		return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: []byte(address)}
	}
	for kind, of := range requests() {
		what := fmt.Sprintf("%T", of(raft.RPCHeader{}, nil))
		for _, proven := range []string{"p2", "p3"} {
			if got := say(proven, kind, of(says(proven, "a:1"), []byte("a:1"))); got != "" {
				t.Errorf("%s of %s: %s", what, proven, got)
			}
		}
		if got := say("p3", kind, of(says("p2", "a:1"), []byte("a:1"))); !strings.Contains(got, `peer "p2" is claimed, and the certificate is that of "p3"`) {
			t.Errorf("%s of p3 in the name of p2: %q", what, got)
		}
		if got := say("p3", kind, of(says("p3", ""), []byte("a:1"))); !strings.Contains(got, "names no address") {
			t.Errorf("%s without an address: %q", what, got)
		}
		if got := say("p3", kind, of(says("p3", "a:1"), []byte("b:1"))); kind < 3 && !strings.Contains(got, `addresses "a:1" and "b:1"`) {
			t.Errorf("%s with two addresses: %q", what, got)
		}
	}
	if got := transport.Refused(); got != 13 {
		t.Errorf("%d refused messages are counted, want 13", got)
	}
	close(stop)
	closing(t, transport, mux)
}

// An answer counts only if it comes from the peer that was asked.
func TestAnAnswerIsThatOfTheAskedPeer(t *testing.T) {
	t.Parallel()
	there := listenTCP(t, nil)
	answering := raftnet.NewTransport(there.Raft(), raftnet.TransportConfig{})
	stop := make(chan struct{})
	go serveRaft(answering, stop)
	network := &proving{id: "p2"}
	here, err := raftnet.Listen(raftnet.MuxConfig{Network: network, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	asking := raftnet.NewTransport(here.Raft(), raftnet.TransportConfig{})
	ask := func(id raft.ServerID) error {
		return asking.AppendEntries(id, answering.LocalAddr(), &raft.AppendEntriesRequest{Term: 1}, &raft.AppendEntriesResponse{})
	}
	if err := ask("p2"); err != nil {
		t.Error("the peer that was asked:", err)
	}
	if err := ask("p3"); err == nil || !strings.Contains(err.Error(), `is peer "p2" in place of "p3"`) {
		t.Errorf("another peer: %v", err)
	}
	network.prove("")
	if err := ask("p4"); err == nil || !strings.Contains(err.Error(), "no certificate of a peer") {
		t.Errorf("no proof: %v", err)
	}
	close(stop)
	closing(t, asking, here, answering, there)
}
