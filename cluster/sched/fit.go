package sched

import (
	"iter"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

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

// findFewer returns the place with the most GPUs for a task that cannot have all GPUs that it asks for: fewer
// whole nodes, or fewer GPUs on its node.
func findFewer(p *pool, w *want) ([]part, bool) {
	few := w.few()
	if w.whole {
		open := uint32(0)
		for free := w.need; free <= p.most(w); free++ {
			for _, h := range p.with(free, w) {
				if p.count(h, w) >= w.need {
					open++
				}
			}
		}
		if n := min(open, w.nodes); n >= few.nodes {
			return nodesFor(p, w, w.need, int(n))
		}
		return nil, false
	}
	all, most := p.suiting(w)
	if w.nodes == 1 || p.oneHolds(w) {
		all = most
	}
	if most >= few.need && most >= min(all, w.need) {
		return nodesFor(p, w, min(most, w.need), 1)
	}
	if all < few.need {
		return nil, false
	}
	few.need = min(all, w.need)
	return p.spread(&few)
}

// seek finds GPUs that bookings leave to a task.
func (w *want) seek(p *pool) ([]part, bool) {
	if w.keep == nil {
		return p.find(w)
	}
	for to := range ruleCount {
		w.keep.setRule(to)
		if parts, fits := p.find(w); fits && w.keep.allows(w.lots(parts)...) {
			return parts, true
		}
	}
	if free := *w; w.until > 0 { // GPUs that are booked for the task are not reserved for others
		free.until = 0
		if parts, fits := p.find(&free); fits && w.keep.allows(w.lots(parts)...) {
			return parts, true
		}
	}
	return nil, false
}

// joins reports whether bookings leave one more part to a task, in addition to the parts that it has found.
func (w *want) joins(taken, parts []part, more part) bool {
	k := w.keep
	if k == nil {
		return true
	}
	at := placeAmong{ledger.Lot{GPUs: more.n}, len(taken) + len(parts)}
	at.at.Node, at.at.Model = k.books.Place(more.host.id, more.host.gpus[0].model)
	if k.shut[at] {
		return false
	}
	all := append(append(slices.Clone(taken), parts...), more)
	if k.allows(w.lots(all)...) {
		return true
	}
	k.shut[at] = !mixed(more.host)
	return false
}

// lots returns the GPUs that a task would take.
func (w *want) lots(parts []part) (out []ledger.Lot) {
	for _, v := range parts {
		for _, g := range choose(w.keep.candidates(v.host, w), w, int(v.n)) {
			i := len(out) - 1
			if i < 0 || out[i].Node != v.host.id || out[i].Model != g.model {
				out = append(out, ledger.Lot{Node: v.host.id, Model: g.model})
				i++
			}
			out[i].GPUs++
		}
	}
	return out
}

// holdsAll reports whether all parts are free for a task, and bookings leave them to the task.
func (w *want) holdsAll(p *pool, parts []part) bool {
	enough := func(v part) bool { return p.count(v.host, w) >= v.n }
	if w.keep == nil {
		return !slices.ContainsFunc(parts, func(v part) bool { return !enough(v) })
	}
	for to := range ruleCount {
		w.keep.setRule(to)
		if !slices.ContainsFunc(parts, func(v part) bool { return !enough(v) }) && w.keep.allows(w.lots(parts)...) {
			return true
		}
	}
	return false
}
