package state

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// MaxAllocations bounds the allocations that the state holds, those that ended in the
// last hour included.
const MaxAllocations = 50_000

func applyAllocate(t *tx, b *command.Allocate) command.Result {
	if r := mayAllocate(t, b); !r.OK() {
		return r
	}
	for _, scope := range ScopesOf(b.Project, b.User) {
		if limit, found := t.limits.get(scope); found && Exceeds(limit.GPUsPerJob, 0, b.GPUs) {
			return refuse(model.CodeLimit, "%s may use %d GPUs for one job or service, this asks for %d: ask for fewer, or have "+
				"gpus_per_job raised", scope, limit.GPUsPerJob, b.GPUs)
		}
	}
	number, id := uint64(0), b.ID
	if id == "" {
		if number, id = numbered(t, b.Service); t.allocations.has(id) { // a user chose it as a name
			return refuse(model.CodeConflict, "allocation %s exists: ask again", id)
		}
	}
	t.allocations.put(model.Allocation{
		ID: id, Service: b.Service, Workload: b.Workload, User: b.User, Project: b.Project, Class: b.Class,
		Priority: b.Priority, GPUs: b.GPUs, GPUModel: b.GPUModel, GPUMemoryMB: b.GPUMemoryMB, TTL: b.TTL, Data: b.Data,
		Constraint: b.Constraint, Nodelist: b.Nodelist, Exclude: b.Exclude,
		Webhook: b.Webhook, For: b.For, Job: b.Job,
		State: model.AllocationQueued, Index: t.meta.Index, Asked: t.clock, Turn: model.TurnOf(t.settings.NextJob-1, t.settings.Services),
	})
	t.settings.Services++
	tallyStep(t, b.Service, model.StepAsked)
	a, _ := t.allocations.get(id)
	announceAllocation(t, &a)
	return command.Result{Number: number}
}

// mayAllocate reports whether one more allocation, and this one, is allowed.
func mayAllocate(t *tx, b *command.Allocate) command.Result {
	if t.allocations.has(b.ID) {
		return refuse(model.CodeConflict, "allocation %s exists", b.ID)
	}
	if use, _ := t.usage.get(model.ScopeKey{Kind: model.ScopeUser, Name: b.User}); b.Capped && use.Services >= MaxAllocationsOf {
		return refuse(model.CodeLimit, "user %s has %d allocations, with those that ended in the last hour, as many as one user may have: "+
			"release some, or try again later", b.User, use.Services)
	}
	if n := t.allocations.size(); n >= MaxAllocations || b.Capped && n >= MaxAllocations-MaxAllocations/operatorPart {
		return refuse(model.CodeLimit, "there are %d allocations already, with those that ended in the last hour: release some, or try again later",
			n)
	}
	if b.For != "" {
		for k := range t.heldFor.now().From(HeldForKey{For: b.For}) {
			if k.For == b.For {
				return refuse(model.CodeConflict, "job %s has allocation %s: release it first", b.For, k.ID)
			}
			break
		}
	}
	if b.Job > 0 && jobOver(t, b.Job) {
		return refuse(model.CodeTerminal, "job %s has ended", b.Job)
	}
	return ok()
}

// numberedPerEntry is how many numbers belong to one log entry: more than it has room for allocations.
const numberedPerEntry = 100_000

// numbered returns a service's next allocation. Log indexes only grow, so no number comes
// back.
func numbered(t *tx, service string) (number uint64, id model.AllocationID) {
	number = t.meta.Index*numberedPerEntry + t.numbered
	t.numbered++
	return number, model.AllocationOf(service, number)
}

// jobOver reports whether a job has ended, or is no longer known.
func jobOver(t *tx, id model.JobID) bool {
	job, found := t.jobs.get(id)
	return !found || job.EndIndex > 0
}

func applyGrant(t *tx, b *command.Grant) command.Result {
	if r := mayPlace(t, b.Decided); !r.OK() {
		return r
	}
	a, found := t.allocations.get(b.ID)
	spec := a.Spec()
	switch {
	case !found:
		return refuse(model.CodeNotFound, "there is no allocation %s", b.ID)
	case a.State != model.AllocationQueued:
		return refuse(model.CodeNotQueued, "allocation %s does not wait: it is %s", b.ID, a.State)
	case uint32(len(b.Placement.Slots)) != a.GPUs:
		return refuse(model.CodeInvalid, "allocation %s asks for %d GPUs", b.ID, a.GPUs)
	}
	if r := fits(t, &b.Placement, &spec, a.Turn); !r.OK() {
		return r
	}
	if r := withinLimits(t, &spec, a.GPUs, 0); !r.OK() {
		return r
	}
	if r := withinBookings(t, &spec, model.Never, []command.Placement{b.Placement}); !r.OK() {
		return r
	}
	a.State, a.Granted = model.AllocationActive, t.clock
	a.Expires = expiry(t, a.TTL)
	t.allocations.put(a)
	dropClaims(t, a.Turn)
	for _, key := range b.Placement.Slots {
		slot, _ := t.slots.get(key)
		slot.Owner, slot.Allocation, slot.Since = model.OwnerAllocation, a.ID, t.meta.Index
		t.slots.put(slot)
	}
	announceAllocation(t, &a)
	touchNode(t, b.Placement.Node)
	give(t, b.Placement.Node)
	tallyStep(t, a.Service, model.StepGranted)
	tallySpan(t, model.TallyWait, "", t.clock.Sub(a.Asked))
	return ok()
}

func expiry(t *tx, ttl time.Duration) model.Time {
	if ttl == 0 {
		return 0
	}
	return t.clock.Add(ttl)
}

func applyRenewAllocation(t *tx, b *command.RenewAllocation) command.Result {
	a, found := t.allocations.get(b.ID)
	switch {
	case !found:
		return refuse(model.CodeNotFound, "there is no allocation %s", b.ID)
	case a.State.Terminal():
		return refuse(model.CodeTerminal, "allocation %s is %s", b.ID, a.State)
	}
	if b.TTL > 0 {
		a.TTL = b.TTL
	}
	if a.State == model.AllocationActive {
		a.Expires = expiry(t, a.TTL)
	}
	t.allocations.put(a)
	return ok()
}

func applyReleaseAllocation(t *tx, b *command.ReleaseAllocation) command.Result {
	a, found := t.allocations.get(b.ID)
	switch {
	case !found:
		return refuse(model.CodeNotFound, "there is no allocation %s", b.ID)
	case a.State.Terminal():
		return refuse(model.CodeTerminal, "allocation %s is %s", b.ID, a.State)
	}
	endAllocation(t, a, model.AllocationReleased)
	return ok()
}

// forgetAllocations is how long an ended allocation can still be read.
const forgetAllocations = time.Hour

func applyExpireAllocations(t *tx, b *command.ExpireAllocations) command.Result {
	var n uint64
	for _, id := range b.IDs {
		a, found := t.allocations.get(id)
		switch {
		case !found:
		case a.State == model.AllocationActive && a.Expires > 0 && a.Expires <= t.clock,
			!a.State.Terminal() && a.Job > 0 && jobOver(t, a.Job):
			endAllocation(t, a, model.AllocationExpired)
			n++
		case a.State.Terminal() && a.Ended.Add(forgetAllocations) <= t.clock && len(slotsOfAllocation(t, id)) == 0:
			t.allocations.delete(id)
			n++
		}
	}
	return command.Result{Number: n}
}

func applyAllocationLost(t *tx, b *command.AllocationLost) command.Result {
	n, _, r := unchanged(t, b.Node, b.Epoch, b.Seq)
	if !r.OK() {
		return r
	}
	a, found := t.allocations.get(b.ID)
	slots := slotsOfAllocation(t, b.ID)
	switch {
	case !found || a.State != model.AllocationActive || len(slots) == 0:
		return refuse(model.CodeNotLive, "allocation %s holds nothing", b.ID)
	case n.Status == model.NodeUp:
		return refuse(model.CodeNotSuspect, "node %s is not suspect", b.Node)
	}
	if slot, _ := t.slots.get(slots[0]); slot.Node != b.Node {
		return refuse(model.CodeConflict, "allocation %s is not on node %s", b.ID, b.Node)
	}
	endAllocation(t, a, model.AllocationLost)
	return ok()
}

// endAllocation ends an allocation; its GPUs have to be verified as clean.
func endAllocation(t *tx, a model.Allocation, as model.AllocationState) {
	for _, key := range slotsOfAllocation(t, a.ID) {
		slot, _ := t.slots.get(key)
		slot.Owner, slot.Since = model.OwnerCleaning, t.meta.Index
		t.slots.put(slot)
		touchNode(t, slot.Node)
	}
	tallyStep(t, a.Service, ended(a.State, as))
	a.State, a.Ended, a.EndIndex = as, t.clock, t.meta.Index
	t.allocations.put(a)
	dropClaims(t, a.Turn)
	announceAllocation(t, &a)
}

func slotsOfAllocation(t *tx, id model.AllocationID) (out []model.SlotKey) {
	for k := range t.owners.now().From(OwnerKey{Allocation: id}) {
		if k.Allocation != id || k.Rank != (model.RankKey{}) {
			break
		}
		out = append(out, k.Slot)
	}
	return out
}

// activeAllocations returns the allocations that hold GPUs of a node, each once.
func activeAllocations(t *tx, node model.NodeID) (out []model.Allocation) {
	mine := func(k model.AddressKey) bool { return k.Node == node }
	for _, k := range keysOf(t.nodeGPUs.now().From(model.AddressKey{Node: node}), mine) {
		slot, _ := t.slots.get(model.SlotKey{GPU: k.GPU})
		if slot.Owner != model.OwnerAllocation || slices.ContainsFunc(out, func(a model.Allocation) bool { return a.ID == slot.Allocation }) {
			continue
		}
		if a, found := t.allocations.get(slot.Allocation); found && a.State == model.AllocationActive {
			out = append(out, a)
		}
	}
	return out
}
