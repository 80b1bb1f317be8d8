package raftnet

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// commitPause is how long a commit may take to go out with new entries before followers are told of it by an empty request.
const commitPause = 2 * time.Millisecond

// commits tells followers of commits.
//
// Raft tells a follower of a commit with the next entries, or after CommitTimeout, by an empty request. This is that request, sent as
// soon as no entries have followed for commitPause: the term, the last entry that the follower has acknowledged in this term, and a
// commit index that is not beyond it. So CommitTimeout can be long, and a cluster at rest wakes seldom.
type commits struct {
	mu        sync.Mutex
	term      uint64 // the newest in which this peer has sent entries
	index     uint64 // committed, as far as told
	armed     bool   // a look at all followers is due
	followers map[raft.ServerID]*position
}

// position is how far a follower has come.
type position struct {
	target  raft.ServerAddress
	request raft.AppendEntriesRequest // empty: it follows the last entry that the follower has acknowledged
	told    uint64                    // the newest commit index that was sent
	busy    bool                      // it is being told
}

// sends notes a request that is about to be sent.
func (c *commits) sends(id raft.ServerID, q *raft.AppendEntriesRequest) {
	if isHeartbeat(q) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.Term > c.term {
		c.term, c.index, c.followers = q.Term, 0, nil
	}
	if p := c.followers[id]; p != nil {
		p.told = max(p.told, q.LeaderCommitIndex)
	}
}

// answered notes the answer to a request, and returns whether the follower should be told more; without success nothing is known of it.
func (c *commits) answered(id raft.ServerID, target raft.ServerAddress, q *raft.AppendEntriesRequest, success bool) (more bool) {
	if isHeartbeat(q) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.Term != c.term {
		return false
	}
	if !success {
		delete(c.followers, id)
		return false
	}
	p := c.followers[id]
	if p == nil || p.target != target {
		if c.followers == nil {
			c.followers = map[raft.ServerID]*position{}
		}
		p = &position{target: target}
		c.followers[id] = p
	}
	next := *q
	if n := len(q.Entries); n > 0 {
		next.Entries, next.PrevLogEntry, next.PrevLogTerm = nil, q.Entries[n-1].Index, q.Entries[n-1].Term
	}
	if next.PrevLogEntry >= p.request.PrevLogEntry {
		p.request = next
	}
	p.told = max(p.told, q.LeaderCommitIndex)
	return c.arm(p.due(c.index))
}

// due reports whether there is something to tell the follower.
func (p *position) due(index uint64) bool { return min(index, p.request.PrevLogEntry) > p.told }

// arm reports whether a look at the followers has to be set up, if one is wanted.
func (c *commits) arm(wanted bool) bool {
	if !wanted || c.armed {
		return false
	}
	c.armed = true
	return true
}

// take returns the followers that have to be told now, with the requests.
func (c *commits) take() map[raft.ServerID]position {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	out := map[raft.ServerID]position{}
	for id, p := range c.followers {
		if !p.busy && p.due(c.index) {
			p.busy = true
			next := *p
			next.request.LeaderCommitIndex = min(c.index, p.request.PrevLogEntry)
			out[id] = next
		}
	}
	return out
}

// done notes that a follower was told, or could not be; it returns whether there is more.
func (c *commits) done(id raft.ServerID) (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.followers[id]
	if p == nil {
		return false
	}
	p.busy = false
	return c.arm(p.due(c.index))
}

// committed notes that entries up to an index are committed, and returns whether a look at the followers has to be set up.
func (c *commits) committed(index uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if index <= c.index || len(c.followers) == 0 {
		return false
	}
	c.index = index
	return c.arm(true)
}

// Committed has followers told that entries up to an index are committed, unless new entries tell them anyway. It is for the leader.
func (t *Transport) Committed(index uint64) { t.tellSoon(t.commits.committed(index)) }

func (t *Transport) tellSoon(due bool) {
	if due {
		time.AfterFunc(commitPause, t.tell)
	}
}

// tell tells all followers that do not know of the newest commits.
func (t *Transport) tell() {
	for id, p := range t.commits.take() {
		go func() {
			var answer raft.AppendEntriesResponse
			_ = t.AppendEntries(id, p.target, &p.request, &answer) // raft's own requests come later, and handle what is wrong
			t.tellSoon(t.commits.done(id))
		}()
	}
}
