package check

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// moveSlots: from an owner through cleaning to free, and never past it.
func moveSlots(m *mover) {
	for k, d := range table.Diffs(m.was.Slots, m.s.Slots) {
		if !d.Was {
			continue
		}
		a, b, found := d.Before, d.After, d.Is
		node, there := m.s.Nodes.Get(a.Node)
		if !found {
			forgotten := a.Owner == model.OwnerNone || !m.one // its GPU was removed
			m.hold(!there || node.RegIndex == m.s.Index || forgotten, References, "slot %v is gone with its owner %s, its node %s is not", k, a.Owner, a.Node)
			continue
		}
		m.hold(b.Node == a.Node || !m.one, References, "slot %v moves from node %s to %s", k, a.Node, b.Node)
		held := a.Rank == b.Rank && a.Allocation == b.Allocation
		switch a.Owner {
		case model.OwnerAttempt:
			moveOffRank(m, &a, &b, held)
		case model.OwnerAllocation:
			cleaning := held && b.Owner == model.OwnerCleaning
			m.hold(held && b.Owner == a.Owner || cleaning || hasRebooted(m, a.Node) || !m.one, ShownClean,
				"slot %v goes from allocation %q to %s without the node's word", k, a.Allocation, b.Owner)
		case model.OwnerCleaning:
			m.hold(held && b.Owner == a.Owner || shown(b.Owner) || !m.one, ShownClean, "slot %v goes from cleaning to %s", k, b.Owner)
		case model.OwnerForeign:
			m.hold(shown(b.Owner) || held && b.Owner == model.OwnerAttempt || !held && !m.one, ShownClean, "slot %v goes from foreign to %s", k, b.Owner)
		case model.OwnerNone:
			m.hold(b.Owner != model.OwnerCleaning || !m.one, ShownClean, "slot %v goes from free to cleaning", k)
		}
	}
}

// shown: a slot that its node has verified as clean is free, or at once a foreign attempt's that the node has
// found there.
func shown(o model.Owner) bool { return o == model.OwnerNone || o == model.OwnerForeign }

// moveOffRank: a slot that leaves a rank has to be cleaned, unless the node has reported in the same command
// that the rank ended and that the GPU is clean, or has booted.
func moveOffRank(m *mover, a, b *model.Slot, held bool) {
	if held && b.Owner == model.OwnerAttempt {
		return
	}
	r, _ := m.s.Ranks.Get(a.Rank)
	m.hold(r.Phase.Ended(), ShownClean, "slot %v leaves rank %s, which is %s", a.Key, a.Rank, r.Phase)
	m.hold(held && b.Owner == model.OwnerCleaning || r.Phase < model.RankLost || hasRebooted(m, a.Node) || !m.one, ShownClean,
		"slot %v goes from rank %s, %s, to %s without the node's word", a.Key, a.Rank, r.Phase, b.Owner)
}

// hasRebooted reports whether the node has registered with another boot.
func hasRebooted(m *mover, id model.NodeID) bool {
	a, _ := m.was.Nodes.Get(id)
	b, found := m.s.Nodes.Get(id)
	return found && b.RegIndex == m.s.Index && a.Boot != b.Boot
}

// moveAllocations: an ended one stays as it is, and nothing is requested twice.
func moveAllocations(m *mover) {
	for k, d := range table.Diffs(m.was.Allocations, m.s.Allocations) {
		if !d.Was {
			continue
		}
		a, b, found := d.Before, d.After, d.Is
		if !found {
			m.hold(a.State.Terminal(), NothingLost, "allocation %q, %s, is gone", k, a.State)
			continue
		}
		again := b.Index == m.s.Index && !m.one // removed, and requested again, in one entry
		m.hold(!a.State.Terminal() || a == b || again, OneAttempt, "allocation %q moves after its end: from %+v to %+v", k, a, b)
		m.hold(b.State >= a.State || again, OneAttempt, "allocation %q goes back from %s to %s", k, a.State, b.State)
	}
}
