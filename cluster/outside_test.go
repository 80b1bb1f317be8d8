package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftnet"
)

// A member without a vote, or one with its certificate, cannot end the leadership of another, lead itself, or have a follower stand.
func TestAMemberWithoutAVoteCostsNoLeadership(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		learner := w.add("p4")
		w.start(learner)
		if err := learner.Join(within(10*time.Second), []string{l.name + ":7000"}); err != nil {
			t.Fatal(err)
		}
		w.until("all know it", func() bool {
			for _, m := range w.peers {
				if len(m.Status().Servers) != 4 || m.Status().Leader.ID == "" {
					return false
				}
			}
			return true
		})
		w.crash(learner)
		w.peers = without(w.peers, learner)
		mux, err := raftnet.Listen(raftnet.MuxConfig{Network: w.net.Host("p4"), Bind: "p4:7000"})
		if err != nil {
			t.Fatal(err)
		}
		transport := raftnet.NewTransport(mux.Raft(), raftnet.TransportConfig{Folders: learner.folders})
		defer func() { _ = transport.Close(); _ = mux.Close() }()
		h := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("p4"), Addr: []byte("p4:7000")}
		term := l.raft.CurrentTerm()
		for _, m := range w.peers {
			id, at := raft.ServerID(m.name), raft.ServerAddress(m.name+":7000")
			for what, err := range map[string]error{
				"a vote": transport.RequestVote(id, at, &raft.RequestVoteRequest{RPCHeader: h, Term: term + 100, LastLogTerm: term, LeadershipTransfer: true},
					&raft.RequestVoteResponse{}),
				"pre-vote": transport.RequestPreVote(id, at, &raft.RequestPreVoteRequest{RPCHeader: h, Term: term + 100}, &raft.RequestPreVoteResponse{}),
				"entries":  transport.AppendEntries(id, at, &raft.AppendEntriesRequest{RPCHeader: h, Term: term + 100}, &raft.AppendEntriesResponse{}),
				"to stand": transport.TimeoutNow(id, at, &raft.TimeoutNowRequest{RPCHeader: h}, &raft.TimeoutNowResponse{}),
			} {
				if err == nil || !strings.Contains(err.Error(), "peer p4 has no vote") {
					t.Errorf("%s at %s: %v", what, m.name, err)
				}
			}
		}
		w.mustPropose(l, 1)
		if now := l.raft.CurrentTerm(); now != term || !l.leads() {
			t.Errorf("the term is %d after %d, and the leader leads: %v", now, term, l.leads())
		}
	})
}

// A vote is for a member and not for an address: two that name the same address in one term do not both get it, whatever address that is.
func TestAVoteIsForAMember(t *testing.T) {
	for name, address := range map[string]string{"of another machine": "x:7000", "of one of the two": "p1:7000", "of the voter": "p3:7000"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, nil, func(w *world) {
				voter, candidates := w.peers[2], w.peers[:2]
				w.until("the folders are known", func() bool { return voter.folders.Of("p1") != "" && voter.folders.Of("p2") != "" })
				w.crash(candidates[0])
				w.crash(candidates[1])
				w.peers = w.peers[2:]
				granted := 0
				q := raft.RequestVoteRequest{Term: voter.raft.CurrentTerm() + 10, LastLogTerm: 100, LastLogIndex: 1000, LeadershipTransfer: true}
				for _, m := range candidates {
					mux, err := raftnet.Listen(raftnet.MuxConfig{Network: w.net.Host(m.name), Bind: m.name + ":7000"})
					if err != nil {
						t.Fatal(err)
					}
					transport := raftnet.NewTransport(mux.Raft(), raftnet.TransportConfig{Folders: m.folders})
					defer func() { _ = transport.Close(); _ = mux.Close() }()
					q.RPCHeader = raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(m.name), Addr: []byte(address)}
					var a raft.RequestVoteResponse
					for range 2 { // the same candidate may ask again
						if err := transport.RequestVote("p3", "p3:7000", &q, &a); err != nil {
							t.Fatal(err)
						}
					}
					if a.Granted {
						granted++
					}
				}
				if granted != 1 {
					t.Errorf("%d of two candidates of one term have the vote", granted)
				}
			})
		})
	}
}
