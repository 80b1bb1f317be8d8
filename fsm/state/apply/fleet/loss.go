package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// tooManyGone is how many GPUs a node may not lose under one boot: a single one may be bad, with two the host
// is.
const tooManyGone = 2

// goneGPUs returns the GPUs that a node has lost under its present boot.
func goneGPUs(t *tx.Tx, n *model.Node) (out []model.GPUID) {
	for _, id := range tx.GpusOf(t, n.ID) {
		if g := t.GPUs.Must(id); g.Gone != "" && g.Gone == n.Boot {
			out = append(out, id)
		}
	}
	return out
}

// missing handles a GPU that a node does not list. It is lost if it was there under this boot, and nothing
// else is in its place, as when it was divided.
//
// A GPU that no longer exists is removed as soon as it has no owner: something else is in its place, or it
// was missing before and its agent has registered again without it. One that was lost under this boot, or
// that an operator has closed, stays on record.
func missing(t *tx.Tx, n *model.Node, id model.GPUID, list []model.Device) {
	g := t.GPUs.Must(id)
	there := g.Health != model.HealthMissing && n.RegIndex != t.Meta.Index // else it may have been taken out before
	replaced := strings.HasPrefix(string(id), "MIG-") || slices.ContainsFunc(list, func(d model.Device) bool {
		return g.PCI != "" && d.PCI == g.PCI
	})
	if there && !replaced {
		g.Gone = n.Boot
	}
	restarted := g.Health == model.HealthMissing && n.RegIndex == t.Meta.Index && n.Boot != g.Gone
	if slot, _ := t.Slots.Get(model.SlotKey{GPU: id}); (replaced || restarted) && slot.Owner == model.OwnerNone && g.Mode == model.ModeOpen {
		forgetGPU(t, id)
		return
	}
	g.Health, g.Why = model.HealthMissing, "the node no longer lists it"
	t.GPUs.Put(g)
	faulty(t, &g)
}

// forgetGPU removes a GPU without an owner.
func forgetGPU(t *tx.Tx, id model.GPUID) {
	key := model.SlotKey{GPU: id}
	t.Claims.Delete(key)
	t.Slots.Delete(key)
	t.GPUs.Delete(id)
}

// cordonByLoss keeps new work off an open node that has just lost one more GPU under
// one boot and has lost too many. Only an operator opens it again.
func cordonByLoss(t *tx.Tx, n *model.Node, before []model.GPUID) {
	gone := goneGPUs(t, n)
	more := slices.ContainsFunc(gone, func(id model.GPUID) bool { return !slices.Contains(before, id) })
	if !more || len(gone) < tooManyGone || n.Mode != model.ModeOpen {
		return
	}
	var names []string
	for _, id := range gone {
		names = append(names, string(id))
	}
	n.Mode = model.ModeCordoned
	n.ModeReason = model.Clip(fmt.Sprintf("%d GPUs were lost under one boot: restart or repair the host, then undrain it (%s)", len(gone), strings.Join(names, ", ")))
	t.Nodes.Put(*n)
}
