package sched

import (
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// endsOf is after how long the tasks of a run are taken to end, by those whose GPUs they
// would be in the way of. Strictly taken only a time limit says so, or what the user has
// told: who knows nothing of run times would let one short job after the other, as they
// all seem to be, pass who waits, for ever.
func endsOf(run *state.Run, strictly bool) time.Duration {
	switch {
	case run.Service:
	case !strictly || run.Told:
		return seconds(run.Expected.Seconds())
	case run.Certain > 0:
		return 2 * run.Certain.Least()
	}
	return longest * time.Second
}

// stays is for how long a waiting task, once it runs, is in the way of gangs that wait for its GPUs.
// Strictly taken, for those who are at the wait bound, nobody yields who may not be
// suspended at once: they are in the way until they may be, or one of them after the other would be
// for ever.
func (o *order) stays(k state.QueueKey, strictly bool) split.Stay {
	run := k.Run.Value()
	yields, ends := run.Preemptible && !o.tuning.NoPreemption, endsOf(&run, strictly)
	switch {
	case !yields:
		return split.Stay{Ends: int64(ends / time.Second), Began: int64(o.now) / int64(time.Second)}
	case !strictly:
		return split.Stay{Yields: true, Ends: int64(ends / time.Second)}
	}
	var task model.Task
	if run.Again {
		task, _ = o.state.Tasks.Get(k.Task)
	}
	held := min(ends, firm(&task, task.Executed, 0, &o.tuning))
	return split.Stay{Yields: held == 0, Ends: int64(held / time.Second)}
}

// firm is for how long yet a task may not be suspended that has executed for so long, of which its
// running attempt has the last so much; at most longest.
func firm(task *model.Task, executed, ran time.Duration, t *model.Tuning) time.Duration {
	return max(t.MinRun-ran, earning(task, executed, t))
}

// earning is for how much longer a task has to run until it has earned to be stopped for others once
// more; at most longest.
func earning(task *model.Task, executed time.Duration, t *model.Tuning) time.Duration {
	if task.Preempted < t.Budget {
		return 0
	}
	const most = longest * time.Second
	times, every := time.Duration(task.Preempted-t.Budget)+1, max(t.BudgetEvery, time.Second)
	if times > (most+executed)/every {
		return most
	}
	return max(times*every-executed, 0)
}

// stay adds an attempt that stays where it is. What it is worth is worth the same in
// every layout, and what it has of limits is not thought away.
func stay(b *builder, job *model.Job, task *model.Task, a *model.Attempt, place []split.Part) {
	o, had := b.pass.order, executed(task, a, b.pass.now)
	run := state.Run{
		Project: job.Spec.Project, User: job.Spec.User, Shape: job.Spec.Shape(), Preemptible: job.Spec.Preemptible,
		Expected: model.StepOf(b.pass.state.Expect(&job.Spec, had)),
	}
	j := b.job(&run, split.Job{Place: place, Locked: true, Shape: -1})
	if j.Yields {
		held := firm(task, had, had-task.Executed, &o.tuning)
		j.Ends = min(j.Ends, int64(held/time.Second))
		if found := &b.pass.found; a.Started > 0 && held > 0 {
			found.frees = sooner(found.frees, b.pass.now.Add(held))
		}
	} else {
		j.Began = int64(a.Placed) / int64(time.Second)
	}
	at := standing{late: o.late(run.Project, run.User), front: o.front[task.Key], task: task.Key}
	b.add(candidate{key: state.QueueKey{Task: task.Key}, attempt: a.Key, at: at}, j, 0)
	for _, v := range place {
		b.stays += v.GPUs
	}
}

// keepClaimed adds those for whom GPUs are kept, as if they ran there already: these are nobody else's.
func keepClaimed(b *builder) {
	s := b.pass.state
	for task := range claimants(s) {
		var place []split.Part
		for c := range s.ClaimedFor.From(state.ClaimKey{Task: task}) {
			if c.Task != task {
				break
			}
			slot, _ := s.Slots.Get(c.Slot)
			g, _ := s.GPUs.Get(c.Slot.GPU)
			if n, open := b.index[slot.Node]; open && b.mine(&slot, &g) {
				i := slices.IndexFunc(place, func(v split.Part) bool { return v.Node == n })
				if i < 0 {
					place, i = append(place, split.Part{Node: n}), len(place)
				}
				place[i].GPUs++
			}
		}
		if len(place) == 0 {
			continue
		}
		t := ticketOf(s, task)
		k := t.key(s)
		run := k.Run.Value()
		b.keeper.waiting(k)
		j := b.job(&run, split.Job{Place: place, Locked: true, Shape: -1})
		j.Stay = b.pass.order.stays(k, b.pass.order.strict)
		next := model.AttemptKey{Job: task.Job, Task: task.Task, N: t.task.Attempts + 1}
		b.add(candidate{key: k, attempt: next, at: b.pass.order.standing(k)}, j, 0)
		for _, v := range place {
			b.stays += v.GPUs
		}
	}
}
