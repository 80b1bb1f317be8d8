package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
)

// allOf is more GPUs than a node has, and few enough to be added up.
const allOf = 1 << 16

// asker is for whom a forecast looks for GPUs, as far as bookings go.
type asker struct {
	user, project string
	certain       time.Duration // how long it holds GPUs at most; 0: nobody knows
}

// bookedPart is GPUs of a node that a booking keeps; of a maintenance all of them.
type bookedPart struct {
	n         uint32
	at, until model.Time
	booking   model.Booking
	back      model.Time // when who has them is expected to give them back; 0: nobody has them
}

// bookings is what a forecast takes to be booked of each node.
type bookings struct {
	now   model.Time
	parts map[model.NodeID][]bookedPart
	has   map[model.ScopeKey][]holderOf
}

// holderOf is a GPU that somebody has until it is expected to be free.
type holderOf struct {
	node  model.NodeID
	model string
	until model.Time
}

// held is how many GPUs of a node bookings keep from somebody who starts at an instant
// and may hold GPUs until after they begin. While a booking's owner has some of them these
// are kept from nobody: who starts gets others.
func (b *bookings) held(id model.NodeID, at model.Time, who *asker) (n uint32) {
	if b == nil || who == nil {
		return 0
	}
	at = max(at, b.now)
	ends := never
	if who.certain > 0 {
		ends = at.Add(who.certain)
	}
	for i := range b.parts[id] {
		v := &b.parts[id][i]
		if v.at < ends && v.until > at && v.back <= at && !v.booking.For(who.user, who.project) {
			n += v.n
		}
	}
	return n
}

// book notes what is booked. A booking that names no nodes is taken to be on those that
// are expected to have most free when it begins.
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
	c.times.base = nil // there is more to wait for now
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
			n := b.GPUs / uint32(len(ids)) //nolint:gosec // few
			c.bookPart(b, id, n-min(n, own[id]), 0)
		}
	}
}

// bookPart notes GPUs of a node as booked, from when they are given back on if somebody
// has them, but not before the booking begins.
func (c *course) bookPart(b *model.Booking, id model.NodeID, n uint32, back model.Time) {
	at := c.pool.booked.parts
	at[id] = append(at[id], bookedPart{n, max(back, b.Start), b.End, *b, back})
}

// float finds nodes for a booking that names none.
func (c *course) float(b *model.Booking) {
	left := b.GPUs
	for _, n := range c.owned(b) { // order-free: a sum
		left -= min(left, n)
	}
	w := want{model: b.Model, state: c.state, aside: aside{until: c.now.Add(b.End.Sub(b.Start)), asks: &asker{certain: b.End.Sub(b.Start)}}}
	l := newLanes(&c.times, &w)
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
	slices.SortStableFunc(list, func(x, y *lane) int { return cmp.Compare(open[y.node], open[x.node]) })
	for _, v := range list {
		if n := min(left, open[v.node]); n > 0 {
			c.bookPart(b, v.node, n, 0)
			left -= n
		}
	}
}

// owned notes the GPUs that a booking's owner has, which are booked from when they are
// expected to be free, and how many those are by node.
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

// holders lists what users and projects have.
func (c *course) holders() map[model.ScopeKey][]holderOf {
	all := map[model.ScopeKey][]holderOf{}
	for key, slot := range c.state.Slots.All() {
		if slot.Owner != model.OwnerAttempt {
			continue
		}
		job, _ := c.state.Jobs.Get(slot.Rank.Job)
		g, _ := c.state.GPUs.Get(key.GPU)
		for _, scope := range admission.Scopes(job.Spec.Project, job.Spec.User) {
			all[scope] = append(all[scope], holderOf{slot.Node, g.Model, c.times.endOf(slot.Rank.Attempt())})
		}
	}
	return all
}

// reopen expects the GPUs of a node to be free when its maintenance is over.
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
	c.times.releases, c.times.byNode = append(c.times.releases, r), nil
}
