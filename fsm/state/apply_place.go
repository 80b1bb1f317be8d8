package state

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// KeepAttempts is how many attempts of a task stay in full.
const KeepAttempts = 100

func applyPlace(t *tx, b *command.Place) command.Result {
	task, job, r := placeable(t, b)
	if !r.OK() {
		return r
	}
	var gpus uint32
	for i := range b.Ranks {
		p := &b.Ranks[i]
		if r := fits(t, p, &job.Spec, task.Key); !r.OK() {
			return r
		}
		gpus += uint32(len(p.Slots))
	}
	if r := withinLimits(t, &job.Spec, gpus, 1); !r.OK() {
		return r
	}
	if r := withinTime(t, &job.Spec, job.Spec.TimeLimit); !r.OK() {
		return r
	}
	asPlaced := bounded(t.limits.get, &job.Spec)
	if r := withinBookings(t, &job.Spec, asPlaced.CertainEnd(t.clock), b.Ranks); !r.OK() {
		return r
	}
	limitTime(t, &job)
	makeAttempt(t, b, &task, &job)
	return command.Result{Job: job.ID, Number: uint64(b.Attempt.N)}
}

// mayPlace reports whether placements are made at all.
func mayPlace(t *tx, decided uint64) command.Result {
	switch {
	case !t.settings.Running:
		return refuse(model.CodeStopped, "the orchestrator is stopped: start it to have jobs placed")
	case t.settings.Standstill:
		return refuse(model.CodeStandstill, "the scheduler stands still after a restore: resume it")
	case decided > t.from.Index:
		return refuse(model.CodeConflict, "decided on state %d, which is not there yet", decided)
	}
	return ok()
}

func placeable(t *tx, b *command.Place) (task model.Task, job model.Job, r command.Result) {
	if r = mayPlace(t, b.Decided); !r.OK() {
		return task, job, r
	}
	task, found := t.tasks.get(b.Attempt.TaskKey())
	job, _ = t.jobs.get(b.Attempt.Job)
	spec := &job.Spec
	var slots uint32
	even := true
	for i := range b.Ranks {
		n := uint32(len(b.Ranks[i].Slots))
		slots += n
		even = even && spec.Nodes > 1 && n == spec.GPUs/spec.Nodes
	}
	switch {
	case !found:
		r = refuse(model.CodeNotFound, "there is no task %s", b.Attempt.TaskKey())
	case task.State != model.TaskQueued:
		r = refuse(model.CodeNotQueued, "task %s does not wait: it is %s", task.Key, task.State)
	case task.Held:
		r = refuse(model.CodeConflict, "task %s is held", task.Key)
	case task.NotBefore > t.clock:
		r = refuse(model.CodeConflict, "task %s is not to be tried yet", task.Key)
	case job.Waits > 0:
		r = refuse(model.CodeConflict, "job %s waits for other jobs", job.ID)
	case b.Attempt.N != task.Attempts+1:
		r = refuse(model.CodeConflict, "task %s is at attempt %d, not %d", task.Key, task.Attempts, b.Attempt.N-1)
	case slots < spec.Least() || slots > spec.GPUs:
		r = refuse(model.CodeInvalid, "task %s asks for %d GPUs, %d at least, placed are %d", task.Key, spec.GPUs, spec.Least(), slots)
	case !spec.Takes(slots, uint32(len(b.Ranks))) || spec.Nodes > 1 && !even:
		r = refuse(model.CodeInvalid, "task %s asks for %d nodes with %d GPUs each", task.Key, spec.Nodes, spec.GPUs/spec.Nodes)
	case job.Throttle > 0 && job.Live >= job.Throttle:
		r = refuse(model.CodeLimit, "job %s runs at most %d of its tasks at once", job.ID, job.Throttle)
	}
	return task, job, r
}

// fits reports whether one rank's slots are on one schedulable node, free, healthy, of the requested kind,
// and not reserved for another.
func fits(t *tx, p *command.Placement, spec *model.Spec, who model.TaskKey) command.Result {
	node, found := t.nodes.get(p.Node)
	switch {
	case !found:
		return refuse(model.CodeNotFound, "there is no node %s", p.Node)
	case node.Epoch != p.Epoch:
		return refuse(model.CodeConflict, "node %s has registered since", p.Node)
	case !node.Schedulable():
		return refuse(model.CodeUnavailable, "node %s takes no work: it is %s and %s%s", p.Node, node.Status, node.Mode, inTrouble(&node))
	case !who.IsTurn() && !node.Admits(spec.User):
		return refuse(model.CodeUnavailable, "node %s runs jobs of user %s only", p.Node, node.Account)
	case !spec.Where().Sites().Has(&node):
		return refuse(model.CodeConflict, "node %s is not what is asked for: %s", p.Node, spec.Where())
	}
	for _, key := range p.Slots {
		slot, found := t.slots.get(key)
		gpu, _ := t.gpus.get(key.GPU)
		claim, claimed := t.claims.get(key)
		switch {
		case !found || slot.Node != p.Node:
			return refuse(model.CodeNotFound, "node %s has no GPU %s", p.Node, key.GPU)
		case slot.Owner != model.OwnerNone:
			return refuse(model.CodeConflict, "GPU %s of node %s is not free", key.GPU, p.Node)
		case !gpu.Usable():
			return refuse(model.CodeUnavailable, "GPU %s of node %s is %s and %s", key.GPU, p.Node, gpu.Health, gpu.Mode)
		case claimed && claim.Beneficiary != who:
			return refuse(model.CodeConflict, "GPU %s of node %s is kept for %s", key.GPU, p.Node, called(t, claim.Beneficiary))
		case !model.OfModel(spec.GPUModel, gpu.Model), gpu.MemoryMB < spec.GPUMemoryMB:
			return refuse(model.CodeInvalid, "GPU %s of node %s is a %s with %d MB, not what is asked for", key.GPU,
				p.Node, gpu.Model, gpu.MemoryMB)
		}
	}
	return ok()
}

// inTrouble returns " and degraded (disk full)" for a node whose agent cannot start jobs.
func inTrouble(n *model.Node) string {
	if n.Trouble == "" {
		return ""
	}
	return " and degraded (" + n.Trouble + ")"
}

func makeAttempt(t *tx, b *command.Place, task *model.Task, job *model.Job) {
	dropClaims(t, task.Key)
	var gpus uint32
	for i := range b.Ranks {
		gpus += uint32(len(b.Ranks[i].Slots))
	}
	t.attempts.put(model.Attempt{
		Key: b.Attempt, State: model.TaskScheduled, Incarnation: t.settings.Incarnation, Frozen: job.Spec.Freeze(),
		PlacedIndex: t.meta.Index, Placed: t.clock, GPUs: gpus,
		Ranks: uint32(len(b.Ranks)), Run: len(b.Ranks) == 1,
	})
	for i := range b.Ranks {
		p := &b.Ranks[i]
		rank := b.Attempt.Rank(uint32(i))
		t.ranks.put(model.Rank{
			Key: rank, Node: p.Node, Epoch: p.Epoch, Phase: model.RankAssigned,
			GPUs: uint32(len(p.Slots)),
		})
		for _, key := range p.Slots {
			slot, _ := t.slots.get(key)
			slot.Owner, slot.Rank, slot.Since = model.OwnerAttempt, rank, t.meta.Index
			t.slots.put(slot)
			gpu, _ := t.gpus.get(key.GPU)
			t.rankGPUs.put(model.RankGPU{Key: model.RankGPUKey{Rank: rank, GPU: key.GPU}, Index: gpu.Index})
		}
		touchNode(t, p.Node)
		give(t, p.Node)
	}
	t.settings.Totals.Attempts++
	task.State, task.Attempts, task.NotBefore, task.Avoid = model.TaskScheduled, b.Attempt.N, 0, 0
	task.Expected = expect(t, &job.Spec, task.Executed)
	event(t, task, model.Event{What: model.EventScheduled, N: b.Attempt.N})
	t.tasks.put(*task)
	foldAttempts(t, task)
}

// foldAttempts removes attempts that are too old to be kept, except for those with a GPU that still has to be
// verified as clean.
func foldAttempts(t *tx, task *model.Task) {
	if task.Attempts <= KeepAttempts {
		return
	}
	first, kept := task.Key.Attempt(0), task.Key.Attempt(task.Attempts-KeepAttempts+1)
	old := keysOf(t.attempts.now().From(first), func(k model.AttemptKey) bool { return k.Compare(kept) < 0 })
	for _, a := range old {
		if len(slotsOf(t, a)) > 0 {
			continue
		}
		for _, r := range ranksOf(t, a) {
			forgetRank(t, r.Key)
		}
		t.attempts.delete(a)
	}
}

func forgetRank(t *tx, key model.RankKey) {
	mine := func(k model.RankGPUKey) bool { return k.Rank == key }
	for _, k := range keysOf(t.rankGPUs.now().From(model.RankGPUKey{Rank: key}), mine) {
		t.rankGPUs.delete(k)
	}
	t.ranks.delete(key)
}

// touchNode marks that the desired set of a node has changed.
func touchNode(t *tx, id model.NodeID) {
	u, _ := t.nodeUse.get(id)
	u.Node, u.Desired = id, t.meta.Index
	t.nodeUse.put(u)
}

// give marks that a node was given work.
func give(t *tx, id model.NodeID) {
	u, _ := t.nodeUse.get(id)
	u.Given = t.meta.Index
	t.nodeUse.put(u)
}

func applyPreempt(t *tx, b *command.Preempt) command.Result {
	if r := mayPlace(t, b.Decided); !r.OK() {
		return r
	}
	switch {
	case !awaitsGPUs(t, b.Beneficiary):
		return refuse(model.CodeNotQueued, "%s does not wait for GPUs", called(t, b.Beneficiary))
	case b.Until <= t.clock:
		return refuse(model.CodeInvalid, "the claims would have expired already")
	}
	for _, v := range b.Victims {
		if a, found := t.attempts.get(v); !found || !a.Live() {
			return refuse(model.CodeNotLive, "attempt %s has ended", v)
		}
	}
	for _, key := range b.Slots {
		if r := claimable(t, key, b); !r.OK() {
			return r
		}
	}
	slots := b.Slots
	for _, v := range b.Victims {
		stop(t, v, model.ReasonPreempt, "for "+called(t, b.Beneficiary))
		if len(b.Slots) == 0 {
			slots = append(slots, slotsOf(t, v)...)
		}
	}
	for _, key := range slots {
		if slot, _ := t.slots.get(key); !t.claims.has(key) {
			t.claims.put(model.Claim{Slot: key, Node: slot.Node, Beneficiary: b.Beneficiary, Until: b.Until, Index: t.meta.Index})
		}
	}
	return ok()
}

// awaitsGPUs reports whether a task or a service is in the queue.
func awaitsGPUs(t *tx, who model.TaskKey) bool {
	if who.IsTurn() {
		return t.waiting.now().Has(who)
	}
	task, found := t.tasks.get(who)
	job, _ := t.jobs.get(who.Job)
	return found && InLine(&job, &task)
}

// called returns the name of a waiting task or service for users.
func called(t *tx, who model.TaskKey) string {
	if id, found := t.waiting.now().Get(who); found {
		return "allocation " + string(id)
	}
	return "job " + who.String()
}

// claimable reports whether a slot may be claimed for a task: it has no claim, and is free, or will be
// because its owner is being stopped or has ended.
func claimable(t *tx, key model.SlotKey, b *command.Preempt) command.Result {
	slot, found := t.slots.get(key)
	claim, claimed := t.claims.get(key)
	owner, _ := t.attempts.get(slot.Rank.Attempt())
	switch {
	case !found:
		return refuse(model.CodeNotFound, "there is no GPU %s", key.GPU)
	case claimed && claim.Beneficiary != b.Beneficiary:
		return refuse(model.CodeConflict, "GPU %s is kept for %s", key.GPU, called(t, claim.Beneficiary))
	case slot.Owner == model.OwnerNone, slot.Owner == model.OwnerCleaning:
		return ok()
	case slot.Owner == model.OwnerAttempt && (owner.Stop != model.ReasonNone || slices.Contains(b.Victims, owner.Key)):
		return ok()
	}
	return refuse(model.CodeConflict, "GPU %s is neither free nor about to be", key.GPU)
}

// slotsOf returns the slots that an attempt owns or that are being cleaned after it. A foreign attempt of the
// same name, from a past that was lost, is another.
func slotsOf(t *tx, a model.AttemptKey) (out []model.SlotKey) {
	for k := range t.owners.now().From(OwnerKey{Rank: a.Rank(0)}) {
		if k.Rank.Attempt() != a {
			break
		}
		if slot, _ := t.slots.get(k.Slot); slot.Owner != model.OwnerForeign {
			out = append(out, k.Slot)
		}
	}
	return out
}

func applyExpireClaims(t *tx, b *command.ExpireClaims) command.Result {
	var n uint64
	for _, key := range b.Slots {
		if c, found := t.claims.get(key); found && c.Until <= t.clock {
			t.claims.delete(key)
			n++
		}
	}
	return command.Result{Number: n}
}

// dropClaims removes the claims of a task that no longer needs them.
func dropClaims(t *tx, task model.TaskKey) {
	mine := func(k ClaimKey) bool { return k.Task == task }
	for _, k := range keysOf(t.claimedFor.now().From(ClaimKey{Task: task}), mine) {
		t.claims.delete(k.Slot)
	}
}

func applyStartOverdue(t *tx, b *command.StartOverdue) command.Result {
	a, found := t.attempts.get(b.Attempt)
	switch {
	case !found || !a.Live():
		return refuse(model.CodeNotLive, "attempt %s has ended", b.Attempt)
	case a.Begun == a.Ranks:
		return refuse(model.CodeConflict, "every rank of attempt %s has started", b.Attempt)
	}
	stop(t, b.Attempt, model.ReasonStartDeadline, "not every rank started in time")
	return ok()
}
