package search

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
)

func sharesOn(nodes []model.NodeID, at []split.Part) (out []place.Share) {
	for _, v := range at {
		out = append(out, place.Share{Node: nodes[v.Node], N: uint32(v.GPUs)})
	}
	return out
}

// orderOf returns a job's own strategy, or else the cluster's, as the order of nodes that a search knows.
func orderOf(b *builder, own string) split.Order {
	switch place.StrategyOf(b.pass.State, &model.Spec{Placement: own}) {
	case model.StrategySpread:
		return split.Roomy
	case model.StrategyRoundRobin:
		return split.InTurn
	case model.StrategyLeastLoaded:
		return split.Calm
	case model.StrategyBestFit:
	}
	return split.Snug
}

// turnsOf returns when each node was last given work.
func turnsOf(b *builder) []uint64 {
	out := make([]uint64, len(b.nodes))
	for i, id := range b.nodes {
		out[i] = b.pass.Free.LastTurn(id)
	}
	return out
}

// loadsOf returns how busy each node is, in percent; nil: it is not known.
func loadsOf(b *builder) []uint64 {
	if len(b.pass.Free.Loads) == 0 {
		return nil
	}
	out := make([]uint64, len(b.nodes))
	for i, id := range b.nodes {
		out[i] = split.Unknown
		if load, known := b.pass.Free.Loads[id]; known {
			out[i] = uint64(load)
		}
	}
	return out
}

// kindOf is a kind of GPU: a search distinguishes GPUs by model and memory.
type kindOf struct {
	model  string
	memory uint32
}

// maxKinds bounds the kinds of GPUs that a search distinguishes.
const maxKinds = 64

// survey counts the GPUs of each node and of each rank.
func survey(b *builder) {
	s := b.pass.State
	gpus := make([]model.GPU, 0, s.GPUs.Len())
	for _, g := range s.GPUs.All() {
		gpus = append(gpus, g)
	}
	at := 0
	for key, slot := range s.Slots.All() { // slots and GPUs are both in order of GPU
		for at < len(gpus) && gpus[at].ID < key.GPU {
			at++
		}
		if at == len(gpus) || gpus[at].ID != key.GPU {
			continue
		}
		g := &gpus[at]
		if slot.Owner == model.OwnerAttempt {
			h := b.held[slot.Rank]
			b.held[slot.Rank] = rankGPUs{h.gpus + 1, h.broken || !g.Usable()}
		}
		if n, open := b.index[slot.Node]; open && b.mine(&slot, g) {
			b.count(n, b.kind(g), 1)
			b.gpus++
		}
	}
}

// rankGPUs is what a rank holds.
type rankGPUs struct {
	gpus   int32
	broken bool // some of its GPUs cannot be given to any job now
}

// mine reports whether a usable slot is free, or will be once it is clean or its task ends or is suspended.
func (b *builder) mine(slot *model.Slot, g *model.GPU) bool {
	switch slot.Owner {
	case model.OwnerNone, model.OwnerAttempt, model.OwnerCleaning:
		return g.Usable()
	case model.OwnerAllocation, model.OwnerForeign:
	}
	return false
}

func (b *builder) kind(g *model.GPU) int {
	k := kindOf{g.Model, g.MemoryMB}
	i := slices.Index(b.kinds, k)
	if i < 0 && len(b.kinds) < maxKinds {
		i = len(b.kinds)
		b.kinds = append(b.kinds, k)
	}
	return max(i, 0)
}

func (b *builder) count(node int32, kind int, by int32) {
	for len(b.room[node]) <= kind {
		b.room[node] = append(b.room[node], 0)
	}
	b.room[node][kind] += by
}

// suiting returns the kinds that suit a shape, as a set of bits.
func (b *builder) suiting(s model.Shape) (set uint64) {
	for i, k := range b.kinds {
		if model.OfModel(s.Model, k.model) && k.memory >= s.MemoryMB {
			set |= 1 << i
		}
	}
	return set
}
