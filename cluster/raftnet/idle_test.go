package raftnet

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A follower's acknowledgement answers equal requests for a moment, and no others.
func TestWhatAFollowerNeedNotHearAgain(t *testing.T) {
	t.Parallel()
	const id, at = raft.ServerID("n1"), raft.ServerAddress("n1:7000")
	empty := raft.AppendEntriesRequest{RPCHeader: leader, Term: 5, PrevLogEntry: 9, PrevLogTerm: 4, LeaderCommitIndex: 8}
	change := func(f func(*raft.AppendEntriesRequest)) raft.AppendEntriesRequest {
		q := empty
		f(&q)
		return q
	}
	agreed := raft.AppendEntriesResponse{RPCHeader: follower, Term: 5, LastLog: 9, Success: true}
	for name, c := range map[string]struct {
		answer  raft.AppendEntriesResponse
		after   time.Duration
		request raft.AppendEntriesRequest
		to      raft.ServerID
		want    bool
	}{
		"the same at once":     {agreed, 0, empty, id, true},
		"the same soon":        {agreed, idleRest - 1, empty, id, true},
		"the same later":       {agreed, idleRest, empty, id, false},
		"to another follower":  {agreed, 0, empty, "n2", false},
		"after a refusal":      {raft.AppendEntriesResponse{Term: 5, LastLog: 9}, 0, empty, id, false},
		"after a later term":   {raft.AppendEntriesResponse{Term: 6, LastLog: 9, Success: true}, 0, empty, id, false},
		"a later term":         {agreed, 0, change(func(q *raft.AppendEntriesRequest) { q.Term++ }), id, false},
		"a newer commit index": {agreed, 0, change(func(q *raft.AppendEntriesRequest) { q.LeaderCommitIndex++ }), id, false},
		"another entry before": {agreed, 0, change(func(q *raft.AppendEntriesRequest) { q.PrevLogEntry++ }), id, false},
		"of another term":      {agreed, 0, change(func(q *raft.AppendEntriesRequest) { q.PrevLogTerm++ }), id, false},
		"with an entry":        {agreed, 0, change(func(q *raft.AppendEntriesRequest) { q.Entries = []*raft.Log{{Index: 10}} }), id, false},
		"a heartbeat":          {agreed, 0, change(func(q *raft.AppendEntriesRequest) { q.PrevLogEntry = 0 }), id, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known idle
			now := time.Now()
			said, ok := repetitionOf(at, &empty)
			if !ok {
				t.Fatal("an empty request has nothing to repeat")
			}
			known.note(id, said, now, &c.answer)
			got := false
			if said, ok = repetitionOf(at, &c.request); ok {
				_, got = known.answer(c.to, said, now.Add(c.after))
			}
			if got != c.want {
				t.Errorf("answered: %v, want %v", got, c.want)
			}
			known.forget(id)
			if _, got = known.answer(id, said, now); got {
				t.Error("answered after a request had failed")
			}
		})
	}
}
