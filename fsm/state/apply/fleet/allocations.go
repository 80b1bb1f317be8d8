package fleet

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/apply/services"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// AllocationLost ends an allocation whose GPUs are lost.
func AllocationLost(t *tx.Tx, b *command.AllocationLost) command.Result {
	n, _, r := unchanged(t, b.Node, b.Epoch, b.Seq)
	if !r.OK() {
		return r
	}
	a, found := t.Allocations.Get(b.ID)
	slots := tx.SlotsOfAllocation(t, b.ID)
	switch {
	case !found || a.State != model.AllocationActive || len(slots) == 0:
		return tx.Refuse(model.CodeNotLive, "allocation %s holds nothing", b.ID)
	case n.Status == model.NodeUp:
		return tx.Refuse(model.CodeNotSuspect, "node %s is not suspect", b.Node)
	}
	if slot := t.Slots.Must(slots[0]); slot.Node != b.Node {
		return tx.Refuse(model.CodeConflict, "allocation %s is not on node %s", b.ID, b.Node)
	}
	services.EndAllocation(t, a, model.AllocationLost)
	return tx.OK()
}

// activeAllocations returns the allocations that hold GPUs of a node, each once.
func activeAllocations(t *tx.Tx, node model.NodeID) (out []model.Allocation) {
	mine := func(k model.AddressKey) bool { return k.Node == node }
	for _, k := range tx.KeysOf(t.NodeGPUs.Now().From(model.AddressKey{Node: node}), mine) {
		slot := t.Slots.Must(model.SlotKey{GPU: k.GPU})
		if slot.Owner != model.OwnerAllocation || slices.ContainsFunc(out, func(a model.Allocation) bool { return a.ID == slot.Allocation }) {
			continue
		}
		if a, found := t.Allocations.Get(slot.Allocation); found && a.State == model.AllocationActive {
			out = append(out, a)
		}
	}
	return out
}
