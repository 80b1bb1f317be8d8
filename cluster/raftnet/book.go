package raftnet

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// book remembers the last acknowledgement that raft's main goroutine itself gave a leader, for as long as
// repeating it is sound. Transport's comment has the argument. The relay writes it in the main goroutine's
// own order; only campaigning reaches it from elsewhere.
type book struct {
	mu    sync.Mutex
	last  *acknowledgement // nil: there is nothing to repeat
	floor uint64           // highest term seen in any answer or request of this peer
}

type acknowledgement struct {
	leader   identity
	term     uint64
	at       time.Time
	response raft.AppendEntriesResponse
}

type identity struct{ id, address string }

func identityOf(header raft.RPCHeader) identity {
	return identity{string(header.ID), string(header.Addr)}
}

// observe notes the main goroutine's answer to a request, before the answer leaves.
func (b *book) observe(command any, answer raft.RPCResponse, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch response := answer.Response.(type) {
	case *raft.AppendEntriesResponse:
		b.raise(response.Term)
		request, ok := command.(*raft.AppendEntriesRequest)
		if ok && answer.Error == nil && response.Success && response.Term == request.Term && response.Term == b.floor {
			b.last = &acknowledgement{identityOf(request.RPCHeader), response.Term, now, *response}
		}
	case *raft.InstallSnapshotResponse:
		b.raise(response.Term)
	case *raft.RequestVoteResponse:
		b.raise(response.Term)
		if response.Granted {
			b.last = nil
		}
	case *raft.RequestPreVoteResponse:
		// The term of a granted pre-vote is the requested one: no peer holds it yet, so it raises nothing.
		if response.Granted {
			b.last = nil
		}
	default: // a leadership transfer, an error without an answer: this peer may be about to stand
		b.last = nil
	}
}

// campaign notes that this peer is about to send a request in a term to others. Followers never do.
func (b *book) campaign(term uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = nil
	b.raise(term)
}

func (b *book) raise(term uint64) {
	if term > b.floor {
		b.floor, b.last = term, nil
	}
}

// repeat answers a heartbeat as the main goroutine last answered its leader in its term, if that was within
// the limit and is still valid.
func (b *book) repeat(request *raft.AppendEntriesRequest, now time.Time, limit time.Duration) (*raft.AppendEntriesResponse, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.last
	if last == nil || last.term != request.Term || last.leader != identityOf(request.RPCHeader) || now.Sub(last.at) > limit {
		return nil, false
	}
	response := last.response
	return &response, true
}
