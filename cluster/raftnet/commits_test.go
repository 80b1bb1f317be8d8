package raftnet

import (
	"testing"

	"github.com/hashicorp/raft"
)

// What a follower is told of a commit: never more than it has acknowledged, nothing that a request has told it, and nothing of another
// term.
func TestWhatFollowersAreToldOfACommit(t *testing.T) {
	t.Parallel()
	const id, at = raft.ServerID("n1"), raft.ServerAddress("n1:7000")
	entries := func(term, from, to, committed uint64) *raft.AppendEntriesRequest {
		q := &raft.AppendEntriesRequest{RPCHeader: leader, Term: term, PrevLogEntry: from - 1, PrevLogTerm: 4, LeaderCommitIndex: committed}
		for i := from; i <= to; i++ {
			q.Entries = append(q.Entries, &raft.Log{Index: i, Term: term})
		}
		return q
	}
	for name, v := range map[string]struct {
		sent      []*raft.AppendEntriesRequest
		failed    bool // the last of them
		committed uint64
		want      uint64 // commit index that the follower is told; 0: it is told nothing
	}{
		"it has the entry":                   {sent: []*raft.AppendEntriesRequest{entries(5, 7, 9, 6)}, committed: 9, want: 9},
		"it has a part":                      {sent: []*raft.AppendEntriesRequest{entries(5, 7, 8, 6)}, committed: 9, want: 8},
		"it was told with entries":           {sent: []*raft.AppendEntriesRequest{entries(5, 7, 9, 6), entries(5, 10, 10, 9)}, committed: 9},
		"it was told without":                {sent: []*raft.AppendEntriesRequest{entries(5, 7, 9, 6), entries(5, 10, 9, 9)}, committed: 9},
		"it was told less":                   {sent: []*raft.AppendEntriesRequest{entries(5, 7, 9, 6), entries(5, 10, 10, 8)}, committed: 9, want: 9},
		"a heartbeat tells nothing":          {sent: []*raft.AppendEntriesRequest{entries(5, 7, 9, 6), {RPCHeader: leader, Term: 5}}, committed: 9, want: 9},
		"a failed request":                   {sent: []*raft.AppendEntriesRequest{entries(5, 7, 9, 6)}, failed: true, committed: 9},
		"what it has is of an earlier term":  {sent: []*raft.AppendEntriesRequest{entries(5, 7, 9, 6), entries(6, 10, 10, 6)}, failed: true, committed: 9},
		"a request of an earlier term later": {sent: []*raft.AppendEntriesRequest{entries(6, 7, 9, 6), entries(5, 7, 12, 6)}, committed: 12, want: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c commits
			for i, q := range v.sent {
				c.sends(id, q)
				c.answered(id, at, q, !v.failed || i < len(v.sent)-1)
			}
			c.committed(v.committed)
			told := c.take()
			p, tells := told[id]
			switch {
			case tells != (v.want > 0):
				t.Errorf("told %t: %+v", tells, p.request)
			case tells && (p.request.LeaderCommitIndex != v.want || len(p.request.Entries) > 0 || p.request.PrevLogEntry < v.want || p.target != at):
				t.Errorf("told %+v, want commit index %d", p.request, v.want)
			}
			if again := c.take(); len(again) > 0 {
				t.Errorf("told again while it is told: %+v", again)
			}
		})
	}
}

// An acknowledgement that comes after the commit has the follower told, too.
func TestALateAcknowledgementIsFollowedByTheCommit(t *testing.T) {
	t.Parallel()
	const id, at = raft.ServerID("n1"), raft.ServerAddress("n1:7000")
	var c commits
	first := &raft.AppendEntriesRequest{RPCHeader: leader, Term: 5, PrevLogEntry: 6, PrevLogTerm: 4, Entries: []*raft.Log{{Index: 7, Term: 5}}}
	c.sends(id, first)
	c.answered(id, at, first, true)
	if !c.committed(8) || len(c.take()) != 1 {
		t.Fatal("it is not told of what it has")
	}
	c.sends(id, &raft.AppendEntriesRequest{RPCHeader: leader, Term: 5, PrevLogEntry: 7, PrevLogTerm: 5, LeaderCommitIndex: 7})
	if c.done(id) {
		t.Error("there is nothing more to tell, and a look is set up")
	}
	next := &raft.AppendEntriesRequest{RPCHeader: leader, Term: 5, PrevLogEntry: 7, PrevLogTerm: 5, LeaderCommitIndex: 7}
	next.Entries = []*raft.Log{{Index: 8, Term: 5}}
	c.sends(id, next)
	if !c.answered(id, at, next, true) {
		t.Error("after the acknowledgement no look is set up")
	}
	if told := c.take(); told[id].request.LeaderCommitIndex != 8 {
		t.Errorf("told %+v", told)
	}
}
