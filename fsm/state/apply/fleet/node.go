package fleet

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/state/apply/placement"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Renew accepts each renewal of the present epoch with a new number.
func Renew(t *tx.Tx, b *command.Renew) command.Result {
	r := command.Result{Verdicts: make([]model.Code, 0, len(b.Renewals))}
	for i := range b.Renewals {
		r.Verdicts = append(r.Verdicts, renewOne(t, &b.Renewals[i]))
	}
	return r
}

func renewOne(t *tx.Tx, v *command.Renewal) model.Code {
	n, r := speaker(t, v.Node, v.Incarnation, v.Epoch)
	if !r.OK() {
		return r.Code
	}
	lease := t.Leases.Must(v.Node)
	if v.Seq <= lease.Seq {
		return model.CodeStaleSeq
	}
	t.Leases.Put(model.Lease{Node: v.Node, Epoch: v.Epoch, Seq: v.Seq, Index: t.Meta.Index, At: t.Clock})
	if rested := n.Rests > 0 && n.Rests <= t.Clock && !placement.Tests(t, &n); rested || n.Status == model.NodeSuspect {
		n.Status = model.NodeUp
		if rested {
			n.Rests = 0
		}
		t.Nodes.Put(n)
	}
	return model.CodeOK
}

// unchanged checks that a node has not renewed since a leader judged it.
func unchanged(t *tx.Tx, id model.NodeID, epoch, seq uint64) (model.Node, model.Lease, command.Result) {
	n, found := t.Nodes.Get(id)
	lease, _ := t.Leases.Get(id)
	switch {
	case !found:
		return n, lease, tx.Refuse(model.CodeNotFound, "there is no node %s", id)
	case n.Epoch != epoch:
		return n, lease, tx.Refuse(model.CodeStaleEpoch, "node %s has registered since", id)
	case lease.Seq != seq:
		return n, lease, tx.Refuse(model.CodeStaleSeq, "node %s has renewed since", id)
	}
	return n, lease, tx.OK()
}

// Suspect marks a node whose lease was not renewed in time.
func Suspect(t *tx.Tx, b *command.Suspect) command.Result {
	n, _, r := unchanged(t, b.Node, b.Epoch, b.Seq)
	if r.OK() && n.Status == model.NodeUp {
		n.Status = model.NodeSuspect
		t.Nodes.Put(n)
	}
	return r
}

// RankLost gives up a rank after a silence. The leader decides that the silence was long enough; that
// there was no renewal meanwhile is checked here.
func RankLost(t *tx.Tx, b *command.RankLost) command.Result {
	rank, found := t.Ranks.Get(b.Rank)
	if !found || rank.Phase.Ended() {
		return tx.Refuse(model.CodeNotLive, "rank %s has ended", b.Rank)
	}
	a := t.Attempts.Must(b.Rank.Attempt())
	n, found := t.Nodes.Get(rank.Node)
	lease := t.Leases.Must(rank.Node)
	switch {
	case a.Frozen.OnLost == model.OnLostHold:
		return tx.Refuse(model.CodeOnHold, "attempt %s waits for its node's or an operator's word", a.Key)
	case rank.Orphan != b.Orphan:
		return tx.Refuse(model.CodeConflict, "rank %s is no orphan since %d", b.Rank, b.Orphan)
	case rank.Orphan > 0:
		loseRank(t, rank, model.ReasonLost)
		return tx.OK()
	case !found || n.Epoch != b.Epoch:
		return tx.Refuse(model.CodeStaleEpoch, "node %s has registered since", rank.Node)
	case lease.Seq != b.Seq:
		return tx.Refuse(model.CodeStaleSeq, "node %s has renewed since", rank.Node)
	case n.Status == model.NodeUp:
		return tx.Refuse(model.CodeNotSuspect, "node %s is not suspect", rank.Node)
	}
	loseRank(t, rank, model.ReasonLost)
	return tx.OK()
}

// SetNodeMode opens, cordons or drains a node.
func SetNodeMode(t *tx.Tx, b *command.SetNodeMode) command.Result {
	n, found := t.Nodes.Get(b.Node)
	if !found {
		return tx.Refuse(model.CodeNotFound, "there is no node %s", b.Node)
	}
	n.Mode, n.ModeReason = b.Mode, b.Note
	t.Nodes.Put(n)
	if b.Mode == model.ModeOpen {
		placement.ForgetRefusals(t, b.Node)
	}
	if b.Mode == model.ModeDraining {
		for _, r := range tx.LiveRanks(t, b.Node) {
			placement.Stop(t, r.Key.Attempt(), model.ReasonDrain, "node "+string(b.Node)+" is drained")
		}
		tx.AnnounceDrained(t, b.Node)
	}
	return tx.OK()
}

// SetNodeLabels stores an operator's labels of a node: they outlive registrations.
func SetNodeLabels(t *tx.Tx, b *command.SetNodeLabels) command.Result {
	n, found := t.Nodes.Get(b.Node)
	if !found {
		return tx.Refuse(model.CodeNotFound, "there is no node %s", b.Node)
	}
	changes, _ := model.ParseLabels(b.Changes) // all were checked when they came
	reported, _ := model.ParseLabels(n.Labels)
	marks, _ := model.ParseLabels(n.Marks)
	for _, v := range changes {
		if _, has := reported.Get(v.Key); v.Gone && !has {
			marks = marks.Without(v.Key)
			continue
		}
		marks = marks.With(v)
	}
	text := marks.String()
	if _, err := model.ParseLabels(text); err != nil {
		return tx.Refuse(model.CodeLimit, "node %s would have too many labels: take some away first", b.Node)
	}
	n.Marks = text
	t.Nodes.Put(n)
	return tx.OK()
}

// SetGPUMode takes a GPU out of service or puts the GPU back.
func SetGPUMode(t *tx.Tx, b *command.SetGPUMode) command.Result {
	g, found := t.GPUs.Get(b.GPU)
	if !found {
		return tx.Refuse(model.CodeNotFound, "there is no GPU %s", b.GPU)
	}
	g.Mode, g.ModeReason = b.Mode, b.Note
	t.GPUs.Put(g)
	if b.Mode == model.ModeDraining {
		stopOn(t, g.ID, model.ReasonDrain, "GPU "+string(g.ID)+" is drained")
	}
	return tx.OK()
}

// stopOn stops the attempt that owns a GPU, if one does.
func stopOn(t *tx.Tx, id model.GPUID, why model.Reason, note string) {
	if slot, _ := t.Slots.Get(model.SlotKey{GPU: id}); slot.Owner == model.OwnerAttempt {
		placement.Stop(t, slot.Rank.Attempt(), why, note)
	}
}

// ConfirmDead relies on an operator's confirmation where no machine can know. The node's epoch grows, so
// that should it live after all, it must register first.
func ConfirmDead(t *tx.Tx, b *command.ConfirmDead) command.Result {
	n, found := t.Nodes.Get(b.Node)
	switch {
	case !found:
		return tx.Refuse(model.CodeNotFound, "there is no node %s", b.Node)
	case n.Epoch != b.Epoch:
		return tx.Refuse(model.CodeConflict, "node %s has registered since you looked", b.Node)
	case n.Status == model.NodeUp:
		return tx.Refuse(model.CodeConflict, "node %s is in contact: it cannot be dead", b.Node)
	}
	n.Epoch++
	n.Status = model.NodeDead
	t.Nodes.Put(n)
	t.Leases.Put(model.Lease{Node: b.Node, Epoch: n.Epoch, Index: t.Meta.Index, At: t.Clock})
	buryNode(t, b.Node, model.ReasonConfirmedDead)
	tx.TouchNode(t, b.Node)
	return tx.OK()
}

// RetireNode removes a node that is gone for good, and makes the cluster refuse its certificates.
func RetireNode(t *tx.Tx, b *command.RetireNode) command.Result {
	n, found := t.Nodes.Get(b.Node)
	if !found {
		return tx.Refuse(model.CodeNotFound, "there is no node %s", b.Node)
	}
	mine := func(k model.AddressKey) bool { return k.Node == b.Node }
	gpus := tx.KeysOf(t.NodeGPUs.Now().From(model.AddressKey{Node: b.Node}), mine)
	for _, k := range gpus {
		slot := t.Slots.Must(model.SlotKey{GPU: k.GPU})
		if slot.Owner != model.OwnerNone && n.Status != model.NodeDead {
			return tx.Refuse(model.CodeConflict, "GPU %s of node %s is not free: %s", k.GPU, b.Node, wayFree(&slot))
		}
	}
	if len(tx.LiveRanks(t, b.Node)) > 0 {
		return tx.Refuse(model.CodeConflict, "jobs still run on node %s: drain it, or confirm that it is dead", b.Node)
	}
	for _, k := range gpus {
		forgetGPU(t, k.GPU)
	}
	t.Settings.Epochs = max(t.Settings.Epochs, n.Epoch)
	t.Nodes.Delete(b.Node)
	t.Leases.Delete(b.Node)
	t.NodeUse.Delete(b.Node)
	if row, known := t.Certificates.Get(membership.Member{Role: model.RoleAgent, Name: string(b.Node)}); known && !row.Revoked {
		tx.Revoke(t, row)
	}
	return tx.OK()
}

// wayFree returns the event that frees a slot that has an owner.
func wayFree(s *model.Slot) string {
	const dead = "stop its agent and, once the node is suspect and nothing runs there any more, confirm that it is dead"
	switch s.Owner {
	case model.OwnerAttempt:
		return "drain the node, or " + dead
	case model.OwnerAllocation:
		return "release allocation " + string(s.Allocation) + ", or " + dead
	case model.OwnerCleaning, model.OwnerForeign, model.OwnerNone:
	}
	return "its agent has to show that no process of the last owner is left; wait for that, restart the host, or " + dead
}

// KillForeign requests the end of an unknown attempt that holds a GPU.
func KillForeign(t *tx.Tx, b *command.KillForeign) command.Result {
	slot, found := t.Slots.Get(b.Slot)
	if !found || slot.Owner != model.OwnerForeign {
		return tx.Refuse(model.CodeNotFound, "no unknown attempt holds GPU %s", b.Slot.GPU)
	}
	slot.Kill = true
	t.Slots.Put(slot)
	tx.TouchNode(t, slot.Node)
	return tx.OK()
}
