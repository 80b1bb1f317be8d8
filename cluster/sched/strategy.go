package sched

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Loads is how busy nodes are: for each known node, the mean utilisation of its GPUs in percent. Loads come from
// measurements of GPUs, so they are not part of the state.
type Loads map[model.NodeID]uint32

// Weighs reports whether a plan for s depends on loads.
func Weighs(s *state.State) bool {
	if set := s.Settings(); queue.TuningOf(&set).Placement == model.StrategyLeastLoaded {
		return s.Queue.Len() > 0
	}
	for head := range queue.Heads(s) {
		if head.Run.Value().Shape.Strategy == model.StrategyLeastLoaded.String() {
			return true
		}
	}
	return false
}

// PlanLoaded returns what [Plan] returns, where it is known how busy nodes are, and the outlook of its search;
// nil: there was none. Loads choose among nodes, but never decide whether something starts: the plan has the same
// tasks as without them. If choosing by load would place other tasks, the plan is the one without loads.
func PlanLoaded(s *state.State, now model.Time, loads Loads) (commands []command.Body, next model.Time, o *Outlook) {
	set := s.Settings()
	if !set.Running || set.Standstill {
		return nil, 0, nil
	}
	p := NewPlanner(s, now)
	p.found.looks = true
	p.Run()
	next = p.next()
	if len(loads) > 0 && len(p.commands) > 0 && Weighs(s) {
		q := NewPlanner(s, now)
		q.pool.loads, q.found.looks = loads, true
		if q.Run(); alike(p.commands, q.commands) {
			p = q
		}
	}
	return p.commands, next, p.outlook
}

// alike reports whether two plans do the same, except for the nodes that they choose.
func alike(a, b []command.Body) bool {
	return slices.EqualFunc(a, b, func(a, b command.Body) bool {
		switch x := a.(type) {
		case *command.Place:
			y, is := b.(*command.Place)
			return is && x.Attempt == y.Attempt
		case *command.Grant:
			y, is := b.(*command.Grant)
			return is && x.ID == y.ID
		case *command.Suspend:
			y, is := b.(*command.Suspend)
			return is && slices.Equal(x.Attempts, y.Attempts)
		case *command.Preempt:
			y, is := b.(*command.Preempt)
			return is && x.Beneficiary == y.Beneficiary && slices.Equal(x.Victims, y.Victims)
		case *command.Steer:
			y, is := b.(*command.Steer)
			return is && *x == *y
		}
		return false
	})
}

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
