package sched_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// bookStep books at random, or does something else that bookings are about.
func bookStep(t *rapid.T, c *cluster, nodes int) {
	node := fmt.Sprint("n", rapid.IntRange(0, nodes-1).Draw(t, "node"))
	switch rapid.IntRange(0, 6).Draw(t, "book step") {
	case 0:
		if n := c.s.Settings().Booking.Next; n > 0 {
			c.apply(&command.CancelBooking{ID: model.BookingID(rapid.Uint64Range(1, uint64(n)).Draw(t, "booking"))})
		}
	case 1, 2:
		c.now = c.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
		c.must(&command.AdvanceClock{})
		turnBookings(c)
	default:
		b := model.Booking{
			Kind: model.BookGPUs, Owner: model.ScopeKey{Kind: model.ScopeUser, Name: rapid.SampledFrom([]string{"amy", "bob", "svc"}).Draw(t, "whose")},
			GPUs: uint32(rapid.IntRange(1, 5).Draw(t, "booked")), Model: rapid.SampledFrom([]string{"", "A"}).Draw(t, "booked kind"),
			Start: c.now.Add(time.Duration(rapid.IntRange(0, 180).Draw(t, "in")) * time.Minute),
		}
		b.End = b.Start.Add(time.Duration(rapid.IntRange(1, 180).Draw(t, "for")) * time.Minute)
		if rapid.IntRange(0, 3).Draw(t, "project") == 0 {
			b.Owner = model.ScopeKey{Kind: model.ScopeProject, Name: "p"}
		}
		switch rapid.IntRange(0, 3).Draw(t, "where") {
		case 0:
			b.Nodes, b.Model = node, ""
		case 1:
			b = model.Booking{Kind: model.BookMaintenance, Nodes: node, Start: b.Start, End: b.End}
		}
		c.apply(&command.Book{Booking: b})
	}
}

// turnBookings names the bookings whose start or end has come, as a leader does.
func turnBookings(c *cluster) {
	turn(c, func(b *model.Booking) bool { return b.End <= c.now || b.Start <= c.now && !b.Begun })
}

// endBookings ends those that are over.
func endBookings(c *cluster) { turn(c, func(b *model.Booking) bool { return b.End <= c.now }) }

func turn(c *cluster, is func(*model.Booking) bool) {
	var ids []model.BookingID
	for id, b := range c.s.Bookings.All() {
		if is(&b) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		c.must(&command.TurnBookings{IDs: ids})
	}
}

// bookable is a random cluster that may be booked as a whole.
func bookable(t *rapid.T) (*cluster, int) {
	c, nodes := randomTuned(t)
	c.must(&command.SetBookingCaps{Caps: model.BookingCaps{Percent: 100, Ahead: 24 * time.Hour, Longest: 24 * time.Hour, PerUser: 50}})
	return c, nodes
}

func mixed(t *rapid.T, c *cluster, nodes int) {
	if rapid.IntRange(0, 2).Draw(t, "about bookings") == 0 {
		bookStep(t, c, nodes)
	} else {
		step(t, c, nodes)
	}
}

// The law of explanations holds with bookings, and every plan is accepted: Apply
// looks at the same ledger.
func TestExplanationsAgreeWithThePlanBesideBookings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := bookable(t)
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			mixed(t, c, nodes)
			placed := c.copied().plan()
			for _, key := range waiting(c) {
				e, _ := explain.Task(&c.s, c.now, key)
				if slices.Contains(placed, key) != (len(e.Blockers) == 0) {
					t.Fatalf("the plan places %v; task %s is blocked by %+v", placed, key, e.Blockers)
				}
				checkUnblock(t, c, &e)
			}
			if rapid.Bool().Draw(t, "carry out") {
				c.plan()
			}
		}
	})
}

// Whatever is proposed, what Apply accepts leaves no booking shorter than it was. How
// short one is is found here in another way: by matching GPUs with what is booked, one
// by one.
func TestNothingShortensABooking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := bookable(t)
		for range rapid.IntRange(1, 24).Draw(t, "steps") {
			mixed(t, c, nodes)
			for _, key := range waiting(c) {
				_, job := c.asks(key)
				at := bestFit(c, &job.Spec, key, int(job.Spec.GPUs), false)
				before, was := shortages(c), c.s
				if at == nil || !tried(c, c.start(key, at)) {
					continue
				}
				for id, n := range shortages(c) {
					if n > max(before[id], 0) {
						t.Fatalf("placing %s at %+v makes booking %s short by %d, it was by %d\n%+v", key, at, id, n, before[id], was.Bookings)
					}
				}
				if rapid.Bool().Draw(t, "think again") {
					c.s = was
				}
			}
		}
	})
}

// The same state and time give the same plan.
func TestPlansBesideBookingsAreDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := bookable(t)
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			mixed(t, c, nodes)
			a, next := sched.Plan(&c.s, c.now)
			if b, again := sched.Plan(&c.s, c.now); next != again || !reflect.DeepEqual(a, b) {
				t.Fatalf("plans differ: %+v and %+v", a, b)
			}
			c.plan()
		}
	})
}

// shortages is for each booking that is not over how many of all booked GPUs cannot be
// had when it begins.
func shortages(c *cluster) map[model.BookingID]int {
	out := map[model.BookingID]int{}
	for id, b := range c.s.Bookings.All() {
		if b.Kind == model.BookGPUs && b.End > c.now {
			out[id] = shortage(c, &b)
		}
	}
	return out
}

func shortage(c *cluster, at *model.Booking) int {
	var wants []wish
	for _, b := range c.s.Bookings.All() {
		ids := b.NodeIDs()
		if b.Kind != model.BookGPUs || !b.Holds(at.Start) || b.End <= c.now {
			continue
		}
		for i := range int(b.GPUs) {
			w := wish{booking: b}
			if len(ids) > 0 {
				w.node = ids[i%len(ids)]
			}
			wants = append(wants, w)
		}
	}
	taken := map[model.GPUID]int{}
	met := 0
	for i := range wants {
		if match(c, at, wants, i, taken, map[model.GPUID]bool{}) {
			met++
		}
	}
	return len(wants) - met
}

// wish is one GPU that is booked.
type wish struct {
	booking model.Booking
	node    model.NodeID // empty: any
}

// match finds a GPU for a wish, moving others along.
func match(c *cluster, at *model.Booking, wants []wish, i int, taken map[model.GPUID]int, seen map[model.GPUID]bool) bool {
	for id, g := range c.s.GPUs.All() {
		if seen[id] || !meets(c, at, &wants[i], &g) {
			continue
		}
		seen[id] = true
		if other, is := taken[id]; !is || match(c, at, wants, other, taken, seen) {
			taken[id] = i
			return true
		}
	}
	return false
}

// meets says that a GPU can serve a booking when another begins: it is free then, or
// its owner's job still has it. No maintenance comes in the time of the one it serves.
func meets(c *cluster, at *model.Booking, w *wish, g *model.GPU) bool {
	if w.node != "" && g.Node != w.node || w.booking.Model != "" && g.Model != w.booking.Model {
		return false
	}
	for _, b := range c.s.Bookings.All() {
		if b.Kind == model.BookMaintenance && b.Overlaps(&w.booking) && slices.Contains(b.NodeIDs(), g.Node) {
			return false
		}
	}
	node, _ := c.s.Nodes.Get(g.Node)
	slot, _ := c.s.Slots.Get(model.SlotKey{GPU: g.ID})
	open := node.Schedulable() && g.Usable()
	switch slot.Owner {
	case model.OwnerNone, model.OwnerCleaning:
		return open
	case model.OwnerAllocation:
		a, _ := c.s.Allocations.Get(slot.Allocation)
		return w.booking.For(a.User, a.Project)
	case model.OwnerForeign:
		return false
	case model.OwnerAttempt:
	}
	a, _ := c.s.Attempts.Get(slot.Rank.Attempt())
	job, _ := c.s.Jobs.Get(slot.Rank.Job)
	if end := a.CertainEnd(); end == 0 || !at.Begun && end <= at.Start {
		return open
	}
	return w.booking.For(job.Spec.User, job.Spec.Project)
}
