package raftnet

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

var (
	leader   = raft.RPCHeader{ID: []byte("n1"), Addr: []byte("n1:7000")}
	follower = raft.RPCHeader{ID: []byte("n0"), Addr: []byte("n0:7000")}
)

func heartbeat(from raft.RPCHeader, term uint64) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{RPCHeader: from, Term: term}
}

func accepted(term uint64) raft.RPCResponse {
	return raft.RPCResponse{Response: &raft.AppendEntriesResponse{RPCHeader: follower, Term: term, LastLog: 9, Success: true}}
}

// event is something that happens to a book that has an acknowledgement of n1 in term 5.
type event func(b *book)

func answered(command, response any, err error) event {
	return func(b *book) { b.observe(command, raft.RPCResponse{Response: response, Error: err}, time.Time{}) }
}

func TestWhatEndsRepeating(t *testing.T) {
	vote, preVote := &raft.RequestVoteRequest{Term: 6}, &raft.RequestPreVoteRequest{Term: 6}
	for name, c := range map[string]struct {
		event event
		ends  bool
	}{
		"nothing":                          {func(*book) {}, false},
		"vote refused in this term":        {answered(vote, &raft.RequestVoteResponse{Term: 5}, nil), false},
		"vote granted":                     {answered(vote, &raft.RequestVoteResponse{Term: 6, Granted: true}, nil), true},
		"vote granted in this term":        {answered(vote, &raft.RequestVoteResponse{Term: 5, Granted: true}, nil), true},
		"vote refused, later term learned": {answered(vote, &raft.RequestVoteResponse{Term: 6}, nil), true},
		"pre-vote refused":                 {answered(preVote, &raft.RequestPreVoteResponse{Term: 5}, nil), false},
		"pre-vote granted":                 {answered(preVote, &raft.RequestPreVoteResponse{Term: 6, Granted: true}, nil), true},
		"told to stand":                    {answered(&raft.TimeoutNowRequest{}, &raft.TimeoutNowResponse{}, nil), true},
		"snapshot in this term":            {answered(&raft.InstallSnapshotRequest{Term: 5}, &raft.InstallSnapshotResponse{Term: 5, Success: true}, nil), false},
		"snapshot of a later term":         {answered(&raft.InstallSnapshotRequest{Term: 6}, &raft.InstallSnapshotResponse{Term: 6}, nil), true},
		"entries that do not fit":          {answered(heartbeat(leader, 5), &raft.AppendEntriesResponse{Term: 5}, nil), false},
		"entries of a former leader":       {answered(heartbeat(leader, 4), &raft.AppendEntriesResponse{Term: 5}, nil), false},
		"entries of a later term refused":  {answered(heartbeat(leader, 6), &raft.AppendEntriesResponse{Term: 6}, nil), true},
		"an error without an answer":       {answered(vote, nil, errors.New("x")), true},
		"own candidacy":                    {func(b *book) { b.campaign(6) }, true},
		"own pre-vote or transfer":         {func(b *book) { b.campaign(0) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &book{}
			b.observe(heartbeat(leader, 5), accepted(5), time.Time{})
			c.event(b)
			if _, ok := b.repeat(heartbeat(leader, 5), time.Time{}, time.Second); ok == c.ends {
				t.Errorf("repeats: %v, want %v", ok, !c.ends)
			}
		})
	}
}

func TestWhoGetsARepeatedAnswer(t *testing.T) {
	b, start := &book{}, time.Unix(1000, 0)
	b.observe(heartbeat(leader, 5), accepted(5), start)
	for name, c := range map[string]struct {
		request *raft.AppendEntriesRequest
		after   time.Duration
		want    bool
	}{
		"the leader":               {heartbeat(leader, 5), 0, true},
		"the leader at the limit":  {heartbeat(leader, 5), time.Second, true},
		"the leader, later":        {heartbeat(leader, 5), time.Second + 1, false},
		"an earlier term":          {heartbeat(leader, 4), 0, false},
		"a later term":             {heartbeat(leader, 6), 0, false},
		"another peer":             {heartbeat(raft.RPCHeader{ID: []byte("n2"), Addr: leader.Addr}, 5), 0, false},
		"the peer's other address": {heartbeat(raft.RPCHeader{ID: leader.ID, Addr: []byte("x:1")}, 5), 0, false},
	} {
		response, ok := b.repeat(c.request, start.Add(c.after), time.Second)
		if ok != c.want {
			t.Errorf("%s: %v, want %v", name, ok, c.want)
		}
		if ok && (response.Term != 5 || !response.Success || response.LastLog != 9 || string(response.ID) != "n0") {
			t.Errorf("%s: %+v is not raft's own answer", name, response)
		}
	}
}

// TestOldAcknowledgementsDoNotRevive: an answer of an old term that is noted after a sign of a later one, or
// an error together with a success, allows nothing.
func TestOldAcknowledgementsDoNotRevive(t *testing.T) {
	b := &book{}
	b.campaign(6)
	b.observe(heartbeat(leader, 5), accepted(5), time.Time{})
	if _, ok := b.repeat(heartbeat(leader, 5), time.Time{}, time.Second); ok {
		t.Error("an acknowledgement of term 5 noted after a candidacy in term 6 is repeated")
	}
	b = &book{}
	failed := accepted(5)
	failed.Error = errors.New("x")
	b.observe(heartbeat(leader, 5), failed, time.Time{})
	if _, ok := b.repeat(heartbeat(leader, 5), time.Time{}, time.Second); ok {
		t.Error("a success with an error is repeated")
	}
	b.observe(heartbeat(leader, 5), accepted(5), time.Time{})
	b.campaign(0)
	b.observe(heartbeat(leader, 5), accepted(5), time.Time{})
	if _, ok := b.repeat(heartbeat(leader, 5), time.Time{}, time.Second); !ok {
		t.Error("a new acknowledgement after a lost pre-vote is not repeated")
	}
}
