package state

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// applyRenew accepts each renewal of the present epoch with a new number.
func applyRenew(t *tx, b *command.Renew) command.Result {
	r := command.Result{Verdicts: make([]model.Code, 0, len(b.Renewals))}
	for i := range b.Renewals {
		r.Verdicts = append(r.Verdicts, renewOne(t, &b.Renewals[i]))
	}
	return r
}

func renewOne(t *tx, v *command.Renewal) model.Code {
	n, r := speaker(t, v.Node, v.Incarnation, v.Epoch)
	if !r.OK() {
		return r.Code
	}
	lease, _ := t.leases.get(v.Node)
	if v.Seq <= lease.Seq {
		return model.CodeStaleSeq
	}
	t.leases.put(model.Lease{Node: v.Node, Epoch: v.Epoch, Seq: v.Seq, Index: t.meta.Index, At: t.clock})
	if n.Status == model.NodeSuspect {
		n.Status = model.NodeUp
		t.nodes.put(n)
	}
	return model.CodeOK
}

// unchanged checks that a node has not renewed since a leader judged it.
func unchanged(t *tx, id model.NodeID, epoch, seq uint64) (model.Node, model.Lease, command.Result) {
	n, found := t.nodes.get(id)
	lease, _ := t.leases.get(id)
	switch {
	case !found:
		return n, lease, refuse(model.CodeNotFound, "there is no node %s", id)
	case n.Epoch != epoch:
		return n, lease, refuse(model.CodeStaleEpoch, "node %s has registered since", id)
	case lease.Seq != seq:
		return n, lease, refuse(model.CodeStaleSeq, "node %s has renewed since", id)
	}
	return n, lease, ok()
}

func applySuspect(t *tx, b *command.Suspect) command.Result {
	n, _, r := unchanged(t, b.Node, b.Epoch, b.Seq)
	if r.OK() && n.Status == model.NodeUp {
		n.Status = model.NodeSuspect
		t.nodes.put(n)
	}
	return r
}

func applySilent(t *tx, b *command.Silent) command.Result {
	_, lease, r := unchanged(t, b.Node, b.Epoch, b.Seq)
	if r.OK() && b.Elapsed > lease.Silent {
		if lease.Silent == 0 {
			announce(t, model.Notice{Kind: model.NoticeNodeSilent, Node: b.Node, Detail: "not heard for " + b.Elapsed.Round(time.Second).String()})
		}
		lease.Silent = b.Elapsed
		t.leases.put(lease)
	}
	return r
}

// applyRankLost gives up a rank after a silence. The leader decides that the silence was long enough; that
// there was no renewal meanwhile is checked here.
func applyRankLost(t *tx, b *command.RankLost) command.Result {
	rank, found := t.ranks.get(b.Rank)
	if !found || rank.Phase.Ended() {
		return refuse(model.CodeNotLive, "rank %s has ended", b.Rank)
	}
	a, _ := t.attempts.get(b.Rank.Attempt())
	n, found := t.nodes.get(rank.Node)
	lease, _ := t.leases.get(rank.Node)
	switch {
	case a.Frozen.OnLost == model.OnLostHold:
		return refuse(model.CodeOnHold, "attempt %s waits for its node's or an operator's word", a.Key)
	case rank.Orphan != b.Orphan:
		return refuse(model.CodeConflict, "rank %s is no orphan since %d", b.Rank, b.Orphan)
	case rank.Orphan > 0:
		loseRank(t, rank, model.ReasonLost)
		return ok()
	case !found || n.Epoch != b.Epoch:
		return refuse(model.CodeStaleEpoch, "node %s has registered since", rank.Node)
	case lease.Seq != b.Seq:
		return refuse(model.CodeStaleSeq, "node %s has renewed since", rank.Node)
	case n.Status == model.NodeUp:
		return refuse(model.CodeNotSuspect, "node %s is not suspect", rank.Node)
	}
	loseRank(t, rank, model.ReasonLost)
	return ok()
}

func applySetNodeMode(t *tx, b *command.SetNodeMode) command.Result {
	n, found := t.nodes.get(b.Node)
	if !found {
		return refuse(model.CodeNotFound, "there is no node %s", b.Node)
	}
	n.Mode, n.ModeReason = b.Mode, b.Note
	t.nodes.put(n)
	if b.Mode == model.ModeDraining {
		for _, r := range liveRanks(t, b.Node) {
			stop(t, r.Key.Attempt(), model.ReasonDrain, "node "+string(b.Node)+" is drained")
		}
		announceDrained(t, b.Node)
	}
	return ok()
}

// applySetNodeLabels stores an operator's labels of a node: they outlive registrations.
func applySetNodeLabels(t *tx, b *command.SetNodeLabels) command.Result {
	n, found := t.nodes.get(b.Node)
	if !found {
		return refuse(model.CodeNotFound, "there is no node %s", b.Node)
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
		return refuse(model.CodeLimit, "node %s would have too many labels: take some away first", b.Node)
	}
	n.Marks = text
	t.nodes.put(n)
	return ok()
}

func applySetGPUMode(t *tx, b *command.SetGPUMode) command.Result {
	g, found := t.gpus.get(b.GPU)
	if !found {
		return refuse(model.CodeNotFound, "there is no GPU %s", b.GPU)
	}
	g.Mode, g.ModeReason = b.Mode, b.Note
	t.gpus.put(g)
	if b.Mode == model.ModeDraining {
		stopOn(t, g.ID, model.ReasonDrain, "GPU "+string(g.ID)+" is drained")
	}
	return ok()
}

// stopOn stops the attempt that owns a GPU, if one does.
func stopOn(t *tx, id model.GPUID, why model.Reason, note string) {
	if slot, _ := t.slots.get(model.SlotKey{GPU: id}); slot.Owner == model.OwnerAttempt {
		stop(t, slot.Rank.Attempt(), why, note)
	}
}

// applyConfirmDead relies on an operator's confirmation where no machine can know. The node's epoch grows, so
// that should it live after all, it must register first.
func applyConfirmDead(t *tx, b *command.ConfirmDead) command.Result {
	n, found := t.nodes.get(b.Node)
	switch {
	case !found:
		return refuse(model.CodeNotFound, "there is no node %s", b.Node)
	case n.Epoch != b.Epoch:
		return refuse(model.CodeConflict, "node %s has registered since you looked", b.Node)
	case n.Status == model.NodeUp:
		return refuse(model.CodeConflict, "node %s is in contact: it cannot be dead", b.Node)
	}
	n.Epoch++
	n.Status = model.NodeDead
	t.nodes.put(n)
	t.leases.put(model.Lease{Node: b.Node, Epoch: n.Epoch, Index: t.meta.Index, At: t.clock})
	buryNode(t, b.Node, model.ReasonConfirmedDead)
	touchNode(t, b.Node)
	return ok()
}

func applyRetireNode(t *tx, b *command.RetireNode) command.Result {
	n, found := t.nodes.get(b.Node)
	if !found {
		return refuse(model.CodeNotFound, "there is no node %s", b.Node)
	}
	mine := func(k model.AddressKey) bool { return k.Node == b.Node }
	gpus := keysOf(t.nodeGPUs.now().From(model.AddressKey{Node: b.Node}), mine)
	for _, k := range gpus {
		slot, _ := t.slots.get(model.SlotKey{GPU: k.GPU})
		if slot.Owner != model.OwnerNone && n.Status != model.NodeDead {
			return refuse(model.CodeConflict, "GPU %s of node %s is not free: %s", k.GPU, b.Node, wayFree(&slot))
		}
	}
	if len(liveRanks(t, b.Node)) > 0 {
		return refuse(model.CodeConflict, "jobs still run on node %s: drain it, or confirm that it is dead", b.Node)
	}
	for _, k := range gpus {
		forgetGPU(t, k.GPU)
	}
	t.settings.Epochs = max(t.settings.Epochs, n.Epoch)
	t.nodes.delete(b.Node)
	t.leases.delete(b.Node)
	t.nodeUse.delete(b.Node)
	return ok()
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

func applyKillForeign(t *tx, b *command.KillForeign) command.Result {
	slot, found := t.slots.get(b.Slot)
	if !found || slot.Owner != model.OwnerForeign {
		return refuse(model.CodeNotFound, "no unknown attempt holds GPU %s", b.Slot.GPU)
	}
	slot.Kill = true
	t.slots.put(slot)
	touchNode(t, slot.Node)
	return ok()
}
