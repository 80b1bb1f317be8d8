package pass

import (
	"github.com/berth-gpu/berth/cluster/sched/blocker"
)

// Outcome is the result of trying the head of a run.
type Outcome uint8

// The outcomes.
const (
	Placed  Outcome = iota
	Skipped         // it waits for something of its own
	JobFull         // no more tasks of this job
	RunOver         // nothing else of this run can be placed either
	AllOver         // nothing else at all may be placed
)

// OutcomeOf returns what a blocker keeps back: a task, its job or its run.
func OutcomeOf(c blocker.Code) Outcome {
	switch c { //nolint:exhaustive // all others are the task's own
	case blocker.CodeThrottle, blocker.CodeRunTime:
		return JobFull
	case blocker.CodeLimit, blocker.CodeGPUHours, blocker.CodePool:
		return RunOver
	}
	return Skipped
}
