package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/blocker"
)

// outcome is the result of trying the head of a run.
type outcome uint8

const (
	placed  outcome = iota
	skipped         // it waits for something of its own
	jobFull         // no more tasks of this job
	runOver         // nothing else of this run can be placed either
	allOver         // nothing else at all may be placed
)

// outcomeOf returns what a blocker keeps back: a task, its job or its run.
func outcomeOf(c blocker.Code) outcome {
	switch c { //nolint:exhaustive // all others are the task's own
	case blocker.CodeThrottle, blocker.CodeRunTime:
		return jobFull
	case blocker.CodeLimit, blocker.CodeGPUHours, blocker.CodePool:
		return runOver
	}
	return skipped
}
