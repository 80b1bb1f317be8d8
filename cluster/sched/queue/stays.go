package queue

import (
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// EndsAfter returns after how long the tasks of a run are taken to end, by jobs that wait for the GPUs that they
// hold. Strictly taken, only a time limit or the user's estimate counts: on guesses, one seemingly short job after
// the other could pass a waiting job without end.
func EndsAfter(run *state.Run, strictly bool) time.Duration {
	switch {
	case run.Service:
	case !strictly || run.Told:
		return seconds(run.Expected.Seconds())
	case run.Certain > 0:
		return 2 * run.Certain.Least()
	}
	return admission.LongestSeconds * time.Second
}

// Stay returns for how long a waiting task, once it runs, is in the way of large jobs that wait for its GPUs.
// Strictly, for tasks at the wait bound, a task yields only if it can be suspended at once. Until then it is in
// the way: otherwise one such task after the other could be in the way without end.
func (o *Ordering) Stay(k state.QueueKey, strictly bool) split.Stay {
	run := k.Run.Value()
	var task model.Task
	yields, ends := run.Preemptible && !o.Tuning.NoPreemption, EndsAfter(&run, strictly)
	if !run.Service {
		task, _ = o.State.Tasks.Get(k.Task)
	}
	if !run.Service && (!strictly || run.Told) { // to the second: the steps of run times are too coarse to end in time
		ends = max(task.Expected, admission.LeastRun)
	}
	switch {
	case !yields:
		return split.Stay{Ends: int64(ends / time.Second), Began: int64(o.Now) / int64(time.Second)}
	case !strictly:
		return split.Stay{Yields: true, Ends: int64(ends / time.Second)}
	}
	held := min(ends, ProtectedTime(&task, task.Executed, 0, &o.Tuning))
	return split.Stay{Yields: held == 0, Ends: int64(held / time.Second)}
}

// ProtectedTime returns for how much longer a task may not be suspended; at most LongestSeconds. The task has
// executed for a time in all, of which its running attempt has the last part, ran.
func ProtectedTime(task *model.Task, executed, ran time.Duration, t *model.Tuning) time.Duration {
	return max(t.MinRun-ran, EarningTime(task, executed, t))
}

// EarningTime returns for how much longer a task has to run until it may be stopped for others again; at most
// LongestSeconds.
func EarningTime(task *model.Task, executed time.Duration, t *model.Tuning) time.Duration {
	if task.Preempted < t.Budget {
		return 0
	}
	const most = admission.LongestSeconds * time.Second
	times, every := time.Duration(task.Preempted-t.Budget)+1, max(t.BudgetEvery, time.Second)
	if times > (most+executed)/every {
		return most
	}
	return max(times*every-executed, 0)
}
