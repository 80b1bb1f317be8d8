package sched

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// hunt looks for GPUs for one task.
type hunt struct {
	pass  *pass
	want  *want
	class model.Class
	owns  bool // what it asks for is within what its owner owns
	all   *prey
	yards []*yard
}

// yard is what a task could have of one node.
type yard struct {
	node model.NodeID
	open []model.SlotKey // free, or soon
	held []bag           // by whom it could take from, cheapest first
}

// bag is what a victim holds of a yard.
type bag struct {
	victim *victim
	slots  []model.SlotKey
}

// choose finds the GPUs that the task is to have, and whom to stop for them: of the
// lowest classes, of those who lose least, and no more than needed.
func (h *hunt) choose() (slots []model.SlotKey, victims []*victim, found bool) {
	h.survey()
	nodes := max(int(h.want.nodes), 1)
	if h.want.nodes == 0 && !h.pass.pool.oneHolds(h.want) {
		return h.everywhere()
	}
	chosen := map[*victim]bool{}
	for range nodes {
		best, took := h.cheapest(chosen)
		if best == nil {
			return nil, nil, false
		}
		victims = append(victims, took...)
		for _, v := range took {
			chosen[v] = true
		}
		slots = append(slots, best.slots(h.want.need, chosen)...)
		h.yards = slices.DeleteFunc(h.yards, func(y *yard) bool { return y == best })
	}
	return slots, victims, true
}

// survey finds out what each node has for the task.
func (h *hunt) survey() {
	yards := map[model.NodeID]*yard{}
	at := func(id model.NodeID) *yard {
		if yards[id] == nil {
			yards[id] = &yard{node: id}
			h.yards = append(h.yards, yards[id])
		}
		return yards[id]
	}
	pool := h.pass.pool
	for free := pool.most(h.want); free > 0; free-- {
		for _, host := range pool.with(free, h.want) {
			if !h.want.sites.has(host.id) {
				continue
			}
			pool.load(host)
			for i := range host.gpus {
				if g := &host.gpus[i]; h.want.takes(g) {
					at(host.id).open = append(at(host.id).open, g.slot)
				}
			}
		}
	}
	for id, slots := range h.all.coming { // order-free: the yards are sorted below
		for _, slot := range slots {
			if h.suits(slot) {
				at(id).open = append(at(id).open, slot)
			}
		}
	}
	for _, v := range h.all.victims {
		if !h.may(v) {
			continue
		}
		for _, on := range v.holds(h.pass.state) {
			if h.suits(on.slot) {
				at(on.node).put(v, on.slot)
			}
		}
	}
	slices.SortFunc(h.yards, func(a, b *yard) int { return a.node.Compare(b.node) })
}

// may says that the task has a right to a victim's GPUs: by its class, or since they
// are borrowed.
func (h *hunt) may(v *victim) bool {
	return h.class >= model.ClassHigh && v.class < h.class || h.owns && v.lends && v.class <= h.class
}

// suits says that the task could use a GPU once it is free.
func (h *hunt) suits(slot model.SlotKey) bool {
	g, _ := h.pass.state.GPUs.Get(slot.GPU)
	if !h.want.sites.has(g.Node) {
		return false
	}
	if k := h.want.keep; k != nil {
		k.stake.At = []state.Lot{{Node: g.Node, Model: g.Model, GPUs: 1}}
		if _, shut := k.books.Closed(&k.stake); shut {
			return false
		}
	}
	return h.want.offers(&g) && h.want.suits(g.Model, g.MemoryMB) && !h.want.shuns(g.ID)
}

// put adds a GPU of a victim; those of one victim come one after the other.
func (y *yard) put(v *victim, slot model.SlotKey) {
	if n := len(y.held); n == 0 || y.held[n-1].victim != v {
		y.held = append(y.held, bag{victim: v})
	}
	last := &y.held[len(y.held)-1]
	last.slots = append(last.slots, slot)
}

// take is whom to stop besides those chosen to have n GPUs of the yard; false if
// there are not as many.
func (y *yard) take(n uint32, chosen map[*victim]bool) (victims []*victim, ok bool) {
	have := len(y.open)
	var taken []bag
	for _, b := range y.held {
		if chosen[b.victim] {
			have += len(b.slots)
		}
	}
	for _, b := range y.held {
		if have >= int(n) {
			break
		}
		if !chosen[b.victim] {
			have += len(b.slots)
			taken = append(taken, b)
		}
	}
	if have < int(n) {
		return nil, false
	}
	for i := len(taken) - 1; i >= 0; i-- { // the dearest first: who is not needed is left alone
		if have-len(taken[i].slots) >= int(n) {
			have -= len(taken[i].slots)
			continue
		}
		victims = append(victims, taken[i].victim)
	}
	return victims, true
}

// slots are n GPUs of the yard, open ones first.
func (y *yard) slots(n uint32, chosen map[*victim]bool) []model.SlotKey {
	out := slices.Clone(y.open)
	for _, b := range y.held {
		if chosen[b.victim] {
			out = append(out, b.slots...)
		}
	}
	return out[:n]
}

// cheapest is the node whose GPUs cost the least, and whom to stop for them.
func (h *hunt) cheapest(chosen map[*victim]bool) (best *yard, victims []*victim) {
	var least price
	for _, y := range h.yards {
		took, ok := y.take(h.want.need, chosen)
		if !ok {
			continue
		}
		if cost := priceOf(took); best == nil || cost.compare(least) < 0 {
			best, victims, least = y, took, cost
		}
	}
	return best, victims
}

// everywhere gathers GPUs of as few nodes as possible, for a task that no single
// node could hold.
func (h *hunt) everywhere() (slots []model.SlotKey, victims []*victim, found bool) {
	whole := &yard{}
	for _, y := range h.yards {
		whole.open = append(whole.open, y.open...)
	}
	for _, v := range h.all.victims {
		if !h.may(v) {
			continue
		}
		for _, on := range v.holds(h.pass.state) {
			if h.suits(on.slot) {
				whole.put(v, on.slot)
			}
		}
	}
	victims, found = whole.take(h.want.need, nil)
	if !found {
		return nil, nil, false
	}
	chosen := map[*victim]bool{}
	for _, v := range victims {
		chosen[v] = true
	}
	slices.SortStableFunc(h.yards, func(a, b *yard) int { return cmp.Compare(b.size(chosen), a.size(chosen)) })
	left := h.want.need
	for i, y := range h.yards {
		n := min(left, uint32(y.size(chosen))) //nolint:gosec // GPUs of a node
		slots = append(slots, y.slots(n, chosen)...)
		if left -= n; left == 0 {
			return slots, victims, true
		}
		if i+1 == model.MaxRanks {
			break
		}
	}
	return nil, nil, false
}

// size is how many GPUs of the yard the task could have without stopping more.
func (y *yard) size(chosen map[*victim]bool) int {
	n := len(y.open)
	for _, b := range y.held {
		if chosen[b.victim] {
			n += len(b.slots)
		}
	}
	return n
}

// price is what stopping some attempts costs, what counts most first.
type price struct {
	class    model.Class // the highest among them
	unasked  uint32      // GPUs of jobs that do not allow it
	loss     int64       // GPU-milliseconds
	gpus     uint32
	attempts int
}

func priceOf(victims []*victim) (p price) {
	for _, v := range victims {
		p.class = max(p.class, v.class)
		if !v.yields {
			p.unasked += v.gpus
		}
		p.loss += v.loss
		p.gpus += v.gpus
	}
	p.attempts = len(victims)
	return p
}

func (p price) compare(o price) int {
	return cmp.Or(cmp.Compare(p.class, o.class), cmp.Compare(p.unasked, o.unasked), cmp.Compare(p.loss, o.loss),
		cmp.Compare(p.gpus, o.gpus), cmp.Compare(p.attempts, o.attempts))
}
