package raftnet

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// idleRest is how long a follower's acknowledgement of an empty replication request answers equal requests.
const idleRest = 50 * time.Millisecond

// idle keeps redundant empty replication requests off the wire.
//
// Raft sends a follower without new entries an empty AppendEntries after each CommitTimeout, because
// this is how a follower learns that the commit index has moved. A request that repeats the term, the previous
// entry and the commit index of one that the follower acknowledged less than idleRest ago is answered here with
// that acknowledgement. A new commit index, new entries and a new term differ, so they are sent at once.
//
// Heartbeats have a goroutine and a rhythm of their own in raft and are always sent, so the follower's
// election timeout is untouched. The leader may take a follower for alive for up to idleRest longer than it
// is; its lease decides nothing (see Transport), and an entry counts as replicated only by an answer to the
// request that carried it.
type idle struct {
	saved atomic.Uint64 // requests that were answered here

	mu   sync.Mutex
	last map[raft.ServerID]acknowledged
}

// acknowledged is an empty request that a follower has agreed to.
type acknowledged struct {
	said   repetition
	answer raft.AppendEntriesResponse
	until  time.Time
}

// repetition is the content of an empty request; equal ones are redundant.
type repetition struct {
	target    raft.ServerAddress
	term      uint64
	prevEntry uint64
	prevTerm  uint64
	committed uint64
}

// repetitionOf returns a request's content; false if the request carries entries or is a heartbeat, which
// names no previous entry.
func repetitionOf(target raft.ServerAddress, q *raft.AppendEntriesRequest) (repetition, bool) {
	if len(q.Entries) > 0 || q.PrevLogEntry == 0 {
		return repetition{}, false
	}
	return repetition{target, q.Term, q.PrevLogEntry, q.PrevLogTerm, q.LeaderCommitIndex}, true
}

// answer returns the follower's acknowledgement of an equal request, if that is recent.
func (i *idle) answer(id raft.ServerID, said repetition, now time.Time) (raft.AppendEntriesResponse, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	a, known := i.last[id]
	if !known || a.said != said || !now.Before(a.until) {
		return raft.AppendEntriesResponse{}, false
	}
	return a.answer, true
}

// note stores a follower's answer to a request that was sent at a time; an answer that refuses anything voids
// the stored one.
func (i *idle) note(id raft.ServerID, said repetition, sent time.Time, answer *raft.AppendEntriesResponse) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.last == nil {
		i.last = make(map[raft.ServerID]acknowledged)
	}
	if !answer.Success || answer.Term != said.term {
		delete(i.last, id)
		return
	}
	i.last[id] = acknowledged{said, *answer, sent.Add(idleRest)}
}

// forget voids what a follower has acknowledged.
func (i *idle) forget(id raft.ServerID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.last, id)
}
