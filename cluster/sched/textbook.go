package sched

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Textbooks lists the names of the orders that the literature has, which only plays can
// follow: they go by what users say of run times, to the second, and hold others' figures
// against Berth's. In a play each task must be of a project of its own, since an order is
// asked for the heads of runs only.
func Textbooks() (names []string) {
	for _, p := range textbooks() {
		names = append(names, p.name)
	}
	return names
}

func textbooks() []policy {
	return []policy{
		{"srtf", "shortest remaining time first", byRemaining, true, true, logFactors},
		{"srsf", "shortest remaining service, which is GPU time, first", byService, true, true, logFactors},
	}
}

// byRemaining goes by the run time that is left of what the user said.
func byRemaining(o *order, k state.QueueKey) uint64 { return 1 << 62 / remaining(o, k) }

// byService goes by the GPU time that is left of it.
func byService(o *order, k state.QueueKey) uint64 {
	return 1 << 62 / (remaining(o, k) * uint64(max(k.Run.Value().Shape.GPUs, 1)))
}

// remaining is in milliseconds, at least one.
func remaining(o *order, k state.QueueKey) uint64 {
	t := ticketOf(o.state, k.Task)
	had := t.task.Executed
	if t.task.State != model.TaskQueued {
		a, _ := o.state.Attempts.Get(t.task.Newest())
		had = executed(&t.task, &a, o.now)
	}
	return uint64(max((t.job.Spec.Estimate - had).Milliseconds(), 1)) //nolint:gosec // positive
}
