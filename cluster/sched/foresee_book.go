package sched

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
)

// allOf is a number of GPUs that exceeds those of any node, and is small enough to be added up.
const allOf = 1 << 16

// book adds the bookings. A booking that names no nodes is assumed to be on the nodes that
// are expected to have the most free GPUs when the booking begins.
func (c *course) book() {
	var all []model.Booking
	for _, b := range c.state.Bookings.All() {
		if b.End > c.now {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return
	}
	c.pool.booked = &bookings{now: c.now, parts: map[model.NodeID][]bookedPart{}, has: c.holders()}
	slices.SortFunc(all, func(a, b model.Booking) int {
		return cmp.Or(cmp.Compare(len(b.NodeIDs()), len(a.NodeIDs())), cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID))
	})
	for i := range all {
		c.bookOne(&all[i])
	}
	c.times.forgetInstants() // the ends of bookings are instants, too
}

func (c *course) bookOne(b *model.Booking) {
	ids := b.NodeIDs()
	if len(ids) == 0 {
		c.float(b)
		return
	}
	var own map[model.NodeID]uint32
	if b.Kind == model.BookGPUs {
		own = c.owned(b)
	}
	for _, id := range ids {
		switch {
		case b.Kind == model.BookMaintenance && b.Begun:
			c.reopen(id, b.End)
		case b.Kind == model.BookMaintenance:
			c.bookPart(b, id, allOf, 0)
		default:
			n := b.GPUs / uint32(len(ids))
			c.bookPart(b, id, n-min(n, own[id]), 0)
		}
	}
}

// bookPart adds GPUs of a node as booked from the start of the booking. If the GPUs have a holder, they are
// booked only after the holder has given them back.
func (c *course) bookPart(b *model.Booking, id model.NodeID, n uint32, back model.Time) {
	at := c.pool.booked.parts
	at[id] = append(at[id], bookedPart{n: n, at: max(back, b.Start), until: b.End, booking: *b, back: back})
}

// float finds nodes for a booking that names none.
func (c *course) float(b *model.Booking) {
	left := b.GPUs
	for _, n := range c.owned(b) { // order-free: a sum
		left -= min(left, n)
	}
	w := want{model: b.Model, state: c.state}
	w.until, w.asks = c.now.Add(b.End.Sub(b.Start)), &asker{certain: b.End.Sub(b.Start)}
	l := newFinder(c.times, &w)
	for at := range c.times.instants() {
		if at.at > b.Start {
			break
		}
		for _, r := range at.releases {
			l.add(r)
		}
	}
	list := l.list()
	open := map[model.NodeID]uint32{}
	for _, v := range list {
		open[v.node] = l.open(v, max(b.Start, c.now))
	}
	slices.SortStableFunc(list, func(x, y *share) int { return cmp.Compare(open[y.node], open[x.node]) })
	for _, v := range list {
		if n := min(left, open[v.node]); n > 0 {
			c.bookPart(b, v.node, n, 0)
			left -= n
		}
	}
}

// owned books the GPUs that a booking's owner holds, from when they are expected to be free, and returns their
// number by node.
func (c *course) owned(b *model.Booking) map[model.NodeID]uint32 {
	on := map[model.NodeID]uint32{}
	ids := b.NodeIDs()
	for _, v := range c.pool.booked.has[b.Owner] {
		if (b.Model == "" || b.Model == v.model) && (len(ids) == 0 || slices.Contains(ids, v.node)) {
			on[v.node]++
			c.bookPart(b, v.node, 1, v.until)
		}
	}
	return on
}

// holders returns the GPUs that users and projects hold.
func (c *course) holders() map[model.ScopeKey][]holderOf {
	all := map[model.ScopeKey][]holderOf{}
	for key, slot := range c.state.Slots.All() {
		if slot.Owner != model.OwnerAttempt {
			continue
		}
		job, _ := c.state.Jobs.Get(slot.Rank.Job)
		g, _ := c.state.GPUs.Get(key.GPU)
		for _, scope := range admission.Scopes(job.Spec.Project, job.Spec.User) {
			all[scope] = append(all[scope], holderOf{node: slot.Node, model: g.Model, until: c.times.endOf(slot.Rank.Attempt())})
		}
	}
	return all
}

// reopen adds the GPUs of a node as free from the end of its maintenance on.
func (c *course) reopen(id model.NodeID, at model.Time) {
	node, _ := c.state.Nodes.Get(id)
	if node.Mode != model.ModeDraining {
		return
	}
	node.Mode = model.ModeOpen
	if !node.Schedulable() {
		return
	}
	r := release{at: at, node: id}
	for k := range c.state.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		if g, _ := c.state.GPUs.Get(k.GPU); g.Usable() {
			r.gpus = append(r.gpus, gpu{slot: model.SlotKey{GPU: k.GPU}, model: g.Model, memory: g.MemoryMB})
		}
	}
	c.times.addRelease(r)
}
