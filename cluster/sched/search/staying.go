package search

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// addStaying adds an attempt that stays where it is. Its value is the same in every layout, and what it uses of limits
// stays in use.
func addStaying(b *builder, job *model.Job, task *model.Task, a *model.Attempt, where []split.Part) {
	o, had := b.pass.Order, admission.Executed(task, a, b.pass.Now)
	run := state.Run{
		Project: job.Spec.Project, User: job.Spec.User, Shape: job.Spec.Shape(), Preemptible: job.Spec.Preemptible,
		Expected: model.StepOf(b.pass.State.Expect(&job.Spec, had)),
	}
	j := b.job(&run, split.Job{Place: where, Locked: true, Shape: -1})
	j.Over = max(j.Ends-int64(max(a.Placed.Add(task.Expected).Sub(b.pass.Now), 0)/time.Second), 0)
	if j.Yields {
		held := queue.ProtectedTime(task, had, had-task.Executed, &o.Tuning)
		j.Ends = min(j.Ends, int64(held/time.Second))
		j.Over = min(j.Over, j.Ends)
		if found := &b.pass.Found; a.Started > 0 && held > 0 {
			found.SuspendableAt = pass.Sooner(found.SuspendableAt, b.pass.Now.Add(held))
		}
	} else {
		j.Began = int64(a.Placed) / int64(time.Second)
	}
	at := queue.SortKey{Late: o.Late(run.Project, run.User), Front: o.Front[task.Key], Task: task.Key}
	b.add(candidate{key: state.QueueKey{Task: task.Key}, attempt: a.Key, at: at}, j, 0)
	for _, v := range where {
		b.stays += v.GPUs
	}
}

// keepClaimed adds the tasks for which GPUs are kept, as if they ran there already: no other job may have these
// GPUs.
func keepClaimed(b *builder) {
	s := b.pass.State
	for task := range queue.Claimants(s) {
		var where []split.Part
		for c := range s.ClaimedFor.From(state.ClaimKey{Task: task}) {
			if c.Task != task {
				break
			}
			slot, _ := s.Slots.Get(c.Slot)
			g, _ := s.GPUs.Get(c.Slot.GPU)
			if n, open := b.index[slot.Node]; open && b.mine(&slot, &g) {
				i := slices.IndexFunc(where, func(v split.Part) bool { return v.Node == n })
				if i < 0 {
					where, i = append(where, split.Part{Node: n}), len(where)
				}
				where[i].GPUs++
			}
		}
		if len(where) == 0 {
			continue
		}
		t := admission.TicketOf(s, task)
		k := t.QueueKey(s)
		run := k.Run.Value()
		b.keeper.waiting(k)
		j := b.job(&run, split.Job{Place: where, Locked: true, Shape: -1})
		j.Stay = b.pass.Order.Stay(k, b.pass.Order.Strict)
		next := model.AttemptKey{Job: task.Job, Task: task.Task, N: t.Task.Attempts + 1}
		b.add(candidate{key: k, attempt: next, at: b.pass.Order.SortKey(k)}, j, 0)
		for _, v := range where {
			b.stays += v.GPUs
		}
	}
}
