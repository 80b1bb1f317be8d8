package state

import "github.com/berth-gpu/berth/fsm/model"

// The hooks below run at every write of a row. Each updates the indexes of its table and, unless rows come
// from a snapshot that holds the counts already, the counting rows.

func onJob(t *tx, old, next *model.Job) {
	reindex(&t.ended, old, next, func(j *model.Job) (EndedKey, bool) {
		return EndedKey{j.EndIndex, j.ID}, j.EndIndex > 0
	})
	reindex(&t.attached, old, next, func(j *model.Job) (model.JobID, bool) { return j.ID, j.Spec.Attached > 0 && j.EndIndex == 0 })
	reindex(&t.deadlines, old, next, func(j *model.Job) (DeadlineKey, bool) {
		return DeadlineKey{j.Spec.Deadline, j.ID}, j.Spec.Deadline > 0 && j.EndIndex == 0
	})
	if next != nil && next.EndIndex > 0 {
		onSettled(t, next.ID)
	}
	if old != nil && next != nil && (old.Waits > 0 && next.Waits == 0 || old.Spec.TimeLimit != next.Spec.TimeLimit) {
		lineUp(t, old, next)
	}
	countBytes(t, old, next)
}

func onTask(t *tx, old, next *model.Task) {
	job, _ := t.jobs.get(taskOf(old, next).Key.Job)
	reindex(&t.queue, old, next, func(k *model.Task) (QueueKey, bool) { return inQueue(&job, k) })
	reindex(&t.due, old, next, func(k *model.Task) (DueKey, bool) { return inDue(&job, k) })
	reindex(&t.liveTasks, old, next, func(k *model.Task) (model.TaskKey, bool) { return k.Key, k.State.Live() })
	if t.restoring {
		return
	}
	was, is := standing(old), standing(next)
	if was != is {
		countJob(t, &job, was, is)
		use(t, &job.Spec, func(u *model.Usage) {
			u.Queued += is.queued - was.queued
			u.Live += is.live - was.live
			if job.Spec.Preemptible {
				u.Yields += is.queued + is.live - was.queued - was.live
			}
		})
	}
}

func taskOf(old, next *model.Task) *model.Task {
	if next != nil {
		return next
	}
	return old
}

// InLine reports whether a task waits for nothing but its turn and an instant: it is in the queue.
func InLine(job *model.Job, k *model.Task) bool {
	return k.State == model.TaskQueued && !k.Held && job.Waits == 0
}

func inQueue(job *model.Job, k *model.Task) (key QueueKey, in bool) {
	if in = InLine(job, k); in {
		key = KeyOf(k, job)
	}
	return key, in
}

func inDue(job *model.Job, k *model.Task) (DueKey, bool) {
	return DueKey{k.NotBefore, k.Key}, InLine(job, k) && k.NotBefore > 0
}

// lineUp adds a job's tasks to the queue once it waits for no other job, and moves them there when a part of
// the job in the queue's keys changes.
func lineUp(t *tx, old, next *model.Job) {
	for k, task := range t.tasks.now().From(model.TaskKey{Job: next.ID}) {
		if k.Job != next.ID {
			break
		}
		from, was := inQueue(old, &task)
		to, is := inQueue(next, &task)
		t.queue.move(from, was, to, is, None{})
		due, wasDue := inDue(old, &task)
		dueNow, isDue := inDue(next, &task)
		t.due.move(due, wasDue, dueNow, isDue, None{})
	}
}

func onDependency(t *tx, old, next *model.Dependency) {
	reindex(&t.awaited, old, next, func(d *model.Dependency) (AwaitedKey, bool) {
		return AwaitedKey{d.Key.On, d.Key.Job}, d.State == model.DependencyWaits
	})
	d := next
	if d == nil {
		d = old
	}
	onSettled(t, d.Key.On)
}

// onSettled notes whether a job has ended that other jobs still wait for.
func onSettled(t *tx, id model.JobID) {
	job, _ := t.jobs.get(id)
	is := job.EndIndex > 0 && isAwaited(t, id)
	if was := t.settling.now().Has(id); was != is {
		t.settling.move(id, was, id, is, None{})
	}
}

func isAwaited(t *tx, id model.JobID) bool {
	for k := range t.awaited.now().From(AwaitedKey{On: id}) {
		return k.On == id
	}
	return false
}

// stand counts one task in its job and in its scopes: each field is 0 or 1.
type stand struct{ queued, live, failed, canceled uint32 }

func standing(k *model.Task) (s stand) {
	switch {
	case k == nil:
	case k.State == model.TaskQueued:
		s.queued = 1
	case k.State.Live():
		s.live = 1
	case k.State == model.TaskFailed:
		s.failed = 1
	case k.State == model.TaskCanceled:
		s.canceled = 1
	}
	return s
}

// countJob relies on unsigned wrap-around: adding 0-1 subtracts 1.
func countJob(t *tx, job *model.Job, was, is stand) {
	j, found := t.jobs.get(job.ID)
	if !found {
		return
	}
	j.Open += is.queued + is.live - was.queued - was.live
	j.Live += is.live - was.live
	j.Failed += is.failed - was.failed
	j.Canceled += is.canceled - was.canceled
	t.jobs.put(j)
}

// use changes the use of the cluster, the project and the user of a spec.
func use(t *tx, spec *model.Spec, change func(*model.Usage)) {
	useOf(t, spec.Project, spec.User, change)
}

// useOf changes the use of the cluster, a project and a user.
func useOf(t *tx, project, user string, change func(*model.Usage)) {
	for _, scope := range ScopesOf(project, user) {
		u, _ := t.usage.get(scope)
		u.Scope = scope
		change(&u)
		if u.Empty() {
			t.usage.delete(scope)
		} else {
			t.usage.put(u)
		}
	}
}

// ScopesOf returns the scopes whose limits and use concern a user of a project.
func ScopesOf(project, user string) []model.ScopeKey {
	s := make([]model.ScopeKey, 0, 3)
	s = append(s, model.ScopeKey{Kind: model.ScopeCluster}, model.ScopeKey{Kind: model.ScopeUser, Name: user})
	if project != "" {
		s = append(s, model.ScopeKey{Kind: model.ScopeProject, Name: project})
	}
	return s
}

func onRank(t *tx, old, next *model.Rank) {
	reindex(&t.nodeRanks, old, next, func(r *model.Rank) (NodeRankKey, bool) {
		return NodeRankKey{r.Node, r.Key}, !r.Phase.Ended()
	})
}

func onNodeUse(t *tx, old, next *model.NodeUse) {
	reindex(&t.byFree, old, next, func(u *model.NodeUse) (FreeKey, bool) {
		return FreeKey{u.Free, u.Owned+u.Claimed == 0, u.Node}, u.Free > 0
	})
}

func onSketch(t *tx, old, next *model.Sketch) {
	reindex(&t.sketchAge, old, next, func(k *model.Sketch) (SketchAgeKey, bool) {
		return SketchAgeKey{k.Updated, k.Key}, true
	})
}

func onAllocation(t *tx, old, next *model.Allocation) {
	var from, to model.Allocation
	if old != nil {
		from = *old
	}
	if next != nil {
		to = *next
	}
	t.waiting.move(from.Turn, from.State == model.AllocationQueued, to.Turn, to.State == model.AllocationQueued, to.ID)
	reindex(&t.queue, old, next, func(a *model.Allocation) (QueueKey, bool) {
		return KeyOfService(a), a.State == model.AllocationQueued
	})
	reindex(&t.heldFor, old, next, func(a *model.Allocation) (HeldForKey, bool) {
		return HeldForKey{a.For, a.ID}, a.For != "" && !a.State.Terminal()
	})
	if t.restoring || (old == nil) == (next == nil) {
		return
	}
	by := uint32(1)
	if next == nil {
		to, by = from, ^uint32(0) // wrap-around subtracts
	}
	useOf(t, to.Project, to.User, func(u *model.Usage) { u.Services += by })
}

func onGPU(t *tx, old, next *model.GPU) {
	reindex(&t.nodeGPUs, old, next, func(g *model.GPU) (model.AddressKey, bool) {
		return model.AddressKey{Node: g.Node, Index: g.Index, GPU: g.ID}, true
	})
	t.fit += fitSlots(t, next) - fitSlots(t, old)
	bookGPU(t, old, next)
	announceGPU(t, old, next)
	if t.restoring || old == nil || next == nil || old.Usable() == next.Usable() {
		return
	}
	for n := range next.Slots {
		key := model.SlotKey{GPU: next.ID, Slot: n}
		if slot, found := t.slots.get(key); found {
			claimed := t.claims.has(key)
			shift(t, slot.Node, part(&slot, old, claimed), part(&slot, next, claimed))
		}
	}
}

func onSlot(t *tx, old, next *model.Slot) {
	reindex(&t.owners, old, next, func(s *model.Slot) (OwnerKey, bool) {
		return OwnerKey{s.Rank, s.Allocation, s.Key}, s.Owner != model.OwnerNone
	})
	if t.restoring {
		return
	}
	s := next
	if s == nil {
		s = old
	}
	gpu, _ := t.gpus.get(s.Key.GPU)
	claimed := t.claims.has(s.Key)
	shift(t, s.Node, part(old, &gpu, claimed), part(next, &gpu, claimed))
	charge(t, old, -1)
	charge(t, next, 1)
	bookSlot(t, old, -1)
	bookSlot(t, next, 1)
}

func onClaim(t *tx, old, next *model.Claim) {
	reindex(&t.claimedFor, old, next, func(c *model.Claim) (ClaimKey, bool) {
		return ClaimKey{c.Beneficiary, c.Slot}, true
	})
	c := next
	if c == nil {
		c = old
	}
	slot, found := t.slots.get(c.Slot)
	if t.restoring || !found {
		return
	}
	gpu, _ := t.gpus.get(c.Slot.GPU)
	shift(t, slot.Node, part(&slot, &gpu, old != nil), part(&slot, &gpu, next != nil))
}

// share is the part of its node's slots that a slot belongs to.
type share uint8

const (
	shareNone share = iota // there is no slot
	shareFree
	shareOwned
	shareClaimed
	shareUnhealthy
)

func part(s *model.Slot, g *model.GPU, claimed bool) share {
	switch {
	case s == nil:
		return shareNone
	case s.Owner != model.OwnerNone:
		return shareOwned
	case !g.Usable():
		return shareUnhealthy
	case claimed:
		return shareClaimed
	}
	return shareFree
}

// shift moves one slot of a node from one part of the count to another.
func shift(t *tx, node model.NodeID, from, to share) {
	if from == to {
		return
	}
	u, _ := t.nodeUse.get(node)
	u.Node = node
	tally(&u, from, -1)
	tally(&u, to, 1)
	t.nodeUse.put(u)
}

func tally(u *model.NodeUse, s share, by int32) {
	n := uint32(by) // wrap-around subtracts
	switch s {
	case shareNone:
		return
	case shareFree:
		u.Free += n
	case shareOwned:
		u.Owned += n
	case shareClaimed:
		u.Claimed += n
	case shareUnhealthy:
		u.Unhealthy += n
	}
	u.All += n
}

// charge counts a slot to the user and project of its live owner; a slot that is being cleaned has none.
func charge(t *tx, s *model.Slot, by int32) {
	if s == nil {
		return
	}
	var spec model.Spec
	switch s.Owner {
	case model.OwnerAttempt:
		job, _ := t.jobs.get(s.Rank.Job)
		spec = job.Spec
	case model.OwnerAllocation:
		a, _ := t.allocations.get(s.Allocation)
		spec = model.Spec{User: a.User, Project: a.Project}
	case model.OwnerNone, model.OwnerCleaning, model.OwnerForeign:
		return
	}
	use(t, &spec, func(u *model.Usage) { u.GPUs += uint32(by) }) // wrap-around subtracts
	account(t, spec.Project, spec.User, by)
	draw(t, spec.Project, spec.User, by)
}
