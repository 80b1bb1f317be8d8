package forecast

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/reserve"
	"github.com/berth-gpu/berth/fsm/model"
)

// allOf is a number of GPUs that exceeds those of any node, and is small enough to be added up.
const allOf = 1 << 16

// book adds the bookings. A booking that names no nodes is assumed to be on the nodes that
// are expected to have the most free GPUs when the booking begins.
func (c *inOrder) book() {
	var all []model.Booking
	for _, b := range c.State.Bookings.All() {
		if b.End > c.Now {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return
	}
	c.Free.Booked = &place.ExpectedBookings{Now: c.Now, Parts: map[model.NodeID][]place.BookedPart{}, Held: c.holders()}
	slices.SortFunc(all, func(a, b model.Booking) int {
		return cmp.Or(cmp.Compare(len(b.NodeIDs()), len(a.NodeIDs())), cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID))
	})
	for i := range all {
		c.bookOne(&all[i])
	}
	c.Timetable.ForgetInstants() // the ends of bookings are instants, too
}

func (c *inOrder) bookOne(b *model.Booking) {
	ids := b.NodeIDs()
	if len(ids) == 0 {
		c.assignNodes(b)
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
func (c *inOrder) bookPart(b *model.Booking, id model.NodeID, n uint32, back model.Time) {
	at := c.Free.Booked.Parts
	at[id] = append(at[id], place.BookedPart{N: n, At: max(back, b.Start), Until: b.End, Booking: *b, Back: back})
}

// assignNodes finds nodes for a booking that names none.
func (c *inOrder) assignNodes(b *model.Booking) {
	left := b.GPUs
	for _, n := range c.owned(b) { // order-free: a sum
		left -= min(left, n)
	}
	w := place.Request{Model: b.Model, State: c.State}
	w.Until, w.Holder = c.Now.Add(b.End.Sub(b.Start)), &place.Holder{Certain: b.End.Sub(b.Start)}
	l := reserve.NewFinder(c.Timetable, &w)
	for at := range c.Timetable.Instants() {
		if at.At > b.Start {
			break
		}
		for _, r := range at.Releases {
			l.Add(r)
		}
	}
	list := l.List()
	open := map[model.NodeID]uint32{}
	for _, v := range list {
		open[v.Node] = l.Open(v, max(b.Start, c.Now))
	}
	slices.SortStableFunc(list, func(x, y *place.Share) int { return cmp.Compare(open[y.Node], open[x.Node]) })
	for _, v := range list {
		if n := min(left, open[v.Node]); n > 0 {
			c.bookPart(b, v.Node, n, 0)
			left -= n
		}
	}
}

// owned books the GPUs that a booking's owner holds, from when they are expected to be free, and returns their
// number by node.
func (c *inOrder) owned(b *model.Booking) map[model.NodeID]uint32 {
	on := map[model.NodeID]uint32{}
	ids := b.NodeIDs()
	for _, v := range c.Free.Booked.Held[b.Owner] {
		if (b.Model == "" || b.Model == v.Model) && (len(ids) == 0 || slices.Contains(ids, v.Node)) {
			on[v.Node]++
			c.bookPart(b, v.Node, 1, v.Until)
		}
	}
	return on
}

// holders returns the GPUs that users and projects hold.
func (c *inOrder) holders() map[model.ScopeKey][]place.HeldGPU {
	all := map[model.ScopeKey][]place.HeldGPU{}
	for key, slot := range c.State.Slots.All() {
		if slot.Owner != model.OwnerAttempt {
			continue
		}
		job, _ := c.State.Jobs.Get(slot.Rank.Job)
		g, _ := c.State.GPUs.Get(key.GPU)
		for _, scope := range admission.Scopes(job.Spec.Project, job.Spec.User) {
			all[scope] = append(all[scope], place.HeldGPU{Node: slot.Node, Model: g.Model, Until: c.Timetable.EndOf(slot.Rank.Attempt())})
		}
	}
	return all
}

// reopen adds the GPUs of a node as free from the end of its maintenance on.
func (c *inOrder) reopen(id model.NodeID, at model.Time) {
	node, _ := c.State.Nodes.Get(id)
	if node.Mode != model.ModeDraining {
		return
	}
	node.Mode = model.ModeOpen
	if !node.Schedulable() {
		return
	}
	r := place.Release{At: at, Node: id}
	for k := range c.State.NodeGPUs.From(model.AddressKey{Node: id}) {
		if k.Node != id {
			break
		}
		if g, _ := c.State.GPUs.Get(k.GPU); g.Usable() {
			r.GPUs = append(r.GPUs, place.GPU{Slot: model.SlotKey{GPU: k.GPU}, Model: g.Model, MemoryMB: g.MemoryMB})
		}
	}
	c.Timetable.AddRelease(r)
}
