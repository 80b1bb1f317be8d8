package tx

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
)

// The hooks below run at every write of a row. Each updates the indexes of its table and, unless rows come
// from a snapshot that holds the counts already, the counting rows.

func onJob(t *Tx, old, next *model.Job) {
	reindex(&t.ended, old, next, func(j *model.Job) (state.EndedKey, bool) {
		return state.EndedKey{Index: j.EndIndex, Job: j.ID}, j.EndIndex > 0
	})
	reindex(&t.attached, old, next, func(j *model.Job) (model.JobID, bool) { return j.ID, j.Spec.Attached > 0 && j.EndIndex == 0 })
	reindex(&t.deadlines, old, next, func(j *model.Job) (state.DeadlineKey, bool) {
		return state.DeadlineKey{At: j.Spec.Deadline, Job: j.ID}, j.Spec.Deadline > 0 && j.EndIndex == 0
	})
	if next != nil && (next.EndIndex > 0 || next.Begun == next.Tasks) {
		onSettled(t, next.ID)
	}
	if old != nil && next != nil &&
		(old.Blocked() && !next.Blocked() || old.Spec.TimeLimit != next.Spec.TimeLimit || old.Place != next.Place) {
		lineUp(t, old, next)
	}
	countBytes(t, old, next)
}

func onTask(t *Tx, old, next *model.Task) {
	job, _ := t.Jobs.Get(taskOf(old, next).Key.Job)
	queue, live := &t.queue, &t.liveTasks
	if job.Spec.WithoutGPUs() {
		queue, live = &t.cpuQueue, &t.liveCPU
	}
	reindex(queue, old, next, func(k *model.Task) (state.QueueKey, bool) { return inQueue(&job, k) })
	reindex(&t.due, old, next, func(k *model.Task) (state.DueKey, bool) { return inDue(&job, k) })
	reindex(live, old, next, func(k *model.Task) (model.TaskKey, bool) { return k.Key, k.State.Live() })
	if t.Restoring {
		return
	}
	was, is := standing(old), standing(next)
	if was != is {
		countJob(t, &job, was, is)
		use(t, &job.Spec, func(u *model.Usage) {
			u.Queued += is.queued - was.queued
			if job.Spec.WithoutGPUs() {
				u.CPULive += is.live - was.live
				return
			}
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

func inQueue(job *model.Job, k *model.Task) (key state.QueueKey, in bool) {
	if in = state.InLine(job, k); in {
		key = state.KeyOf(k, job)
	}
	return key, in
}

func inDue(job *model.Job, k *model.Task) (state.DueKey, bool) {
	return state.DueKey{At: k.NotBefore, Task: k.Key}, state.InLine(job, k) && k.NotBefore > 0
}

// lineUp adds a job's tasks to the queue once it waits for no other job, and moves them there when a part of
// the job in the queue's keys changes.
func lineUp(t *Tx, old, next *model.Job) {
	for k, task := range t.Tasks.Now().From(model.TaskKey{Job: next.ID}) {
		if k.Job != next.ID {
			break
		}
		from, was := inQueue(old, &task)
		to, is := inQueue(next, &task)
		if next.Spec.WithoutGPUs() {
			t.cpuQueue.move(from, was, to, is, state.None{})
		} else {
			t.queue.move(from, was, to, is, state.None{})
		}
		due, wasDue := inDue(old, &task)
		dueNow, isDue := inDue(next, &task)
		t.due.move(due, wasDue, dueNow, isDue, state.None{})
	}
}

func onDependency(t *Tx, old, next *dependency.Row) {
	reindex(&t.awaited, old, next, func(d *dependency.Row) (state.AwaitedKey, bool) {
		return state.AwaitedKey{On: d.Key.On, Kind: d.Key.Kind, Job: d.Key.Job}, d.State == dependency.Waits && d.Due == 0
	})
	reindex(&t.delayed, old, next, func(d *dependency.Row) (state.DelayedKey, bool) {
		return state.DelayedKey{At: d.Due, Row: d.Key}, d.State == dependency.Waits && d.Due > 0
	})
	d := next
	if d == nil {
		d = old
	}
	onSettled(t, d.Key.On)
}

// onSettled notes whether a job has done what other jobs still wait for: it has ended, or begun.
func onSettled(t *Tx, id model.JobID) {
	job, _ := t.Jobs.Get(id)
	is := job.EndIndex > 0 && IsAwaited(t, id) ||
		job.Tasks > 0 && job.Begun == job.Tasks && hasAwaited(t, state.AwaitedKey{On: id, Kind: dependency.AfterBegin})
	if was := t.settling.Now().Has(id); was != is {
		t.settling.move(id, was, id, is, state.None{})
	}
}

// IsAwaited reports whether other jobs wait for a job.
func IsAwaited(t *Tx, id model.JobID) bool {
	for k := range t.awaited.Now().From(state.AwaitedKey{On: id}) {
		return k.On == id
	}
	return false
}

// hasAwaited reports whether other jobs wait for what the key names.
func hasAwaited(t *Tx, key state.AwaitedKey) bool {
	for k := range t.awaited.Now().From(key) {
		return k.On == key.On && k.Kind == key.Kind
	}
	return false
}

// AwaitedFor returns the jobs that wait for a job in one way.
func AwaitedFor(t *Tx, on model.JobID, kind dependency.Kind) (jobs []model.JobID) {
	for k := range t.awaited.Now().From(state.AwaitedKey{On: on, Kind: kind}) {
		if k.On != on || k.Kind != kind {
			break
		}
		jobs = append(jobs, k.Job)
	}
	return jobs
}

// stand counts one task in its job and in its scopes: each field is 0 or 1.
type stand struct{ queued, live, failed, canceled, begun uint32 }

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
	if k != nil && (k.Started > 0 || k.State.Terminal()) {
		s.begun = 1
	}
	return s
}

// countJob relies on unsigned wrap-around: adding 0-1 subtracts 1.
func countJob(t *Tx, job *model.Job, was, is stand) {
	j, found := t.Jobs.Get(job.ID)
	if !found {
		return
	}
	j.Open += is.queued + is.live - was.queued - was.live
	j.Live += is.live - was.live
	j.Failed += is.failed - was.failed
	j.Canceled += is.canceled - was.canceled
	j.Begun += is.begun - was.begun
	t.Jobs.Put(j)
}

// use changes the use of the cluster, the project and the user of a spec.
func use(t *Tx, spec *model.Spec, change func(*model.Usage)) {
	useOf(t, spec.Project, spec.User, change)
}

// useOf changes the use of the cluster, a project and a user.
func useOf(t *Tx, project, user string, change func(*model.Usage)) {
	for _, scope := range state.ScopesOf(project, user) {
		u, _ := t.Usage.Get(scope)
		u.Scope = scope
		change(&u)
		if u.Empty() {
			t.Usage.Delete(scope)
		} else {
			t.Usage.Put(u)
		}
	}
}

func onRank(t *Tx, old, next *model.Rank) {
	reindex(&t.nodeRanks, old, next, func(r *model.Rank) (state.NodeRankKey, bool) {
		return state.NodeRankKey{Node: r.Node, Rank: r.Key}, !r.Phase.Ended()
	})
	if !t.Restoring {
		hold(t, old, next)
	}
}

// hold counts what a rank of a job without GPUs holds: on its node, and as the use of its user.
func hold(t *Tx, old, next *model.Rank) {
	var was, is model.Room
	r := next
	if r == nil {
		r = old
	}
	if old != nil {
		was = old.Holds()
	}
	if next != nil {
		is = next.Holds()
	}
	if was == is {
		return
	}
	u, _ := t.NodeUse.Get(r.Node)
	u.Node = r.Node
	u.Held.CPUs += is.CPUs - was.CPUs // wrap-around subtracts
	u.Held.MemoryMB += is.MemoryMB - was.MemoryMB
	t.NodeUse.Put(u)
	job := t.Jobs.Must(r.Key.Job)
	use(t, &job.Spec, func(u *model.Usage) { u.CPUs += is.CPUs - was.CPUs })
}

func onSketch(t *Tx, old, next *model.Sketch) {
	reindex(&t.SketchAge, old, next, func(k *model.Sketch) (state.SketchAgeKey, bool) {
		return state.SketchAgeKey{Updated: k.Updated, Sketch: k.Key}, true
	})
}

func onAllocation(t *Tx, old, next *model.Allocation) {
	var from, to model.Allocation
	if old != nil {
		from = *old
	}
	if next != nil {
		to = *next
	}
	t.Waiting.move(from.Turn, from.State == model.AllocationQueued, to.Turn, to.State == model.AllocationQueued, to.ID)
	reindex(&t.queue, old, next, func(a *model.Allocation) (state.QueueKey, bool) {
		return state.KeyOfService(a), a.State == model.AllocationQueued
	})
	reindex(&t.HeldFor, old, next, func(a *model.Allocation) (state.HeldForKey, bool) {
		return state.HeldForKey{For: a.For, ID: a.ID}, a.For != "" && !a.State.Terminal()
	})
	if t.Restoring || (old == nil) == (next == nil) {
		return
	}
	by := uint32(1)
	if next == nil {
		to, by = from, ^uint32(0) // wrap-around subtracts
	}
	useOf(t, to.Project, to.User, func(u *model.Usage) { u.Services += by })
}

func onGPU(t *Tx, old, next *model.GPU) {
	reindex(&t.NodeGPUs, old, next, func(g *model.GPU) (model.AddressKey, bool) {
		return model.AddressKey{Node: g.Node, Index: g.Index, GPU: g.ID}, true
	})
	t.fit += fitSlots(t, next) - fitSlots(t, old)
	bookGPU(t, old, next)
	announceGPU(t, old, next)
	if t.Restoring || old == nil || next == nil || old.Usable() == next.Usable() {
		return
	}
	for n := range next.Slots {
		key := model.SlotKey{GPU: next.ID, Slot: n}
		if slot, found := t.Slots.Get(key); found {
			claimed := t.Claims.Has(key)
			shift(t, slot.Node, part(&slot, old, claimed), part(&slot, next, claimed))
		}
	}
}

func onSlot(t *Tx, old, next *model.Slot) {
	reindex(&t.Owners, old, next, func(s *model.Slot) (state.OwnerKey, bool) {
		return state.OwnerKey{Rank: s.Rank, Allocation: s.Allocation, Slot: s.Key}, s.Owner != model.OwnerNone
	})
	if t.Restoring {
		return
	}
	s := next
	if s == nil {
		s = old
	}
	gpu := t.GPUs.Must(s.Key.GPU)
	claimed := t.Claims.Has(s.Key)
	shift(t, s.Node, part(old, &gpu, claimed), part(next, &gpu, claimed))
	charge(t, old, -1)
	charge(t, next, 1)
	bookSlot(t, old, -1)
	bookSlot(t, next, 1)
}

func onClaim(t *Tx, old, next *model.Claim) {
	reindex(&t.ClaimedFor, old, next, func(c *model.Claim) (state.ClaimKey, bool) {
		return state.ClaimKey{Task: c.Beneficiary, Slot: c.Slot}, true
	})
	c := next
	if c == nil {
		c = old
	}
	slot, found := t.Slots.Get(c.Slot)
	if t.Restoring || !found {
		return
	}
	gpu := t.GPUs.Must(c.Slot.GPU)
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
func shift(t *Tx, node model.NodeID, from, to share) {
	if from == to {
		return
	}
	u, _ := t.NodeUse.Get(node)
	u.Node = node
	addShare(&u, from, -1)
	addShare(&u, to, 1)
	t.NodeUse.Put(u)
}

// addShare changes the count of a share of a node by a number.
func addShare(u *model.NodeUse, s share, by int32) {
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
func charge(t *Tx, s *model.Slot, by int32) {
	if s == nil {
		return
	}
	var spec model.Spec
	switch s.Owner {
	case model.OwnerAttempt:
		job := t.Jobs.Must(s.Rank.Job)
		spec = job.Spec
	case model.OwnerAllocation:
		a := t.Allocations.Must(s.Allocation)
		spec = model.Spec{User: a.User, Project: a.Project}
	case model.OwnerNone, model.OwnerCleaning, model.OwnerForeign:
		return
	}
	use(t, &spec, func(u *model.Usage) { u.GPUs += uint32(by) }) // wrap-around subtracts
	account(t, spec.Project, spec.User, by)
	draw(t, spec.Project, spec.User, by)
}
