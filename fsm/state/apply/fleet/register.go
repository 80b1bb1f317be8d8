package fleet

import (
	"fmt"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/apply/placement"
	"github.com/berth-gpu/berth/fsm/state/apply/services"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Register registers a node. The order matters: the ends that the node knows come first, and only then
// what a reboot or a lost data folder implies.
func Register(t *tx.Tx, b *command.Register) command.Result {
	old, known := t.Nodes.Get(b.Node)
	if r := identity(t, b, &old, known); !r.OK() {
		return r
	}
	rebooted := known && old.Boot != b.Boot
	forgot := known && !rebooted && old.Lineage != b.Lineage
	node := old
	if rebooted {
		node.LastBoot = old.Boot
	}
	if known && old.Lineage != b.Lineage {
		node.LastLineage = old.Lineage
	}
	if b.Session != old.Session {
		node.Rests = 0 // the next job shows whether another agent can start jobs
	}
	node.ID, node.Machine, node.Boot, node.Lineage, node.Session = b.Node, b.Machine, b.Boot, b.Lineage, b.Session
	node.Hostname, node.Address, node.Version = b.Hostname, b.Address, b.Version
	node.CPUs, node.MemoryMB, node.Features, node.Status = b.CPUs, b.MemoryMB, b.Features, model.NodeUp
	node.Labels, node.Trouble, node.Accounts, node.Account, node.Missing = b.Labels, b.Trouble, b.Accounts, b.Account, ""
	node.Epoch, node.Registered, node.RegIndex = max(old.Epoch, t.Settings.Epochs)+1, t.Clock, t.Meta.Index
	t.Nodes.Put(node)
	t.Leases.Put(model.Lease{Node: b.Node, Epoch: node.Epoch, Index: t.Meta.Index, At: t.Clock})

	for i := range b.Reports {
		progress(t, b.Node, &b.Reports[i])
	}
	for i := range b.Cleaned {
		cleaned(t, b.Node, &b.Cleaned[i])
	}
	if rebooted {
		buryNode(t, b.Node, model.ReasonRebooted)
		freeAfterReboot(t, b)
	} else if forgot {
		orphan(t, b)
	}
	devices(t, b.Node, b.Devices)
	foreign(t, b)
	tx.TouchNode(t, b.Node)
	return command.Result{Number: node.Epoch}
}

// identity refuses a node id that another machine holds, and GPUs that another node holds: proof of a reboot
// counts only on the same machine. A registration that follows another epoch than the node's was overtaken on
// its way and proves nothing: its agent asks again if it lives. A boot and a data folder do not come back, so
// one with the former one was delayed, too, or two agents take turns for one node.
func identity(t *tx.Tx, b *command.Register, old *model.Node, known bool) command.Result {
	if known && old.Machine != b.Machine {
		return tx.Refuse(model.CodeIdentity, "node %s is machine %s, this is %s: give one of them another data folder, "+
			"or retire the node", b.Node, old.Machine, b.Machine)
	}
	if why := overtaken(b, old); known && why != "" {
		return command.Result{Code: model.CodeStaleEpoch, Number: old.Epoch, Detail: "node " + string(b.Node) + " " + why}
	}
	for i := range b.Devices {
		if g, found := t.GPUs.Get(b.Devices[i].ID); found && g.Node != b.Node {
			return tx.Refuse(model.CodeIdentity, "GPU %s belongs to node %s: retire that node if the GPU has moved",
				b.Devices[i].ID, g.Node)
		}
	}
	return tx.OK()
}

// overtaken returns why a registration of a known node proves nothing; "" if it does.
func overtaken(b *command.Register, old *model.Node) string {
	back := b.Boot == old.LastBoot || b.Lineage == old.LastLineage
	switch {
	case b.Follows != 0 && b.Follows != old.Epoch:
		return fmt.Sprintf("is in epoch %d: this follows epoch %d", old.Epoch, b.Follows)
	case back && b.Follows != 0:
		return "has registered since with another boot or data folder: if two agents run for it, stop one; " +
			"if its former data folder was put back, give it a new one"
	case back:
		return "has registered since with another boot or data folder: this came late"
	}
	return ""
}

// buryNode gives up everything that lives on a node whose processes are proven gone.
func buryNode(t *tx.Tx, id model.NodeID, why model.Reason) {
	for _, r := range tx.LiveRanks(t, id) {
		r = t.Ranks.Must(r.Key)
		if !r.Phase.Ended() {
			loseRank(t, r, why)
		}
	}
	for _, a := range activeAllocations(t, id) {
		services.EndAllocation(t, a, model.AllocationLost)
	}
}

func loseRank(t *tx.Tx, r model.Rank, why model.Reason) {
	r.Phase, r.Cause = model.RankLost, why
	task := t.Tasks.Must(r.Key.Attempt().TaskKey())
	tx.Event(t, &task, model.Event{What: model.EventRankLost, N: r.Key.N, Reason: why, Detail: string(r.Node)})
	t.Tasks.Put(task)
	placement.EndRank(t, r)
}

// freeAfterReboot frees slots that were being cleaned or foreign: the processes died with the kernel, and the
// inventory of the new one shows the GPU idle, or gone.
func freeAfterReboot(t *tx.Tx, b *command.Register) {
	busy := map[model.GPUID]bool{}
	for i := range b.Devices {
		busy[b.Devices[i].ID] = !b.Devices[i].Idle
	}
	for _, id := range tx.GpusOf(t, b.Node) {
		gpu := t.GPUs.Must(id)
		if busy[id] {
			continue
		}
		for n := range gpu.Slots {
			slot, _ := t.Slots.Get(model.SlotKey{GPU: id, Slot: n})
			if slot.Owner == model.OwnerCleaning || slot.Owner == model.OwnerForeign {
				freeSlot(t, slot)
			}
		}
	}
}

// orphan marks ranks that an agent with another data folder has no folder for: with the former data folder it lost the
// means to extend their lease or to report their end, so they are given up once a lease's time has passed,
// whatever the node renews. An agent that still has its data folder finds what is left of a rank without a folder, and reports
// what became of that rank: the desired set goes on naming it.
func orphan(t *tx.Tx, b *command.Register) {
	for _, r := range tx.LiveRanks(t, b.Node) {
		if r.Orphan == 0 && !hasFolder(b, r.Key) {
			r.Orphan = t.Meta.Index
			t.Ranks.Put(r)
		}
	}
}

func hasFolder(b *command.Register, k model.RankKey) bool {
	for i := range b.Folders {
		if b.Folders[i].Rank == k {
			return true
		}
	}
	return false
}

// foreign gives the GPUs of running attempts that this state does not know - it was restored from an older
// backup - to those attempts, so that nothing is placed on top of them.
func foreign(t *tx.Tx, b *command.Register) {
	for i := range b.Folders {
		f := &b.Folders[i]
		r, found := t.Ranks.Get(f.Rank)
		if !f.Running || f.Incarnation == t.Settings.Incarnation || (found && r.Node == b.Node && !r.Phase.Ended()) {
			continue
		}
		for _, id := range f.GPUs {
			slot, found := t.Slots.Get(model.SlotKey{GPU: id})
			if found && slot.Node == b.Node && slot.Owner == model.OwnerNone {
				slot.Owner, slot.Rank, slot.Since = model.OwnerForeign, f.Rank, t.Meta.Index
				t.Slots.Put(slot)
			}
		}
	}
}

// devices updates the node's GPUs to its inventory.
func devices(t *tx.Tx, node model.NodeID, list []model.Device) command.Result {
	listed := make(map[model.GPUID]bool, len(list))
	for i := range list {
		d := &list[i]
		listed[d.ID] = true
		g, found := t.GPUs.Get(d.ID)
		if found && g.Node != node {
			return tx.Refuse(model.CodeIdentity, "GPU %s belongs to node %s", d.ID, g.Node)
		}
	}
	n := t.Nodes.Must(node)
	before := goneGPUs(t, &n)
	for i := range list {
		device(t, &n, &list[i])
	}
	for _, id := range tx.GpusOf(t, node) {
		if !listed[id] {
			missing(t, &n, id, list)
		}
	}
	cordonByLoss(t, &n, before)
	return tx.OK()
}

func device(t *tx.Tx, n *model.Node, d *model.Device) {
	key := model.SlotKey{GPU: d.ID}
	slot, found := t.Slots.Get(key)
	g := model.GPU{
		ID: d.ID, Node: n.ID, Index: d.Index, Model: d.Model, MemoryMB: d.MemoryMB, PCI: d.PCI, NUMA: d.NUMA,
		Link: d.Link, Slots: 1, Health: d.Health, Why: d.Why,
	}
	if old, known := t.GPUs.Get(d.ID); known {
		g.Mode, g.ModeReason = old.Mode, old.ModeReason
	}
	if d.Gone {
		g.Gone = n.Boot
	}
	if slot.Owner == model.OwnerNone && !d.Idle && g.Health.Usable() {
		g.Health, g.Why = model.HealthUnmanaged, "in use, but not by Berth"
	}
	t.GPUs.Put(g)
	if !found {
		t.Slots.Put(model.Slot{Key: key, Node: n.ID, Since: t.Meta.Index})
	}
	faulty(t, &g)
}

// faulty stops the attempt on a GPU that has failed: it is requeued, uncharged.
func faulty(t *tx.Tx, g *model.GPU) {
	if g.Health == model.HealthQuarantined || g.Health == model.HealthMissing {
		stopOn(t, g.ID, model.ReasonGPUFault, model.Clip("GPU "+string(g.ID)+" of node "+string(g.Node)+": "+g.Why))
	}
}
