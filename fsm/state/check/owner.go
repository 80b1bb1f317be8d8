package check

import "github.com/berth-gpu/berth/fsm/model"

// checkSlots: each slot's owner is of one kind, exists, and may own.
func checkSlots(c *checker) {
	for k, slot := range c.s.Slots.All() {
		ranked, allocated := slot.Rank != (model.RankKey{}), slot.Allocation != ""
		switch slot.Owner {
		case model.OwnerNone:
			c.hold(!ranked && !allocated, SingleOwner, "slot %v is free and names %s %s", k, slot.Rank, slot.Allocation)
		case model.OwnerAttempt:
			c.hold(ranked && !allocated, SingleOwner, "slot %v of an attempt names %s %q", k, slot.Rank, slot.Allocation)
			checkOwnedByRank(c, &slot)
		case model.OwnerAllocation:
			c.hold(!ranked && allocated, SingleOwner, "slot %v of an allocation names %s %q", k, slot.Rank, slot.Allocation)
			a, _ := c.s.Allocations.Get(slot.Allocation)
			c.hold(a.State == model.AllocationActive, SingleOwner, "slot %v is owned by allocation %q, which is %s", k,
				slot.Allocation, a.State)
		case model.OwnerCleaning:
			c.hold(ranked != allocated, SingleOwner, "slot %v in cleaning names %s %q", k, slot.Rank, slot.Allocation)
			checkCleanedUp(c, &slot)
		case model.OwnerForeign:
			c.hold(ranked && !allocated, SingleOwner, "foreign slot %v names %s %q", k, slot.Rank, slot.Allocation)
		default:
			c.hold(false, SingleOwner, "slot %v has an owner of unknown kind %d", k, slot.Owner)
		}
		c.hold(!slot.Kill || slot.Owner == model.OwnerForeign, SingleOwner, "slot %v, %s, is marked to be killed", k, slot.Owner)
	}
}

func checkOwnedByRank(c *checker, slot *model.Slot) {
	r, there := residentOf(c, slot)
	a, _ := c.s.Attempts.Get(slot.Rank.Attempt())
	c.hold(there && a.Live(), SingleOwner, "slot %v on %s is owned by rank %s, which does not live there", slot.Key,
		slot.Node, slot.Rank)
	c.hold(!r.Phase.Ended(), ShownClean, "slot %v is owned by rank %s, which is %s: it should be cleaned up", slot.Key,
		slot.Rank, r.Phase)
}

// checkCleanedUp: an owner whose slots are being cleaned is on record, and has ended.
func checkCleanedUp(c *checker, slot *model.Slot) {
	if slot.Allocation != "" {
		a, _ := c.s.Allocations.Get(slot.Allocation)
		c.hold(a.State.Terminal(), SingleOwner, "slot %v is cleaned up after allocation %q, which is %s", slot.Key,
			slot.Allocation, a.State)
		return
	}
	r, there := residentOf(c, slot)
	_, known := c.s.Attempts.Get(slot.Rank.Attempt())
	c.hold(there && known && r.Phase.Ended(), SingleOwner, "slot %v is cleaned up after rank %s, which has not ended there",
		slot.Key, slot.Rank)
}

// checkAllocations: an active one has all its slots, on one node.
func checkAllocations(c *checker) {
	held := map[model.AllocationID]uint32{}
	on := map[model.AllocationID]model.NodeID{}
	for k, slot := range c.s.Slots.All() {
		if slot.Owner == model.OwnerAllocation {
			first := held[slot.Allocation] == 0
			c.hold(first || on[slot.Allocation] == slot.Node, WholeGang, "allocation %q has slot %v on another node", slot.Allocation, k)
			held[slot.Allocation]++
			on[slot.Allocation] = slot.Node
		}
	}
	for k, a := range c.s.Allocations.All() {
		want := uint32(0)
		if a.State == model.AllocationActive {
			want = a.GPUs
		}
		c.hold(held[k] == want, WholeGang, "allocation %q, %s, of %d GPUs owns %d", k, a.State, a.GPUs, held[k])
		c.hold(a.State >= model.AllocationQueued && a.State <= model.AllocationLost, References, "allocation %q is in state %d",
			k, a.State)
	}
}
