package queue

import (
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// exactUpTo is how many tasks are counted for a position.
const exactUpTo = 1000

// Position returns the place of a waiting task or service in the order at the time now: 1 is next. Services count
// as tasks do. Tasks of jobs without GPUs have places among themselves. Tasks in a backoff count, held ones do not; a held task has the
// place that it would have if it were released. Beyond 1,000 the place is an estimate, as if every run's tasks had come evenly over time.
// The place of a task that does not wait is 0.
func Position(s *state.State, now model.Time, key model.TaskKey) (position int, exact bool) {
	t := admission.TicketOf(s, key)
	if t.Task.State != model.TaskQueued {
		return 0, true
	}
	o, all := NewOrdering(s, now), s.Queue
	if t.Job.Spec.WithoutGPUs() {
		all = s.CPUQueue
	}
	at := o.SortKey(t.QueueKey(s))
	counted := 0
	for head := range headsOf(all) {
		for k := range all.From(head) {
			if !SameRun(k, head) || o.SortKey(k).Compare(at) >= 0 {
				break
			}
			if counted++; counted == exactUpTo {
				return estimate(o, all, at), false
			}
		}
	}
	return counted + 1, true
}

// estimate shares the queue's length out among the runs by the span of job numbers that each can hold. Of each run
// it counts the part before the task.
func estimate(o *Ordering, waiting line, at SortKey) int {
	s := o.State
	next := uint64(s.Settings().NextJob)
	var all, before float64
	for head := range headsOf(waiting) {
		span := float64(next - uint64(head.Task.Job))
		all += span
		before += span * o.shareBefore(head, at)
	}
	n := int(before / all * float64(waiting.Len()))
	return min(max(n, exactUpTo)+1, waiting.Len()+1)
}

// shareBefore returns which part of a run goes before a place in the order, if its tasks have come evenly from the
// head's submission until now.
func (o *Ordering) shareBefore(head state.QueueKey, at SortKey) float64 {
	low, high := 0, shareSteps // of the tasks before low/shareSteps all go before at
	for low < high {
		mid := (low + high + 1) / 2
		k := head
		k.Since = head.Since.Add(o.Now.Sub(head.Since) / shareSteps * time.Duration(mid))
		k.Task.Job += model.JobID(uint64(o.State.Settings().NextJob-head.Task.Job) * uint64(mid) / shareSteps)
		if o.SortKey(k).Compare(at) < 0 {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return float64(low) / shareSteps
}

// shareSteps is the number of parts into which a run is cut to find how much of it goes first.
const shareSteps = 256
