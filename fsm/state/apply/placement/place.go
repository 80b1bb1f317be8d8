package placement

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/limits"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Place gives GPUs to a task, or to that of a job without GPUs cores and memory: the beginning of an attempt.
func Place(t *tx.Tx, b *command.Place) command.Result {
	task, job, r := placeable(t, b)
	if !r.OK() {
		return r
	}
	var gpus uint32
	for i := range b.Ranks {
		p := &b.Ranks[i]
		if r := Fits(t, p, &job.Spec, task.Key); !r.OK() {
			return r
		}
		gpus += uint32(len(p.Slots))
	}
	if r := mayHold(t, &job.Spec, gpus, uint32(len(b.Ranks))); !r.OK() {
		return r
	}
	if r := limits.WithinTime(t, &job.Spec, job.Spec.TimeLimit); !r.OK() {
		return r
	}
	asPlaced := state.PlacedFrom(t.Limits.Get, &job.Spec)
	if r := limits.WithinBookings(t, &job.Spec, asPlaced.CertainEnd(t.Clock), b.Ranks); !r.OK() {
		return r
	}
	limits.LimitTime(t, &job)
	makeAttempt(t, b, &task, &job)
	return command.Result{Job: job.ID, Number: uint64(b.Attempt.N)}
}

// mayHold reports whether limits leave room for what a task is to hold.
func mayHold(t *tx.Tx, spec *model.Spec, gpus, nodes uint32) command.Result {
	if spec.WithoutGPUs() {
		return limits.WithinCPUs(t, spec, spec.CPUs*nodes)
	}
	return limits.WithinLimits(t, spec, gpus, 1)
}

// MayPlace reports whether placements are made at all.
func MayPlace(t *tx.Tx, decided uint64) command.Result {
	switch {
	case !t.Settings.Running:
		return tx.Refuse(model.CodeStopped, "the orchestrator is stopped: start it to have jobs placed")
	case t.Settings.Standstill:
		return tx.Refuse(model.CodeStandstill, "the scheduler stands still after a restore: resume it")
	case decided > t.From.Index:
		return tx.Refuse(model.CodeConflict, "decided on state %d, which is not there yet", decided)
	}
	return tx.OK()
}

func placeable(t *tx.Tx, b *command.Place) (task model.Task, job model.Job, r command.Result) {
	if r = MayPlace(t, b.Decided); !r.OK() {
		return task, job, r
	}
	task, found := t.Tasks.Get(b.Attempt.TaskKey())
	job, _ = t.Jobs.Get(b.Attempt.Job)
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
		r = tx.Refuse(model.CodeNotFound, "there is no task %s", b.Attempt.TaskKey())
	case task.State != model.TaskQueued:
		r = tx.Refuse(model.CodeNotQueued, "task %s does not wait: it is %s", task.Key, task.State)
	case task.Held:
		r = tx.Refuse(model.CodeConflict, "task %s is held", task.Key)
	case task.NotBefore > t.Clock:
		r = tx.Refuse(model.CodeConflict, "task %s is not to be tried yet", task.Key)
	case job.Blocked(), task.Waits:
		r = tx.Refuse(model.CodeConflict, "task %s waits for other jobs", task.Key)
	case b.Attempt.N != task.Attempts+1:
		r = tx.Refuse(model.CodeConflict, "task %s is at attempt %d, not %d", task.Key, task.Attempts, b.Attempt.N-1)
	case slots < spec.Least() || slots > spec.GPUs:
		r = tx.Refuse(model.CodeInvalid, "task %s asks for %d GPUs, %d at least, placed are %d", task.Key, spec.GPUs, spec.Least(), slots)
	case !spec.Takes(slots, uint32(len(b.Ranks))) || spec.Nodes > 1 && !even:
		r = tx.Refuse(model.CodeInvalid, "task %s asks for %d nodes with %d GPUs each", task.Key, spec.Nodes, spec.GPUs/spec.Nodes)
	case job.Throttle > 0 && job.Live >= job.Throttle:
		r = tx.Refuse(model.CodeLimit, "job %s runs at most %d of its tasks at once", job.ID, job.Throttle)
	}
	return task, job, r
}

// Fits reports whether one rank's slots are on one schedulable node, free, healthy, of the requested kind,
// and not reserved for another.
func Fits(t *tx.Tx, p *command.Placement, spec *model.Spec, who model.TaskKey) command.Result {
	node, found := t.Nodes.Get(p.Node)
	switch {
	case !found:
		return tx.Refuse(model.CodeNotFound, "there is no node %s", p.Node)
	case node.Epoch != p.Epoch:
		return tx.Refuse(model.CodeConflict, "node %s has registered since", p.Node)
	case !node.Schedulable():
		return tx.Refuse(model.CodeUnavailable, "node %s takes no work: it is %s and %s%s", p.Node, node.Status, node.Mode, inTrouble(&node))
	case !who.IsTurn() && !node.Admits(spec.User):
		return tx.Refuse(model.CodeUnavailable, "node %s runs jobs of user %s only", p.Node, node.Account)
	case !spec.Where().Sites().Has(&node):
		return tx.Refuse(model.CodeConflict, "node %s is not what is asked for: %s", p.Node, spec.Where())
	}
	if spec.WithoutGPUs() {
		return hasRoom(t, &node, spec)
	}
	for _, key := range p.Slots {
		slot, found := t.Slots.Get(key)
		if !found || slot.Node != p.Node { // the plan may be older than the node's newest inventory
			return tx.Refuse(model.CodeNotFound, "node %s has no GPU %s", p.Node, key.GPU)
		}
		gpu := t.GPUs.Must(key.GPU)
		claim, claimed := t.Claims.Get(key)
		switch {
		case slot.Owner != model.OwnerNone:
			return tx.Refuse(model.CodeConflict, "GPU %s of node %s is not free", key.GPU, p.Node)
		case !gpu.Usable():
			return tx.Refuse(model.CodeUnavailable, "GPU %s of node %s is %s and %s", key.GPU, p.Node, gpu.Health, gpu.Mode)
		case claimed && claim.Beneficiary != who:
			return tx.Refuse(model.CodeConflict, "GPU %s of node %s is kept for %s", key.GPU, p.Node, called(t, claim.Beneficiary))
		case !model.OfModel(spec.GPUModel, gpu.Model), gpu.MemoryMB < spec.GPUMemoryMB:
			return tx.Refuse(model.CodeInvalid, "GPU %s of node %s is a %s with %d MB, not what is asked for", key.GPU,
				p.Node, gpu.Model, gpu.MemoryMB)
		}
	}
	return tx.OK()
}

// hasRoom reports whether a node has the cores and the memory for one more rank of a job without GPUs, and no
// maintenance before the job certainly ends.
func hasRoom(t *tx.Tx, node *model.Node, spec *model.Spec) command.Result {
	use, _ := t.NodeUse.Get(node.ID)
	room := state.RoomOf(&t.Settings, node, &use)
	if asked := spec.Holds(); !asked.Within(use.Held, room) {
		return tx.Refuse(model.CodeConflict, "node %s has %d cores and %d MB for jobs without GPUs, of which %d cores and %d MB are held, and this needs "+
			"%d cores and %d MB", node.ID, room.CPUs, room.MemoryMB, use.Held.CPUs, use.Held.MemoryMB, asked.CPUs, asked.MemoryMB)
	}
	asPlaced := state.PlacedFrom(t.Limits.Get, spec)
	if b, closes := state.Closing(t.Bookings.Now(), node.ID, t.Clock); closes && asPlaced.CertainEnd(t.Clock) > b.Start {
		return tx.Refuse(model.CodeUnavailable, "node %s has %s, and the job does not certainly end before", node.ID, b.Title())
	}
	return tx.OK()
}

// inTrouble returns " and degraded (disk full)" for a node that cannot start jobs.
func inTrouble(n *model.Node) string {
	if !n.Degraded() {
		return ""
	}
	return " and degraded (" + n.Why() + ")"
}

func makeAttempt(t *tx.Tx, b *command.Place, task *model.Task, job *model.Job) {
	DropClaims(t, task.Key)
	var gpus uint32
	for i := range b.Ranks {
		gpus += uint32(len(b.Ranks[i].Slots))
	}
	t.Attempts.Put(model.Attempt{
		Key: b.Attempt, State: model.TaskScheduled, Incarnation: t.Settings.Incarnation, Frozen: job.Spec.Freeze(),
		PlacedIndex: t.Meta.Index, Placed: t.Clock, GPUs: gpus,
		Ranks: uint32(len(b.Ranks)), Run: len(b.Ranks) == 1, Secret: b.Secret,
	})
	for i := range b.Ranks {
		p := &b.Ranks[i]
		rank := b.Attempt.Rank(uint32(i))
		t.Ranks.Put(model.Rank{
			Key: rank, Node: p.Node, Epoch: p.Epoch, Phase: model.RankAssigned,
			GPUs: uint32(len(p.Slots)), CPUs: job.Spec.Holds().CPUs, MemoryMB: job.Spec.Holds().MemoryMB,
		})
		for _, key := range p.Slots {
			slot := t.Slots.Must(key)
			slot.Owner, slot.Rank, slot.Since = model.OwnerAttempt, rank, t.Meta.Index
			t.Slots.Put(slot)
			gpu := t.GPUs.Must(key.GPU)
			t.RankGPUs.Put(model.RankGPU{Key: model.RankGPUKey{Rank: rank, GPU: key.GPU}, Index: gpu.Index})
		}
		tx.TouchNode(t, p.Node)
		testNode(t, p.Node)
		if gpus > 0 { // jobs without GPUs change nothing in the choice of nodes for the others
			Give(t, p.Node)
		}
	}
	t.Settings.Totals.Attempts++
	task.State, task.Attempts, task.NotBefore, task.Avoid = model.TaskScheduled, b.Attempt.N, 0, 0
	task.Expected = tx.Expect(t, &job.Spec, task.Executed)
	tx.Event(t, task, model.Event{What: model.EventScheduled, N: b.Attempt.N})
	t.Tasks.Put(*task)
	foldAttempts(t, task)
}

// MayAdopt returns why foreign attempts cannot be those of a job: their GPUs are not what it asks for, or beyond a limit.
func MayAdopt(t *tx.Tx, spec *model.Spec, attempts []command.Place) command.Result {
	if r := limits.WithinTime(t, spec, spec.TimeLimit); !r.OK() {
		return r
	}
	var gpus uint32
	for i := range attempts {
		ranks := attempts[i].Ranks
		slots, even := uint32(0), true
		for n := range ranks {
			slots += uint32(len(ranks[n].Slots))
			even = even && len(ranks[n].Slots) == len(ranks[0].Slots)
		}
		if slots < spec.Least() || slots > spec.GPUs || !spec.Takes(slots, uint32(len(ranks))) || spec.Nodes > 1 && !even {
			return tx.Refuse(model.CodeInvalid, "attempt %s has %d GPUs on %d nodes, and its job asks for %d on %d", attempts[i].Attempt, slots, len(ranks), spec.GPUs, max(1, spec.Nodes))
		}
		if r := limits.WithinLimits(t, spec, slots, 1); !r.OK() {
			return r
		}
		gpus += slots
		asPlaced := state.PlacedFrom(t.Limits.Get, spec)
		if r := limits.WithinBookings(t, spec, asPlaced.CertainEnd(t.Clock), ranks); !r.OK() {
			return r
		}
	}
	return limits.WithinLimits(t, spec, gpus, uint32(len(attempts)))
}

// Adopt makes a foreign attempt that of its task. Its ranks run, and their nodes report that again. placed is the place of its
// placement in the log, by which nodes know the attempt.
func Adopt(t *tx.Tx, b *command.Place, placed uint64) {
	for i := range b.Ranks {
		for _, key := range b.Ranks[i].Slots {
			slot := t.Slots.Must(key)
			slot.Owner, slot.Rank = model.OwnerNone, model.RankKey{}
			t.Slots.Put(slot)
		}
	}
	task, job := unhinder(t, b.Attempt.TaskKey())
	limits.LimitTime(t, &job)
	makeAttempt(t, b, &task, &job)
	a := t.Attempts.Must(b.Attempt)
	a.PlacedIndex = placed
	t.Attempts.Put(a)
}

// foldAttempts removes attempts that are too old to be kept, except for those with a GPU that still has to be
// verified as clean.
func foldAttempts(t *tx.Tx, task *model.Task) {
	if task.Attempts <= state.KeepAttempts {
		return
	}
	first, kept := task.Key.Attempt(0), task.Key.Attempt(task.Attempts-state.KeepAttempts+1)
	old := tx.KeysOf(t.Attempts.Now().From(first), func(k model.AttemptKey) bool { return k.Compare(kept) < 0 })
	for _, a := range old {
		if len(tx.SlotsOf(t, a)) > 0 {
			continue
		}
		for _, r := range tx.RanksOf(t, a) {
			tx.ForgetRank(t, r.Key)
		}
		t.Attempts.Delete(a)
	}
}

// Give marks that a node was given work.
func Give(t *tx.Tx, id model.NodeID) {
	u, _ := t.NodeUse.Get(id)
	u.Given = t.Meta.Index
	t.NodeUse.Put(u)
}

// Preempt stops attempts and reserves their GPUs for a task.
func Preempt(t *tx.Tx, b *command.Preempt) command.Result {
	if r := MayPlace(t, b.Decided); !r.OK() {
		return r
	}
	switch {
	case !awaitsGPUs(t, b.Beneficiary):
		return tx.Refuse(model.CodeNotQueued, "%s does not wait for GPUs", called(t, b.Beneficiary))
	case b.Until <= t.Clock:
		return tx.Refuse(model.CodeInvalid, "the claims would have expired already")
	}
	for _, v := range b.Victims {
		a, found := t.Attempts.Get(v)
		switch {
		case !found || !a.Live():
			return tx.Refuse(model.CodeNotLive, "attempt %s has ended", v)
		case a.GPUs == 0:
			return tx.Refuse(model.CodeDenied, "attempt %s has no GPUs: it is not stopped for other jobs", v)
		}
	}
	for _, key := range b.Slots {
		if r := claimable(t, key, b); !r.OK() {
			return r
		}
	}
	slots := b.Slots
	for _, v := range b.Victims {
		Stop(t, v, model.ReasonPreempt, "for "+called(t, b.Beneficiary))
		if len(b.Slots) == 0 {
			slots = append(slots, tx.SlotsOf(t, v)...)
		}
	}
	for _, key := range slots {
		if slot := t.Slots.Must(key); !t.Claims.Has(key) {
			t.Claims.Put(model.Claim{Slot: key, Node: slot.Node, Beneficiary: b.Beneficiary, Until: b.Until, Index: t.Meta.Index})
		}
	}
	return tx.OK()
}

// awaitsGPUs reports whether a task with GPUs or a service is in the queue.
func awaitsGPUs(t *tx.Tx, who model.TaskKey) bool {
	if who.IsTurn() {
		return t.Waiting.Now().Has(who)
	}
	task, found := t.Tasks.Get(who)
	job, _ := t.Jobs.Get(who.Job)
	return found && !job.Spec.WithoutGPUs() && state.InLine(&job, &task)
}

// called returns the name of a waiting task or service for users.
func called(t *tx.Tx, who model.TaskKey) string {
	if id, found := t.Waiting.Now().Get(who); found {
		return "allocation " + string(id)
	}
	return "job " + who.String()
}

// claimable reports whether a slot may be claimed for a task: it has no claim, and is free, or will be
// because its owner is being stopped or has ended.
func claimable(t *tx.Tx, key model.SlotKey, b *command.Preempt) command.Result {
	slot, found := t.Slots.Get(key)
	claim, claimed := t.Claims.Get(key)
	owner, _ := t.Attempts.Get(slot.Rank.Attempt())
	switch {
	case !found:
		return tx.Refuse(model.CodeNotFound, "there is no GPU %s", key.GPU)
	case claimed && claim.Beneficiary != b.Beneficiary:
		return tx.Refuse(model.CodeConflict, "GPU %s is kept for %s", key.GPU, called(t, claim.Beneficiary))
	case slot.Owner == model.OwnerNone, slot.Owner == model.OwnerCleaning:
		return tx.OK()
	case slot.Owner == model.OwnerAttempt && (owner.Stop != model.ReasonNone || slices.Contains(b.Victims, owner.Key)):
		return tx.OK()
	}
	return tx.Refuse(model.CodeConflict, "GPU %s is neither free nor about to be", key.GPU)
}

// ExpireClaims drops reservations of GPUs that were not used in time.
func ExpireClaims(t *tx.Tx, b *command.ExpireClaims) command.Result {
	var n uint64
	for _, key := range b.Slots {
		if c, found := t.Claims.Get(key); found && c.Until <= t.Clock {
			t.Claims.Delete(key)
			n++
		}
	}
	return command.Result{Number: n}
}

// DropClaims removes the claims of a task that no longer needs them.
func DropClaims(t *tx.Tx, task model.TaskKey) {
	mine := func(k state.ClaimKey) bool { return k.Task == task }
	for _, k := range tx.KeysOf(t.ClaimedFor.Now().From(state.ClaimKey{Task: task}), mine) {
		t.Claims.Delete(k.Slot)
	}
}

// StartOverdue stops an attempt of which not every rank started in time.
func StartOverdue(t *tx.Tx, b *command.StartOverdue) command.Result {
	a, found := t.Attempts.Get(b.Attempt)
	switch {
	case !found || !a.Live():
		return tx.Refuse(model.CodeNotLive, "attempt %s has ended", b.Attempt)
	case a.Begun == a.Ranks:
		return tx.Refuse(model.CodeConflict, "every rank of attempt %s has started", b.Attempt)
	}
	if a.Stop == model.ReasonNone {
		blame(t, &a)
	}
	Stop(t, b.Attempt, model.ReasonStartDeadline, "not every rank started in time")
	return tx.OK()
}
