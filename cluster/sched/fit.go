package sched

import (
	"iter"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// want is what one task asks of each of its GPUs.
type want struct {
	fewer

	need   uint32 // on each node
	nodes  uint32 // exactly so many; 0: as few as hold them
	model  string // empty: any
	memory uint32
	sites  *sites        // nodes that the task may use; nil: all
	who    model.TaskKey // the task, which may take what is claimed for it
	aside
	order model.Strategy
	avoid model.RankKey // the task has just failed on the GPUs of this rank; zero: on none
	state *state.State  // to look up these GPUs
	keep  *bookingGuard // what bookings leave to the task; nil: everything
}

// aside is what a task leaves to others.
type aside struct {
	kept  bool       // all GPUs but those that are claimed for it
	until model.Time // what is reserved for others before this time; 0: nothing
	asks  *asker     // in a forecast, what is booked for others; nil: nothing
	inTurn
}

// inTurn is what a pass between two searches takes into account of a task.
type inTurn struct {
	ends   model.Time // when the task is expected to end
	yields bool       // the task may be suspended later on
}

func wantOf(s *state.State, spec *model.Spec, who model.TaskKey) want {
	w := want{need: spec.GPUs, nodes: spec.Nodes, model: spec.GPUModel, memory: spec.GPUMemoryMB, who: who, state: s}
	w.sites, w.order = sitesOf(s, whereOf(s, spec, who.IsTurn())), strategyOf(s, spec)
	if w.nodes > 1 {
		w.need /= w.nodes
	}
	if least := spec.Fewer(); least > 0 {
		w.asked, w.least, w.whole = spec.GPUs, least, spec.Nodes > 1
	}
	if task, _ := s.Tasks.Get(who); task.Avoid > 0 {
		a, _ := s.Attempts.Get(who.Attempt(task.Avoid))
		w.avoid = a.Key.Rank(max(a.FirstRank, 1) - 1)
		if !w.holds(w.sizes(w.offers)) {
			w.avoid = model.RankKey{} // no other GPUs could run the task
		}
	}
	return w
}

// offers reports whether a GPU could be given to a task once the GPU is free.
func (w *want) offers(g *model.GPU) bool {
	node, _ := w.state.Nodes.Get(g.Node)
	return g.Usable() && node.Schedulable()
}

// shuns reports whether the task has just failed on a GPU.
func (w *want) shuns(id model.GPUID) bool {
	return w.avoid.Job > 0 && w.state.RankGPUs.Has(model.RankGPUKey{Rank: w.avoid, GPU: id})
}

func (w *want) takes(g *gpu) bool {
	return (g.kept == model.TaskKey{} && !w.kept || g.kept == w.who) && w.suits(g.model, g.memory) && !w.shuns(g.slot.GPU)
}

func (w *want) suits(name string, memory uint32) bool {
	return model.OfModel(w.model, name) && memory >= w.memory
}

// part is n GPUs of a node.
type part struct {
	host *host
	n    uint32
}

// find returns where all of a gang fits, without taking the GPUs. Of the nodes that hold a part, find prefers
// those that come first by the strategy. The strategy does not affect whether the gang fits.
func (p *pool) find(w *want) ([]part, bool) {
	if parts, fits := findAll(p, w); fits || w.least == 0 {
		return parts, fits
	}
	return findFewer(p, w)
}

// findAll returns where all GPUs fit that a gang asks for.
func findAll(p *pool, w *want) ([]part, bool) {
	if w.nodes > 1 {
		return nodesFor(p, w, w.need, int(w.nodes))
	}
	if at, fits := nodesFor(p, w, w.need, 1); fits {
		return at, true
	}
	if w.nodes == 1 || p.oneHolds(w) {
		return nil, false // the task waits for one node
	}
	return p.spread(w)
}

// place takes GPUs for all ranks of a task, or none.
func (p *pool) place(w *want) ([]command.Placement, bool) {
	parts, fits := w.seek(p)
	if !fits {
		return nil, false
	}
	return p.takeParts(w, parts), true
}

// takeParts takes parts of nodes for a task.
func (p *pool) takeParts(w *want, parts []part) []command.Placement {
	p.last++ // GPUs that are given together count as one turn
	ranks := make([]command.Placement, 0, len(parts))
	for _, v := range parts {
		ranks = append(ranks, p.take(v.host, w, v.n))
	}
	w.keep.put(p.state, ranks)
	return ranks
}

// snug finds the given number of nodes with n GPUs each, apart from nodes that are taken already. Nodes with the
// fewest free GPUs come first, but idle nodes with more than n come last.
func (p *pool) snug(w *want, n uint32, nodes int, taken []part) (parts []part, fits bool) {
	var last []*host // idle ones among these would be used in part only
	take := func(hosts []*host, whole bool) bool {
		for _, h := range hosts {
			if h.whole != whole || among(taken, h) || p.count(h, w) < n || !w.joins(taken, parts, part{h, n}) {
				continue
			}
			if parts = append(parts, part{h, n}); len(parts) == nodes {
				return true
			}
		}
		return false
	}
	for free := n; free <= p.most(w); free++ {
		hosts := p.with(free, w)
		if take(hosts, false) || free == n && take(hosts, true) {
			return parts, true
		}
		if free > n {
			last = append(last, hosts...)
		}
	}
	if take(last, true) {
		return parts, true
	}
	return nil, false
}

// choices yields where all of a task fits: each node that holds the task, those with the fewest free GPUs first.
// For a task of several nodes choices yields only the first nodes that are found.
func choices(p *pool, w *want) iter.Seq[[]part] {
	return func(yield func([]part) bool) {
		if w.nodes > 1 || w.nodes == 0 && !p.oneHolds(w) {
			if parts, fits := p.find(w); fits {
				yield(parts)
			}
			return
		}
		for free := w.need; free <= p.most(w); free++ {
			for _, h := range p.with(free, w) {
				if p.count(h, w) >= w.need && !yield([]part{{h, w.need}}) {
					return
				}
			}
		}
	}
}

func among(parts []part, h *host) bool {
	return slices.ContainsFunc(parts, func(v part) bool { return v.host == h })
}

// spread finds as few nodes as possible for a task that no single node could ever hold. It takes the node with the
// most GPUs each time, and at the end the node with the fewest free GPUs that holds the rest.
func (p *pool) spread(w *want) (parts []part, fits bool) {
	for left := w.need; left > 0 && len(parts) < model.MaxRanks; {
		if end, fits := p.snug(w, left, 1, parts); fits {
			return append(parts, end...), true
		}
		h, n := p.richest(w, parts)
		if n == 0 {
			break
		}
		parts = append(parts, part{h, n})
		left -= n
	}
	return nil, false
}

// richest returns the node with the most GPUs that suit, and how many it has.
func (p *pool) richest(w *want, taken []part) (best *host, most uint32) {
	for free := p.most(w); free > most; free-- {
		for _, h := range p.with(free, w) {
			if n := p.count(h, w); n > most && !among(taken, h) && w.joins(taken, nil, part{h, min(n, w.need)}) {
				best, most = h, n
			}
		}
	}
	return best, most
}

// oneHolds reports whether some node of the cluster has enough GPUs that suit, regardless of their owners now and
// of whether the node takes work.
func (p *pool) oneHolds(w *want) bool {
	key := *w
	key.who, key.aside, key.keep = model.TaskKey{}, aside{}, nil
	holds, known := p.holds[key]
	if !known {
		for n := range w.sizes(listed) {
			if holds = n >= max(w.need, w.asked); holds {
				break
			}
		}
		p.holds[key] = holds
	}
	return holds
}
