package services

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/limits"
	"github.com/berth-gpu/berth/fsm/state/apply/placement"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Allocate queues a request of a service for GPUs.
func Allocate(t *tx.Tx, b *command.Allocate) command.Result {
	if r := mayAllocate(t, b); !r.OK() {
		return r
	}
	for _, scope := range state.ScopesOf(b.Project, b.User) {
		if limit, found := t.Limits.Get(scope); found && state.Exceeds(limit.GPUsPerJob, 0, b.GPUs) {
			return tx.Refuse(model.CodeLimit, "%s may use %d GPUs for one job or service, this asks for %d: ask for fewer, or have "+
				"gpus_per_job raised", scope, limit.GPUsPerJob, b.GPUs)
		}
	}
	number, id := uint64(0), b.ID
	if id == "" {
		if number, id = numbered(t, b.Service); t.Allocations.Has(id) { // a user chose it as a name
			return tx.Refuse(model.CodeConflict, "allocation %s exists: ask again", id)
		}
	}
	t.Allocations.Put(model.Allocation{
		ID: id, Service: b.Service, Workload: b.Workload, User: b.User, Project: b.Project, Class: b.Class,
		Priority: b.Priority, GPUs: b.GPUs, GPUModel: b.GPUModel, GPUMemoryMB: b.GPUMemoryMB, TTL: b.TTL, Data: b.Data,
		Constraint: b.Constraint, Nodelist: b.Nodelist, Exclude: b.Exclude,
		Webhook: b.Webhook, For: b.For, Job: b.Job,
		State: model.AllocationQueued, Index: t.Meta.Index, Asked: t.Clock, Turn: model.TurnOf(t.Settings.NextJob-1, t.Settings.Services),
	})
	t.Settings.Services++
	tx.TallyStep(t, b.Service, tally.Asked)
	a := t.Allocations.Must(id)
	tx.AnnounceAllocation(t, &a)
	return command.Result{Number: number}
}

// mayAllocate reports whether one more allocation, and this one, is allowed.
func mayAllocate(t *tx.Tx, b *command.Allocate) command.Result {
	if t.Allocations.Has(b.ID) {
		return tx.Refuse(model.CodeConflict, "allocation %s exists", b.ID)
	}
	if use, _ := t.Usage.Get(model.ScopeKey{Kind: model.ScopeUser, Name: b.User}); b.Capped && use.Services >= state.MaxAllocationsOf {
		return tx.Refuse(model.CodeLimit, "user %s has %d allocations, with those that ended in the last hour, as many as one user may have: "+
			"release some, or try again later", b.User, use.Services)
	}
	if n := t.Allocations.Size(); n >= state.MaxAllocations || b.Capped && n >= state.MaxAllocations-state.MaxAllocations/state.OperatorPart {
		return tx.Refuse(model.CodeLimit, "there are %d allocations already, with those that ended in the last hour: release some, or try again later",
			n)
	}
	if b.For != "" {
		for k := range t.HeldFor.Now().From(state.HeldForKey{For: b.For}) {
			if k.For == b.For {
				return tx.Refuse(model.CodeConflict, "job %s has allocation %s: release it first", b.For, k.ID)
			}
			break
		}
	}
	if b.Job > 0 && jobOver(t, b.Job) {
		return tx.Refuse(model.CodeTerminal, "job %s has ended", b.Job)
	}
	return tx.OK()
}

// numberedPerEntry is how many numbers belong to one log entry: more than it has room for allocations.
const numberedPerEntry = 100_000

// numbered returns a service's next allocation. Log indexes only grow, so no number comes
// back.
func numbered(t *tx.Tx, service string) (number uint64, id model.AllocationID) {
	number = t.Meta.Index*numberedPerEntry + t.Numbered
	t.Numbered++
	return number, model.AllocationOf(service, number)
}

// jobOver reports whether a job has ended, or is no longer known.
func jobOver(t *tx.Tx, id model.JobID) bool {
	job, found := t.Jobs.Get(id)
	return !found || job.EndIndex > 0
}

// Grant gives GPUs to an allocation.
func Grant(t *tx.Tx, b *command.Grant) command.Result {
	if r := placement.MayPlace(t, b.Decided); !r.OK() {
		return r
	}
	a, found := t.Allocations.Get(b.ID)
	spec := a.Spec()
	switch {
	case !found:
		return tx.Refuse(model.CodeNotFound, "there is no allocation %s", b.ID)
	case a.State != model.AllocationQueued:
		return tx.Refuse(model.CodeNotQueued, "allocation %s does not wait: it is %s", b.ID, a.State)
	case uint32(len(b.Placement.Slots)) != a.GPUs:
		return tx.Refuse(model.CodeInvalid, "allocation %s asks for %d GPUs", b.ID, a.GPUs)
	}
	if r := placement.Fits(t, &b.Placement, &spec, a.Turn); !r.OK() {
		return r
	}
	if r := limits.WithinLimits(t, &spec, a.GPUs, 0); !r.OK() {
		return r
	}
	if r := limits.WithinBookings(t, &spec, model.Never, []command.Placement{b.Placement}); !r.OK() {
		return r
	}
	a.State, a.Granted = model.AllocationActive, t.Clock
	a.Expires = expiry(t, a.TTL)
	t.Allocations.Put(a)
	placement.DropClaims(t, a.Turn)
	for _, key := range b.Placement.Slots {
		slot := t.Slots.Must(key)
		slot.Owner, slot.Allocation, slot.Since = model.OwnerAllocation, a.ID, t.Meta.Index
		t.Slots.Put(slot)
	}
	tx.AnnounceAllocation(t, &a)
	tx.TouchNode(t, b.Placement.Node)
	placement.Give(t, b.Placement.Node)
	tx.TallyStep(t, a.Service, tally.Granted)
	tx.TallySpan(t, tally.Wait, "", t.Clock.Sub(a.Asked))
	return tx.OK()
}

func expiry(t *tx.Tx, ttl time.Duration) model.Time {
	if ttl == 0 {
		return 0
	}
	return t.Clock.Add(ttl)
}

// RenewAllocation extends the time of an allocation.
func RenewAllocation(t *tx.Tx, b *command.RenewAllocation) command.Result {
	a, found := t.Allocations.Get(b.ID)
	switch {
	case !found:
		return tx.Refuse(model.CodeNotFound, "there is no allocation %s", b.ID)
	case a.State.Terminal():
		return tx.Refuse(model.CodeTerminal, "allocation %s is %s", b.ID, a.State)
	}
	if b.TTL > 0 {
		a.TTL = b.TTL
	}
	if a.State == model.AllocationActive {
		a.Expires = expiry(t, a.TTL)
	}
	t.Allocations.Put(a)
	return tx.OK()
}

// ReleaseAllocation gives the GPUs of an allocation back.
func ReleaseAllocation(t *tx.Tx, b *command.ReleaseAllocation) command.Result {
	a, found := t.Allocations.Get(b.ID)
	switch {
	case !found:
		return tx.Refuse(model.CodeNotFound, "there is no allocation %s", b.ID)
	case a.State.Terminal():
		return tx.Refuse(model.CodeTerminal, "allocation %s is %s", b.ID, a.State)
	}
	EndAllocation(t, a, model.AllocationReleased)
	return tx.OK()
}

// forgetAllocations is how long an ended allocation can still be read.
const forgetAllocations = time.Hour

// ExpireAllocations ends allocations whose time is over, and forgets those that ended long ago.
func ExpireAllocations(t *tx.Tx, b *command.ExpireAllocations) command.Result {
	var n uint64
	for _, id := range b.IDs {
		a, found := t.Allocations.Get(id)
		switch {
		case !found:
		case a.State == model.AllocationActive && a.Expires > 0 && a.Expires <= t.Clock,
			!a.State.Terminal() && a.Job > 0 && jobOver(t, a.Job):
			EndAllocation(t, a, model.AllocationExpired)
			n++
		case a.State.Terminal() && a.Ended.Add(forgetAllocations) <= t.Clock && len(tx.SlotsOfAllocation(t, id)) == 0:
			t.Allocations.Delete(id)
			n++
		}
	}
	return command.Result{Number: n}
}

// EndAllocation ends an allocation; its GPUs have to be verified as clean.
func EndAllocation(t *tx.Tx, a model.Allocation, as model.AllocationState) {
	for _, key := range tx.SlotsOfAllocation(t, a.ID) {
		slot := t.Slots.Must(key)
		slot.Owner, slot.Since = model.OwnerCleaning, t.Meta.Index
		t.Slots.Put(slot)
		tx.TouchNode(t, slot.Node)
	}
	tx.TallyStep(t, a.Service, ended(a.State, as))
	a.State, a.Ended, a.EndIndex = as, t.Clock, t.Meta.Index
	t.Allocations.Put(a)
	placement.DropClaims(t, a.Turn)
	tx.AnnounceAllocation(t, &a)
}
