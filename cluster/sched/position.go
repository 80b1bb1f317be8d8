package sched

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// exactUpTo is how many tasks are counted for a position.
const exactUpTo = 1000

// Position is the place of a waiting task in the order at the time now: 1 is next.
// Tasks in a backoff count, held ones do not; a held task has the place that it
// would have if it were released. Beyond 1,000 it is an estimate, which takes
// every run's tasks to have come evenly over time. It is 0 for a task that does
// not wait.
func Position(s *state.State, _ model.Time, key model.TaskKey) (position int, exact bool) {
	task, _ := s.Tasks.Get(key)
	if task.State != model.TaskQueued {
		return 0, true
	}
	job, _ := s.Jobs.Get(key.Job)
	at := keyOf(&task, &job.Spec)
	policy := policyOf(s)
	counted := 0
	runs := slices.Collect(heads(s))
	for _, head := range runs {
		for k := range s.Queue.From(head) {
			if !sameRun(k, head) || policy.Compare(k, at) >= 0 {
				break
			}
			if counted++; counted == exactUpTo {
				return estimate(s, runs, policy, at), false
			}
		}
	}
	return counted + 1, true
}

// estimate shares the queue's length out among the runs by the span of job numbers
// that each can hold, and counts of each the part before the task.
func estimate(s *state.State, runs []state.QueueKey, policy Policy, at state.QueueKey) int {
	next := uint64(s.Settings().NextJob)
	var all, before float64
	for _, head := range runs {
		span := float64(next - uint64(head.Task.Job))
		all += span
		switch {
		case policy.Compare(last(head), at) < 0:
			before += span
		case policy.Compare(head, at) < 0:
			before += float64(at.Task.Job - head.Task.Job)
		}
	}
	n := int(before / all * float64(s.Queue.Len()))
	return min(max(n, exactUpTo)+1, s.Queue.Len()+1)
}
