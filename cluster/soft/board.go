package soft

import (
	"maps"
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
	other map[model.NodeID]refusal
	swept time.Duration
}

// refusal is the last registration of another agent for a node, and the first of those that came since.
type refusal struct {
	first, last time.Duration
	why         string
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
	return &Board{boot: boot, nodes: map[model.NodeID]entry{}, other: map[model.NodeID]refusal{}}
}

// Put stores a node's samples in place of its former ones. The board keeps the slice.
func (b *Board) Put(node model.NodeID, samples []model.Sample) {
	now := b.boot()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes[node] = entry{now, samples}
	b.sweep(now)
}

// Refuse notes that another agent registers for a node, and why that was refused.
func (b *Board) Refuse(node model.NodeID, why string) {
	now := b.boot()
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.other[node]
	if !known || now-r.last > Kept {
		r.first = now
	}
	r.last, r.why = now, why
	b.other[node] = r
	b.sweep(now)
}

// repeats is for how long an agent must have registered again and again to be another one that lives: a single registration may have been
// delayed on its way.
const repeats = 10 * time.Second

// Refused returns why registrations of other agents for a node are refused, by node.
func (b *Board) Refused() map[model.NodeID]string {
	now := b.boot()
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[model.NodeID]string{}
	for id, r := range b.other { // order-free: a map again
		if now-r.last <= Kept && r.last-r.first >= repeats {
			out[id] = r.why
		}
	}
	return out
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
	maps.DeleteFunc(b.other, func(_ model.NodeID, r refusal) bool { return now-r.last > Kept })
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
