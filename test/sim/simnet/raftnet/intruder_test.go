package raftnet_test

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
)

// Raft's message types on the wire.
const (
	wireAppend  = "\x00"
	wireInstall = "\x02"
)

// impersonate opens a raw connection to a peer and sends it one message as its leader might.
func impersonate(t *testing.T, c *cluster, victim *peer, kind string, request any) net.Conn {
	t.Helper()
	conn, err := c.net.Host("intruder").Dial(victim.id+":7000", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "R"+kind); err != nil {
		t.Fatal(err)
	}
	if err := codec.NewEncoder(conn, &codec.MsgpackHandle{}).Encode(request); err != nil {
		t.Fatal(err)
	}
	return conn
}

func header(p *peer) raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(p.id), Addr: []byte(p.id + ":7000")}
}

// TestNilEntryIsRefused: one nil entry would end the process of the peer that reads it.
func TestNilEntryIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, clusterConfig{seed: 1})
		leader := c.leader()
		victim := c.followers(leader)[0]
		conn := impersonate(t, c, victim, wireAppend, &raft.AppendEntriesRequest{
			RPCHeader: header(leader), Term: leader.raft.CurrentTerm(), Entries: []*raft.Log{nil},
		})
		var refusal string
		if err := codec.NewDecoder(conn, &codec.MsgpackHandle{}).Decode(&refusal); err != nil || refusal == "" {
			t.Errorf("refusal %q, %v", refusal, err)
		}
		if got := victim.transport.Malformed(); got != 1 {
			t.Errorf("counted %d malformed requests", got)
		}
		if err := leader.apply("life goes on"); err != nil {
			t.Error(err)
		}
		c.stop(t)
	})
}

// TestHalfASnapshotDoesNotHoldAFollower: a leader that dies while it sends a snapshot must not take its
// follower out of the next election for longer than the transport's timeout.
func TestHalfASnapshotDoesNotHoldAFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, clusterConfig{seed: 1})
		leader := c.leader()
		if err := leader.apply("first"); err != nil {
			t.Fatal(err)
		}
		victim := c.followers(leader)[0]
		impersonate(t, c, victim, wireInstall, &raft.InstallSnapshotRequest{
			RPCHeader: header(leader), SnapshotVersion: raft.SnapshotVersionMax, Term: leader.raft.CurrentTerm(),
			LastLogIndex: 1000, LastLogTerm: 1, Size: 1 << 20,
			Configuration: raft.EncodeConfiguration(raft.Configuration{}),
		})
		time.Sleep(100 * ms)
		c.net.Isolate(leader.id) // now no peer can lead without the victim
		start := time.Now()
		for c.other(leader).apply("second") != nil {
			time.Sleep(10 * ms)
		}
		if d := time.Since(start); d < time.Second || d > 5*time.Second {
			t.Errorf("the next leader wrote after %v, want about the transport's two seconds", d)
		}
		c.stop(t)
	})
}
