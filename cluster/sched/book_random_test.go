package sched_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/model"
)

// The law of explanations holds with bookings, and every plan is accepted: Apply
// looks at the same ledger.
func TestExplanationsAgreeWithThePlanBesideBookings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.Bookable(t)
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			schedtest.Mixed(t, c, nodes)
			placed := c.Copied().Plan()
			for _, key := range schedtest.Waiting(c) {
				e, _ := explain.Task(&c.State, c.Now, key)
				if slices.Contains(placed, key) != (len(e.Blockers) == 0) {
					t.Fatalf("the plan places %v; task %s is blocked by %+v", placed, key, e.Blockers)
				}
				schedtest.CheckUnblock(t, c, &e)
			}
			if rapid.Bool().Draw(t, "carry out") {
				c.Plan()
			}
		}
	})
}

// Whatever is proposed, what Apply accepts leaves no booking shorter than it was. How
// short one is is found here in another way: by matching GPUs with what is booked, one
// by one.
func TestNothingShortensABooking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.Bookable(t)
		for range rapid.IntRange(1, 24).Draw(t, "steps") {
			schedtest.Mixed(t, c, nodes)
			for _, key := range schedtest.Waiting(c) {
				_, job := c.Asks(key)
				at := bestFit(c, &job.Spec, key, int(job.Spec.GPUs), false)
				before, was := shortages(c), c.State
				if at == nil || !schedtest.Tried(c, c.Start(key, at)) {
					continue
				}
				for id, n := range shortages(c) {
					if n > max(before[id], 0) {
						t.Fatalf("placing %s at %+v makes booking %s short by %d, it was by %d\n%+v", key, at, id, n, before[id], was.Bookings)
					}
				}
				if rapid.Bool().Draw(t, "think again") {
					c.State = was
				}
			}
		}
	})
}

// The same state and time give the same plan.
func TestPlansBesideBookingsAreDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.Bookable(t)
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			schedtest.Mixed(t, c, nodes)
			a, next := sched.Plan(&c.State, c.Now)
			if b, again := sched.Plan(&c.State, c.Now); next != again || !reflect.DeepEqual(a, b) {
				t.Fatalf("plans differ: %+v and %+v", a, b)
			}
			c.Plan()
		}
	})
}

// shortages is for each booking that is not over how many of all booked GPUs cannot be
// had when it begins.
func shortages(c *schedtest.Cluster) map[model.BookingID]int {
	out := map[model.BookingID]int{}
	for id, b := range c.State.Bookings.All() {
		if b.Kind == model.BookGPUs && b.End > c.Now {
			out[id] = shortage(c, &b)
		}
	}
	return out
}

func shortage(c *schedtest.Cluster, at *model.Booking) int {
	var wants []wish
	for _, b := range c.State.Bookings.All() {
		ids := b.NodeIDs()
		if b.Kind != model.BookGPUs || !b.Holds(at.Start) || b.End <= c.Now {
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
func match(c *schedtest.Cluster, at *model.Booking, wants []wish, i int, taken map[model.GPUID]int, seen map[model.GPUID]bool) bool {
	for id, g := range c.State.GPUs.All() {
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
func meets(c *schedtest.Cluster, at *model.Booking, w *wish, g *model.GPU) bool {
	if w.node != "" && g.Node != w.node || w.booking.Model != "" && g.Model != w.booking.Model {
		return false
	}
	for _, b := range c.State.Bookings.All() {
		if b.Kind == model.BookMaintenance && b.Overlaps(&w.booking) && slices.Contains(b.NodeIDs(), g.Node) {
			return false
		}
	}
	node, _ := c.State.Nodes.Get(g.Node)
	slot, _ := c.State.Slots.Get(model.SlotKey{GPU: g.ID})
	open := node.Schedulable() && g.Usable()
	switch slot.Owner {
	case model.OwnerNone, model.OwnerCleaning:
		return open
	case model.OwnerAllocation:
		a, _ := c.State.Allocations.Get(slot.Allocation)
		return w.booking.For(a.User, a.Project)
	case model.OwnerForeign:
		return false
	case model.OwnerAttempt:
	}
	a, _ := c.State.Attempts.Get(slot.Rank.Attempt())
	job, _ := c.State.Jobs.Get(slot.Rank.Job)
	if end := a.CertainEnd(); end == 0 || !at.Begun && end <= at.Start {
		return open
	}
	return w.booking.For(job.Spec.User, job.Spec.Project)
}
