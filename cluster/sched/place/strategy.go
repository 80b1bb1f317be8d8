package place

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

// StrategyOf returns the job's own strategy, or else the cluster's.
func StrategyOf(s *state.State, spec *model.Spec) model.Strategy {
	if own, given := model.StrategyNamed(spec.Placement); given {
		return own
	}
	set := s.Settings()
	return queue.TuningOf(&set).Placement
}

// nodesFor finds so many nodes that have n GPUs each, in the order of the strategy.
func nodesFor(p *Capacity, w *Request, n uint32, nodes int) (parts []Part, fits bool) {
	if w.Strategy == model.StrategyBestFit {
		return p.bestFit(w, n, nodes, nil)
	}
	var all []candidateHost
	for free := n; free <= p.MostFree(w); free++ {
		for _, h := range p.NodesWith(free, w) {
			if p.Count(h, w) >= n {
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
		parts = append(parts, Part{c.host, n})
	}
	return parts, true
}

// candidateHost is a node that can hold a part of a gang. The lowest rate goes first, and of equal ones the node
// that best fit would take.
type candidateHost struct {
	host *Host
	rate uint64
	fit  uint32 // of nodes that are equally busy: the order of best fit
}

func rate(p *Capacity, h *Host, w *Request, free, need uint32) candidateHost {
	c := candidateHost{host: h}
	switch w.Strategy {
	case model.StrategyBestFit:
	case model.StrategySpread:
		c.rate = ^uint64(free)
	case model.StrategyRoundRobin:
		c.rate = p.LastTurn(h.ID)
	case model.StrategyLeastLoaded:
		c.rate, c.fit = p.loadSteps(h.ID), 2*free
		if h.idle {
			c.fit++
		}
		if h.idle && free > need {
			c.fit += 1 << 16
		}
	}
	return c
}

// turns is what a pass has given to nodes.
type turns struct {
	last  map[model.NodeID]uint64
	gpus  map[model.NodeID]uint32
	count uint64
}

func newTurns() turns {
	return turns{last: map[model.NodeID]uint64{}, gpus: map[model.NodeID]uint32{}}
}

// give notes that a node is given work, later than all nodes that were given work before.
func (g *turns) give(id model.NodeID, gpus int) {
	g.last[id] = 1<<63 + g.count
	g.gpus[id] += uint32(gpus)
}

// LastTurn returns when a node was last given work, as a number that grows.
func (p *Capacity) LastTurn(id model.NodeID) uint64 {
	if n, now := p.last[id]; now {
		return n
	}
	use, _ := p.state.NodeUse.Get(id)
	return use.Given
}

// loadSteps returns how busy a node is, in steps; nodes without a known load come last. What the pass gives to the node
// counts as busy.
func (p *Capacity) loadSteps(id model.NodeID) uint64 {
	load, known := p.Loads[id]
	if !known {
		return split.Unknown
	}
	use, _ := p.state.NodeUse.Get(id)
	return (uint64(load) + 100*uint64(p.gpus[id])/uint64(max(use.All, 1))) / split.Tremble
}
