package place

import (
	"iter"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// Find returns where all of a gang fits, without taking the GPUs. Of the nodes that hold a part, find prefers
// those that come first by the strategy. The strategy does not affect whether the gang fits.
func (p *Capacity) Find(w *Request) ([]Part, bool) {
	if parts, fits := findAll(p, w); fits || w.Least == 0 {
		return parts, fits
	}
	return findFewer(p, w)
}

// findAll returns where all GPUs fit that a gang asks for.
func findAll(p *Capacity, w *Request) ([]Part, bool) {
	if w.Nodes > 1 {
		return nodesFor(p, w, w.PerNode, int(w.Nodes))
	}
	if at, fits := nodesFor(p, w, w.PerNode, 1); fits {
		return at, true
	}
	if w.Nodes == 1 || p.OneNodeHolds(w) {
		return nil, false // the task waits for one node
	}
	return p.spread(w)
}

// Place takes GPUs for all ranks of a task, or none.
func (p *Capacity) Place(w *Request) ([]command.Placement, bool) {
	parts, fits := w.Seek(p)
	if !fits {
		return nil, false
	}
	return p.TakeParts(w, parts), true
}

// TakeParts takes parts of nodes for a task.
func (p *Capacity) TakeParts(w *Request, parts []Part) []command.Placement {
	p.count++ // GPUs that are given together count as one turn
	ranks := make([]command.Placement, 0, len(parts))
	for _, v := range parts {
		ranks = append(ranks, p.take(v.Host, w, v.N))
	}
	w.Bookings.put(p.state, ranks)
	return ranks
}

// bestFit finds the given number of nodes with n GPUs each, apart from nodes that are taken already. Nodes with the
// fewest free GPUs come first, but idle nodes with more than n come last.
func (p *Capacity) bestFit(w *Request, n uint32, nodes int, taken []Part) (parts []Part, fits bool) {
	var last []*Host // idle ones among these would be used in part only
	take := func(hosts []*Host, whole bool) bool {
		for _, h := range hosts {
			if h.idle != whole || among(taken, h) || p.Count(h, w) < n || !w.joins(taken, parts, Part{h, n}) {
				continue
			}
			if parts = append(parts, Part{h, n}); len(parts) == nodes {
				return true
			}
		}
		return false
	}
	for free := n; free <= p.MostFree(w); free++ {
		hosts := p.NodesWith(free, w)
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

// Places yields where all of a task fits: each node that holds the task, those with the fewest free GPUs first.
// For a task of several nodes Places yields only the first nodes that are found.
func Places(p *Capacity, w *Request) iter.Seq[[]Part] {
	return func(yield func([]Part) bool) {
		if w.Nodes > 1 || w.Nodes == 0 && !p.OneNodeHolds(w) {
			if parts, fits := p.Find(w); fits {
				yield(parts)
			}
			return
		}
		for free := w.PerNode; free <= p.MostFree(w); free++ {
			for _, h := range p.NodesWith(free, w) {
				if p.Count(h, w) >= w.PerNode && !yield([]Part{{h, w.PerNode}}) {
					return
				}
			}
		}
	}
}

func among(parts []Part, h *Host) bool {
	return slices.ContainsFunc(parts, func(v Part) bool { return v.Host == h })
}

// spread finds as few nodes as possible for a task that no single node could ever hold. It takes the node with the
// most GPUs each time, and at the end the node with the fewest free GPUs that holds the rest.
func (p *Capacity) spread(w *Request) (parts []Part, fits bool) {
	for left := w.PerNode; left > 0 && len(parts) < model.MaxRanks; {
		if end, fits := p.bestFit(w, left, 1, parts); fits {
			return append(parts, end...), true
		}
		h, n := p.richest(w, parts)
		if n == 0 {
			break
		}
		parts = append(parts, Part{h, n})
		left -= n
	}
	return nil, false
}

// richest returns the node with the most GPUs that suit, and how many it has.
func (p *Capacity) richest(w *Request, taken []Part) (best *Host, most uint32) {
	for free := p.MostFree(w); free > most; free-- {
		for _, h := range p.NodesWith(free, w) {
			if n := p.Count(h, w); n > most && !among(taken, h) && w.joins(taken, nil, Part{h, min(n, w.PerNode)}) {
				best, most = h, n
			}
		}
	}
	return best, most
}

// OneNodeHolds reports whether some node of the cluster has enough GPUs that suit, regardless of their owners now and
// of whether the node takes work.
func (p *Capacity) OneNodeHolds(w *Request) bool {
	key := *w
	key.Task, key.leftToOthers, key.Bookings = model.TaskKey{}, leftToOthers{}, nil
	holds, known := p.holds[key]
	if !known {
		for n := range w.sizes(listed) {
			if holds = n >= max(w.PerNode, w.asked); holds {
				break
			}
		}
		p.holds[key] = holds
	}
	return holds
}

// findFewer returns the place with the most GPUs for a task that cannot have all GPUs that it asks for: fewer
// whole nodes, or fewer GPUs on its node.
func findFewer(p *Capacity, w *Request) ([]Part, bool) {
	few := w.Fewest()
	if w.WholeNodes {
		open := uint32(0)
		for free := w.PerNode; free <= p.MostFree(w); free++ {
			for _, h := range p.NodesWith(free, w) {
				if p.Count(h, w) >= w.PerNode {
					open++
				}
			}
		}
		if n := min(open, w.Nodes); n >= few.Nodes {
			return nodesFor(p, w, w.PerNode, int(n))
		}
		return nil, false
	}
	all, most := p.suiting(w)
	if w.Nodes == 1 || p.OneNodeHolds(w) {
		all = most
	}
	if most >= few.PerNode && most >= min(all, w.PerNode) {
		return nodesFor(p, w, min(most, w.PerNode), 1)
	}
	if all < few.PerNode {
		return nil, false
	}
	few.PerNode = min(all, w.PerNode)
	return p.spread(&few)
}

// Seek finds GPUs that bookings leave to a task.
func (w *Request) Seek(p *Capacity) ([]Part, bool) {
	if w.Bookings == nil {
		return p.Find(w)
	}
	for to := range ruleCount {
		w.Bookings.setRule(to)
		if parts, fits := p.Find(w); fits && w.Bookings.Allows(w.lots(parts)...) {
			return parts, true
		}
	}
	if free := *w; w.Until > 0 { // GPUs that are booked for the task are not reserved for others
		free.Until = 0
		if parts, fits := p.Find(&free); fits && w.Bookings.Allows(w.lots(parts)...) {
			return parts, true
		}
	}
	return nil, false
}

// joins reports whether bookings leave one more part to a task, in addition to the parts that it has found.
func (w *Request) joins(taken, parts []Part, more Part) bool {
	k := w.Bookings
	if k == nil {
		return true
	}
	at := placeAmong{ledger.Lot{GPUs: more.N}, len(taken) + len(parts)}
	at.at.Node, at.at.Model = k.Books.Place(more.Host.ID, more.Host.GPUs[0].Model)
	if k.shut[at] {
		return false
	}
	all := append(append(slices.Clone(taken), parts...), more)
	if k.Allows(w.lots(all)...) {
		return true
	}
	k.shut[at] = !mixed(more.Host)
	return false
}

// lots returns the GPUs that a task would take.
func (w *Request) lots(parts []Part) (out []ledger.Lot) {
	for _, v := range parts {
		for _, g := range choose(w.Bookings.candidates(v.Host, w), w, int(v.N)) {
			i := len(out) - 1
			if i < 0 || out[i].Node != v.Host.ID || out[i].Model != g.Model {
				out = append(out, ledger.Lot{Node: v.Host.ID, Model: g.Model})
				i++
			}
			out[i].GPUs++
		}
	}
	return out
}

// HoldsAll reports whether all parts are free for a task, and bookings leave them to the task.
func (w *Request) HoldsAll(p *Capacity, parts []Part) bool {
	enough := func(v Part) bool { return p.Count(v.Host, w) >= v.N }
	if w.Bookings == nil {
		return !slices.ContainsFunc(parts, func(v Part) bool { return !enough(v) })
	}
	for to := range ruleCount {
		w.Bookings.setRule(to)
		if !slices.ContainsFunc(parts, func(v Part) bool { return !enough(v) }) && w.Bookings.Allows(w.lots(parts)...) {
			return true
		}
	}
	return false
}
