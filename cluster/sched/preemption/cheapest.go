package preemption

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// find finds the cheapest victims that free enough GPUs together with open ones: node by node, or one victim
// alone. It leaves out victims that are not needed.
func (h *preemptor) find() (slots []model.SlotKey, victims []*victim, found bool) {
	if victims, found = h.nodeByNode(); !found {
		return nil, nil, false
	}
	victims = h.needed(victims)
	if v := h.alone(); v != nil && h.priceOf(v).compare(h.priceOf(victims...)) < 0 {
		victims = []*victim{v}
	}
	slots, found = h.gather(groupOf(victims))
	return slots, victims, found
}

// nodeByNode chooses victims for one node after the other, always the cheapest ones.
func (h *preemptor) nodeByNode() (chosen []*victim, found bool) {
	left, nodes := slices.Clone(h.offers), max(h.request.Nodes, 1)
	if h.anywhere() {
		left = []*nodeOffer{h.whole()}
	}
	for range nodes {
		more, at := h.cheapest(left, chosen)
		if at < 0 {
			return nil, false
		}
		chosen = append(chosen, more...)
		left = slices.Delete(left, at, at+1)
	}
	return chosen, true
}

// whole returns all nodes as one offer.
func (h *preemptor) whole() *nodeOffer {
	all := &nodeOffer{}
	for _, offer := range h.offers {
		all.open = append(all.open, offer.open...)
		all.held = append(all.held, offer.held...)
	}
	slices.SortStableFunc(all.held, func(a, b victimGPUs) int { return a.victim.compare(b.victim) })
	held := all.held[:0]
	for _, b := range all.held {
		if n := len(held); n > 0 && held[n-1].victim == b.victim {
			held[n-1].slots = append(slices.Clip(held[n-1].slots), b.slots...)
			continue
		}
		held = append(held, b)
	}
	all.held = held
	return all
}

// needed removes the chosen victims that are not needed, the most expensive first.
func (h *preemptor) needed(chosen []*victim) []*victim {
	all := groupOf(chosen)
	dearest := slices.SortedFunc(slices.Values(chosen), func(a, b *victim) int { return b.compare(a) })
	for _, v := range dearest {
		all[v] = false
		if _, enough := h.gather(all); !enough {
			all[v] = true
		}
	}
	return slices.DeleteFunc(chosen, func(v *victim) bool { return !all[v] })
}

// alone returns the cheapest victim that suffices alone; nil: there is none.
func (h *preemptor) alone() (best *victim) {
	open, want := uint32(0), max(h.request.Nodes, 1) // nodes, or GPUs
	gains := map[*victim]uint32{}
	anywhere := h.anywhere()
	if anywhere {
		want = h.request.PerNode
	}
	for _, offer := range h.offers {
		n := uint32(len(offer.open))
		switch {
		case anywhere:
			open += n
		case n >= h.request.PerNode:
			open++
			continue
		}
		for _, b := range offer.held {
			switch more := uint32(len(b.slots)); {
			case anywhere:
				gains[b.victim] += more
			case n+more >= h.request.PerNode:
				gains[b.victim]++
			}
		}
	}
	var least price
	for _, v := range h.all.victims {
		if gains[v] == 0 || open+gains[v] < want {
			continue
		}
		if cost := h.priceOf(v); best == nil || cost.compare(least) < 0 {
			best, least = v, cost
		}
	}
	return best
}

// cheapest returns which of some offers has enough GPUs for the lowest price, and which victims to stop for them in
// addition to those chosen; -1: none has enough.
func (h *preemptor) cheapest(offers []*nodeOffer, chosen []*victim) (victims []*victim, at int) {
	base, already := price{}, groupOf(chosen)
	for _, v := range chosen {
		base = h.with(base, v)
	}
	s, at := victimSearch{preemptor: h, taken: slices.Clone(chosen)}, -1
	for i, offer := range offers {
		s.offered, s.steps, s.better = s.offered[:0], maxSteps, false
		have, left := uint32(len(offer.open)), uint32(0)
		for _, b := range offer.held {
			switch n := uint32(len(b.slots)); {
			case already[b.victim]:
				have += n
			default:
				s.offered, left = append(s.offered, b), left+n
			}
		}
		if s.try(0, have, left, base); s.better {
			at = i
		}
	}
	h.spare(chosen)
	if at < 0 {
		return nil, at
	}
	return s.best[len(chosen):], at
}

// maxSteps bounds how many sets of victims of one offer are looked at: all of them where they are few.
const maxSteps = 1 << 12

// victimSearch looks for the cheapest victims of one offer after the other.
type victimSearch struct {
	*preemptor

	offered    []victimGPUs // of the offer, cheapest first
	taken      []*victim    // that are taken, first those that were chosen before
	passedOver []victimGPUs // that are not taken
	steps      int          // that are left
	better     bool         // the best are of this offer
	found      bool
	best       []*victim
	cost       price
}

// try looks at all sets of victims from an index on that, together with those taken, may be better than the best.
func (s *victimSearch) try(from int, have, left uint32, cost price) {
	switch {
	case have+left < s.request.PerNode || s.found && cost.compare(s.cost) >= 0:
		return
	case have >= s.request.PerNode:
		s.best, s.cost, s.found, s.better = slices.Clone(s.taken), cost, true, true
		return
	case s.steps == 0:
		return
	}
	s.steps--
	b := s.offered[from]
	n := uint32(len(b.slots))
	if s.lends(b.victim) && !slices.ContainsFunc(s.passedOver, func(o victimGPUs) bool { return o.alike(&b) }) {
		s.taken = append(s.taken, b.victim)
		s.try(from+1, have+n, left-n, s.with(cost, b.victim))
		s.taken = s.taken[:len(s.taken)-1]
		s.spare([]*victim{b.victim})
	}
	s.passedOver = append(s.passedOver, b)
	s.try(from+1, have, left-n, cost)
	s.passedOver = s.passedOver[:len(s.passedOver)-1]
}

// lends reports whether a victim's owner would still hold more than its guarantee if it gave back what was taken
// already and this victim, except the largest of these.
func (s *victimSearch) lends(v *victim) bool {
	if v.lender == nil || s.byClass(v.class) {
		return true
	}
	largest := v.gpus
	for _, o := range s.taken {
		if o.lender == v.lender && !s.byClass(o.class) {
			largest = max(largest, o.gpus)
		}
	}
	return v.lender.taken+int64(v.gpus)-int64(largest) < v.lender.more
}

// alike reports whether two victims differ only in what is lost if they are stopped. If the first, which is cheaper,
// is not taken, the second is not taken either.
func (b *victimGPUs) alike(o *victimGPUs) bool {
	v, w := b.victim, o.victim
	return len(b.slots) == len(o.slots) && v.class == w.class && v.yields == w.yields && v.gpus == w.gpus && v.lender == w.lender
}

// price is what stopping some attempts costs. The part that counts most comes first.
type price struct {
	over     int64       // GPUs that owners would lack of their guarantees
	class    model.Class // the highest among them
	unasked  uint32      // GPUs of jobs that are not preemptible
	loss     int64       // GPU-milliseconds
	gpus     uint32
	attempts int
}

// with returns a price with one more victim, which counts as taken until it is spared.
func (h *preemptor) with(p price, v *victim) price {
	if l := v.lender; l != nil && !h.byClass(v.class) {
		p.over -= max(l.taken-l.more, 0)
		l.taken += int64(v.gpus)
		p.over += max(l.taken-l.more, 0)
	}
	p.class = max(p.class, v.class)
	if !v.yields {
		p.unasked += v.gpus
	}
	p.loss += v.loss
	p.gpus += v.gpus
	p.attempts++
	return p
}

func (h *preemptor) spare(victims []*victim) {
	for _, v := range victims {
		if l := v.lender; l != nil && !h.byClass(v.class) {
			l.taken -= int64(v.gpus)
		}
	}
}

func (h *preemptor) priceOf(victims ...*victim) (p price) {
	for _, v := range victims {
		p = h.with(p, v)
	}
	h.spare(victims)
	return p
}

func (p price) compare(o price) int {
	return cmp.Or(cmp.Compare(p.over, o.over), cmp.Compare(p.class, o.class), cmp.Compare(p.unasked, o.unasked), cmp.Compare(p.loss, o.loss),
		cmp.Compare(p.gpus, o.gpus), cmp.Compare(p.attempts, o.attempts))
}
