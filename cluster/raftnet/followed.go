package raftnet

import (
	"math"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// followed is when each peer last took a message of this one as that of its leader.
type followed struct {
	mu sync.Mutex
	at map[raft.ServerID]time.Time
}

func (a *followed) note(id raft.ServerID, q *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) {
	if answer.Term != q.Term {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil {
		a.at = map[raft.ServerID]time.Time{}
	}
	a.at[id] = time.Now()
}

// Followed returns how long ago a peer last took a message of this one as that of its leader; the longest time if it never has.
func (t *Transport) Followed(id raft.ServerID) time.Duration {
	t.followed.mu.Lock()
	defer t.followed.mu.Unlock()
	at, found := t.followed.at[id]
	if !found {
		return math.MaxInt64
	}
	return time.Since(at)
}
