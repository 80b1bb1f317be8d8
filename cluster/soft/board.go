package soft

import (
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Kept is how long the last samples of a node are kept.
const Kept = 2 * time.Minute

// Board is the newest sample of every GPU. Its methods may be called from any
// goroutine.
type Board struct {
	boot func() time.Duration // a clock that never jumps

	mu    sync.Mutex
	nodes map[model.NodeID]entry
	swept time.Duration
}

type entry struct {
	at      time.Duration
	samples []model.Sample
}

// Reading is a sample and its age.
type Reading struct {
	Sample model.Sample
	Age    time.Duration
}

// NewBoard returns an empty board over a clock that never jumps.
func NewBoard(boot func() time.Duration) *Board {
	return &Board{boot: boot, nodes: map[model.NodeID]entry{}}
}

// Put stores a node's samples in place of its former ones. The board keeps the slice.
func (b *Board) Put(node model.NodeID, samples []model.Sample) {
	now := b.boot()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes[node] = entry{now, samples}
	b.sweep(now)
}

// sweep drops nodes that have been silent for long.
func (b *Board) sweep(now time.Duration) {
	if now-b.swept < Kept/2 {
		return
	}
	b.swept = now
	for id, e := range b.nodes {
		if now-e.at > Kept {
			delete(b.nodes, id)
		}
	}
}

// fresh is the age up to which a sample counts as current.
const fresh = 10 * time.Second

// Unused returns for how long, up to now, the job that holds a GPU of a node has left it at 0 %; 0: it has
// not, or the node's last sample is old.
func (b *Board) Unused(node model.NodeID, gpu model.GPUID) time.Duration {
	now := b.boot()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.nodes[node]
	if now-e.at > fresh {
		return 0
	}
	for _, s := range e.samples {
		if s.GPU == gpu {
			return s.Unused
		}
	}
	return 0
}

// Busy returns a GPU's measured utilisation, in percent; false if it measures none, as a part of a GPU (MIG),
// or the node's last sample is old.
func (b *Board) Busy(node model.NodeID, gpu model.GPUID) (percent uint32, known bool) {
	now := b.boot()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.nodes[node]
	if now-e.at > fresh || strings.HasPrefix(string(gpu), "MIG-") {
		return 0, false
	}
	for _, s := range e.samples {
		if s.GPU == gpu {
			return uint32(s.Utilization), true
		}
	}
	return 0, false
}

// All returns the newest sample of every GPU, in no order.
func (b *Board) All() []Reading {
	now := b.boot()
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Reading
	for _, e := range b.nodes {
		if age := now - e.at; age <= Kept {
			for _, s := range e.samples {
				out = append(out, Reading{s, age})
			}
		}
	}
	return out
}
