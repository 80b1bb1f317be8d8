package queue

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Textbooks lists the names of the orders of the literature, which only simulations can follow: they use the
// users' run times to the second, and serve to compare published results with Berth's. In a simulation each task
// must have a project of its own, since an order is asked for the heads of runs only.
func Textbooks() (names []string) {
	for _, p := range textbooks() {
		names = append(names, p.Name)
	}
	return names
}

func textbooks() []Policy {
	return []Policy{
		{"srtf", "shortest remaining time first", byRemaining, true, true, logFactors},
		{"srsf", "shortest remaining service, which is GPU time, first", byService, true, true, logFactors},
	}
}

// byRemaining orders by the run time that is left of the user's estimate.
func byRemaining(o *Ordering, k state.QueueKey) uint64 { return 1 << 62 / remaining(o, k) }

// byService orders by the GPU time that is left of the estimate.
func byService(o *Ordering, k state.QueueKey) uint64 {
	return 1 << 62 / (remaining(o, k) * uint64(max(k.Run.Value().Shape.GPUs, 1)))
}

// remaining returns the rest of the estimate in milliseconds, at least one.
func remaining(o *Ordering, k state.QueueKey) uint64 {
	t := admission.TicketOf(o.State, k.Task)
	had := t.Task.Executed
	if t.Task.State != model.TaskQueued {
		a, _ := o.State.Attempts.Get(t.Task.Newest())
		had = admission.Executed(&t.Task, &a, o.Now)
	}
	return uint64(max((t.Job.Spec.Estimate - had).Milliseconds(), 1))
}
