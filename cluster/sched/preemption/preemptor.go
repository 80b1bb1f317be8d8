package preemption

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// preemptor is the choice of GPUs and victims for one preemptor.
type preemptor struct {
	rights

	request *place.Request
	all     *Step
	offers  []*nodeOffer
}

// nodeOffer is the GPUs of one node that the preemptor could have.
type nodeOffer struct {
	node model.NodeID
	open []model.SlotKey // free, or free soon
	held []victimGPUs    // by victim, cheapest first
}

// victimGPUs is the GPUs of a node that a victim holds.
type victimGPUs struct {
	victim *victim
	slots  []model.SlotKey
}

// preemptorKey is what preemptors have in common that find the same GPUs.
type preemptorKey struct {
	class model.Class
	owns  bool
	shape model.Shape

	// Set only if something is booked: bookings distinguish preemptors by these.
	user, project string
	certain       time.Duration
}

// claimFor claims GPUs for a preemptor and stops the victims, and reports whether it found enough GPUs for that.
func (m *Step) claimFor(k state.QueueKey, t *admission.Ticket) bool {
	p := m.pass
	m.collectVictims()
	asked := p.RequestOf(t)
	asked.Until = 0
	w := asked.Fewest() // no victim is stopped for more GPUs
	by := rights{pass: p, task: k.Task, class: k.Class, owns: m.owns(k), at: p.Order.SortKey(k), ends: endOf(p, t, k)}
	h := &preemptor{rights: by, request: &w, all: m}
	like := h.key(&t.Job.Spec)
	if ends, vain := m.failed[like]; vain && h.ends >= ends {
		return false
	}
	slots, victims, found := h.choose()
	if !found || len(victims) > maxVictims || !bookingsLeave(p, &w, slots, victims) {
		if t.Task.Avoid > 0 { // like tasks may take the GPUs that this one avoids
			m.selective++
		} else {
			m.failed[like] = h.ends
		}
		m.retryWith(h)
		return false
	}
	b := &command.Preempt{Beneficiary: k.Task, Slots: slots, Decided: p.State.Index}
	var grace time.Duration
	for _, v := range victims {
		b.Victims = append(b.Victims, v.key)
		grace = max(grace, v.grace)
	}
	b.Until = p.Now.Add(grace + claimSlack)
	p.Commands = append(p.Commands, b)
	return true
}

// key returns what the preemptor has in common with others. If one of them found too little, no later one in the
// order that stays for as long finds more.
func (h *preemptor) key(spec *model.Spec) preemptorKey {
	like := preemptorKey{class: h.class, owns: h.owns, shape: spec.Shape()}
	like.shape.Strategy, like.shape.Where = "", place.WhereOf(h.pass.State, spec, h.task.IsTurn())
	if h.request.Bookings != nil {
		like.user, like.project, like.certain = spec.User, spec.Project, spec.Certain()
	}
	return like
}

// choose finds the GPUs and the victims for the preemptor. It leaves alone what is kept for tasks that the
// preemptor has no right to pass. What is kept for other tasks, it takes before it stops any victim.
func (h *preemptor) choose() (slots []model.SlotKey, victims []*victim, found bool) {
	h.survey()
	h.withhold()
	return h.find()
}

// survey finds the GPUs that each node has for the preemptor.
func (h *preemptor) survey() {
	offers := map[model.NodeID]*nodeOffer{}
	at := func(id model.NodeID) *nodeOffer {
		if offers[id] == nil {
			offers[id] = &nodeOffer{node: id}
			h.offers = append(h.offers, offers[id])
		}
		return offers[id]
	}
	capacity := h.pass.Free
	for free := capacity.MostFree(h.request); free > 0; free-- {
		for _, host := range capacity.NodesWith(free, h.request) {
			if !h.request.Sites.Has(host.ID) {
				continue
			}
			capacity.Load(host)
			for i := range host.GPUs {
				if g := &host.GPUs[i]; h.request.Takes(g) {
					at(host.ID).open = append(at(host.ID).open, g.Slot)
				}
			}
		}
	}
	for id, slots := range h.all.freeSoon { // order-free: the offers are sorted below
		for _, slot := range slots {
			if h.suits(slot) {
				at(id).open = append(at(id).open, slot)
			}
		}
	}
	for _, v := range h.all.victims {
		if !h.right(v.class, v.lender != nil) {
			continue
		}
		for _, on := range v.holds(h.pass.State) {
			if h.suits(on.slot) {
				at(on.node).put(v, on.slot)
			}
		}
	}
	slices.SortFunc(h.offers, func(a, b *nodeOffer) int { return a.node.Compare(b.node) })
}

// suits reports whether the preemptor could use a GPU once the GPU is free.
func (h *preemptor) suits(slot model.SlotKey) bool {
	g, _ := h.pass.State.GPUs.Get(slot.GPU)
	if !h.request.Sites.Has(g.Node) {
		return false
	}
	if h.request.Bookings.Closed(g.Node, g.Model) {
		return false
	}
	return h.request.Offers(&g) && h.request.Suits(g.Model, g.MemoryMB) && !h.request.Avoids(g.ID)
}

// group is a set of victims.
type group map[*victim]bool

func groupOf(victims []*victim) group {
	g := make(group, len(victims))
	for _, v := range victims {
		g[v] = true
	}
	return g
}

// put adds a GPU of a victim; all GPUs of one victim are added one after the other.
func (offer *nodeOffer) put(v *victim, slot model.SlotKey) {
	if n := len(offer.held); n == 0 || offer.held[n-1].victim != v {
		offer.held = append(offer.held, victimGPUs{victim: v})
	}
	last := &offer.held[len(offer.held)-1]
	last.slots = append(last.slots, slot)
}

// slots returns n GPUs of the offer, open ones first.
func (offer *nodeOffer) slots(n uint32, chosen group) []model.SlotKey {
	out := slices.Clone(offer.open)
	for _, b := range offer.held {
		if chosen[b.victim] {
			out = append(out, b.slots...)
		}
	}
	return out[:n]
}

// size returns how many GPUs of the offer the preemptor could have if the chosen victims were stopped.
func (offer *nodeOffer) size(chosen group) uint32 {
	n := len(offer.open)
	for _, b := range offer.held {
		if chosen[b.victim] {
			n += len(b.slots)
		}
	}
	return uint32(n)
}

// anywhere reports whether the preemptor gets GPUs of as few nodes as possible: no single node could hold it.
func (h *preemptor) anywhere() bool {
	return h.request.Nodes == 0 && !h.pass.Free.OneNodeHolds(h.request)
}

// gather returns the GPUs of the preemptor if the chosen victims are stopped; false if there are too few.
func (h *preemptor) gather(chosen group) (slots []model.SlotKey, enough bool) {
	if h.anywhere() {
		return h.spread(chosen)
	}
	left := max(h.request.Nodes, 1)
	for _, offer := range h.offers {
		if left > 0 && offer.size(chosen) >= h.request.PerNode {
			slots = append(slots, offer.slots(h.request.PerNode, chosen)...)
			left--
		}
	}
	return slots, left == 0
}

// spread returns GPUs of the nodes that have the most.
func (h *preemptor) spread(chosen group) (slots []model.SlotKey, enough bool) {
	most := slices.Clone(h.offers)
	slices.SortStableFunc(most, func(a, b *nodeOffer) int { return cmp.Compare(b.size(chosen), a.size(chosen)) })
	left := h.request.PerNode
	for _, offer := range most[:min(len(most), model.MaxRanks)] {
		n := min(left, offer.size(chosen))
		slots = append(slots, offer.slots(n, chosen)...)
		left -= n
	}
	return slots, left == 0
}

// bookingsLeave reports whether bookings leave GPUs to a preemptor once the victims are stopped.
func bookingsLeave(p *pass.Pass, w *place.Request, slots []model.SlotKey, victims []*victim) bool {
	if w.Bookings == nil {
		return true
	}
	after := *w.Bookings
	after.Books = p.Bookings.Books.Copy()
	for _, v := range victims {
		a, _ := p.State.Attempts.Get(v.key)
		stake := state.StakeOf(p.State, &a)
		after.Books.Give(&stake)
	}
	at := make([]ledger.Lot, 0, len(slots))
	for _, key := range slots {
		g, _ := p.State.GPUs.Get(key.GPU)
		at = append(at, ledger.Lot{Node: g.Node, Model: g.Model, GPUs: 1})
	}
	return after.Allows(at...)
}

// withhold leaves to others the GPUs that are kept for them, except those to which the task has a right.
func (h *preemptor) withhold() {
	var everywhere uint64
	at := map[model.NodeID]uint64{}
	for i := range h.all.kept {
		switch o := &h.all.kept[i]; {
		case !h.respects(o):
		case o.Node == "":
			everywhere += uint64(o.GPUs)
		default:
			at[o.Node] += uint64(o.GPUs)
		}
	}
	for _, offer := range h.offers {
		offer.leave(everywhere + at[offer.node])
	}
}

// leave leaves so many GPUs of the offer to others, the open ones first.
func (offer *nodeOffer) leave(n uint64) {
	open := uint64(len(offer.open))
	offer.open = offer.open[:open-min(n, open)]
	for n -= min(n, open); n > 0 && len(offer.held) > 0; {
		last := &offer.held[len(offer.held)-1]
		cut := min(n, uint64(len(last.slots)))
		if last.slots = last.slots[:uint64(len(last.slots))-cut]; len(last.slots) == 0 {
			offer.held = offer.held[:len(offer.held)-1]
		}
		n -= cut
	}
}
