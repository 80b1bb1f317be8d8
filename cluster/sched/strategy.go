package sched

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Loads is how busy nodes are: for each known node, the mean utilisation of its GPUs in percent. Loads come from
// measurements of GPUs, so they are not part of the state.
type Loads map[model.NodeID]uint32

// strategyOf returns the job's own strategy, or else the cluster's.
func strategyOf(s *state.State, spec *model.Spec) model.Strategy {
	if own, given := model.StrategyNamed(spec.Placement); given {
		return own
	}
	set := s.Settings()
	return queue.TuningOf(&set).Placement
}

// nodesFor finds so many nodes that have n GPUs each, in the order of the strategy.
func nodesFor(p *pool, w *want, n uint32, nodes int) (parts []part, fits bool) {
	if w.order == model.StrategyBestFit {
		return p.snug(w, n, nodes, nil)
	}
	var all []candidateHost
	for free := n; free <= p.most(w); free++ {
		for _, h := range p.with(free, w) {
			if p.count(h, w) >= n {
				all = append(all, rate(p, h, w, free, n))
			}
		}
	}
	if len(all) < nodes {
		return nil, false
	}
	slices.SortStableFunc(all, func(a, b candidateHost) int {
		return cmp.Or(cmp.Compare(a.rate, b.rate), cmp.Compare(a.fit, b.fit))
	})
	for _, c := range all[:nodes] {
		parts = append(parts, part{c.host, n})
	}
	return parts, true
}

// candidateHost is a node that can hold a part of a gang. The lowest rate goes first, and of equal ones the node
// that best fit would take.
type candidateHost struct {
	host *host
	rate uint64
	fit  uint32 // of nodes that are equally busy: the order of best fit
}

func rate(p *pool, h *host, w *want, free, need uint32) candidateHost {
	c := candidateHost{host: h}
	switch w.order {
	case model.StrategyBestFit:
	case model.StrategySpread:
		c.rate = ^uint64(free)
	case model.StrategyRoundRobin:
		c.rate = p.turnOf(h.id)
	case model.StrategyLeastLoaded:
		c.rate, c.fit = p.calm(h.id), 2*free
		if h.whole {
			c.fit++
		}
		if h.whole && free > need {
			c.fit += 1 << 16
		}
	}
	return c
}

// gifts is what a pass has given to nodes.
type gifts struct {
	turns map[model.NodeID]uint64
	gpus  map[model.NodeID]uint32
	last  uint64
}

func newGifts() gifts {
	return gifts{turns: map[model.NodeID]uint64{}, gpus: map[model.NodeID]uint32{}}
}

// gives notes that a node is given work, later than all nodes that were given work before.
func (g *gifts) gives(id model.NodeID, gpus int) {
	g.turns[id] = 1<<63 + g.last
	g.gpus[id] += uint32(gpus)
}

// turnOf returns when a node was last given work, as a number that grows.
func (p *pool) turnOf(id model.NodeID) uint64 {
	if n, now := p.turns[id]; now {
		return n
	}
	use, _ := p.state.NodeUse.Get(id)
	return use.Given
}

// calm returns how busy a node is, in steps; nodes without a known load come last. What the pass gives to the node
// counts as busy.
func (p *pool) calm(id model.NodeID) uint64 {
	load, known := p.loads[id]
	if !known {
		return split.Unknown
	}
	use, _ := p.state.NodeUse.Get(id)
	return (uint64(load) + 100*uint64(p.gpus[id])/uint64(max(use.All, 1))) / split.Tremble
}
