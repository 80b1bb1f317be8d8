package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
)

func sharesOn(nodes []model.NodeID, at []split.Part) (out []share) {
	for _, v := range at {
		out = append(out, share{node: nodes[v.Node], n: uint32(v.GPUs)})
	}
	return out
}

// orderOf returns a job's own strategy, or else the cluster's, as the order of nodes that a search knows.
func orderOf(b *builder, own string) split.Order {
	switch strategyOf(b.pass.state, &model.Spec{Placement: own}) {
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
		out[i] = b.pass.pool.turnOf(id)
	}
	return out
}

// loadsOf returns how busy each node is, in percent; nil: it is not known.
func loadsOf(b *builder) []uint64 {
	if len(b.pass.pool.loads) == 0 {
		return nil
	}
	out := make([]uint64, len(b.nodes))
	for i, id := range b.nodes {
		out[i] = split.Unknown
		if load, known := b.pass.pool.loads[id]; known {
			out[i] = uint64(load)
		}
	}
	return out
}
