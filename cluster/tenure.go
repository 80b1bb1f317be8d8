package cluster

import (
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster/leader"
	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// tenure is a peer's leadership.
type tenure struct {
	leads atomic.Bool  // by raft's own notice
	turn  atomic.Int64 // reading of the boot clock when leadership was last won or lost; 0: never
	soft  Soft
	told  notify.Counts // of the process, in all its leaderships, as are these:
	wrong atomic.Uint64 // decisions that came to nothing for a defect

	mu     sync.Mutex
	passes peer.Passes
}

// lately returns how long ago this peer led; 0 while it leads.
func (t *tenure) lately(now time.Duration) time.Duration {
	if t.leads.Load() {
		return 0
	}
	return now - time.Duration(t.turn.Load())
}

// begin resets the counts for another leadership.
func (t *tenure) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passes = peer.Passes{}
}

// leading returns for how long this peer has led; 0: it does not.
func (t *tenure) leading(now time.Duration) time.Duration {
	if !t.leads.Load() {
		return 0
	}
	return now - time.Duration(t.turn.Load())
}

func (t *tenure) passed(one leader.Pass) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passes.Count++
	t.passes.Decided += uint64(one.Decided)
	t.passes.Took += one.Took
}

// sum returns the counts; zero while the peer does not lead.
func (t *tenure) sum() peer.Passes {
	if !t.leads.Load() {
		return peer.Passes{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.passes
}

// Soft is data that a peer receives outside the log. Only what the leader receives counts.
type Soft struct {
	Beats *soft.Beats // when the clients of attached jobs last sent a sign of life
	Board *soft.Board // what GPUs measure
	Feed  *soft.Feed  // notices from the log, the same at every peer
}

// founding returns the command that founds a cluster. It contains all of the founders' configuration:
// settings in a later command could come after a user's job. All random values are drawn here, including the
// secret that signs notices of jobs.
func founding(b command.Bootstrap, level uint32) (*command.Bootstrap, error) {
	b.Level = level
	if _, err := rand.Read(b.Incarnation[:]); err != nil {
		return nil, fmt.Errorf("drawing an incarnation: %w", err)
	}
	if b.Notify.Secret == "" {
		var random [32]byte
		if _, err := rand.Read(random[:]); err != nil {
			return nil, fmt.Errorf("drawing the secret of notices: %w", err)
		}
		b.Notify.Secret = model.NewHookSecret(random)
	}
	return &b, nil
}
