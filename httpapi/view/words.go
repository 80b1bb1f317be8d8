package view

import (
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
)

// ReasonWords returns in words what the codes mean that lists have as the reason of a job that waits, and blockers as their code.
func ReasonWords() map[string]string {
	out := map[string]string{}
	for code, text := range map[blocker.Code]string{ // order-free: a map again
		blocker.CodeStopped:    "the scheduler is stopped: nothing is started",
		blocker.CodeStandstill: "nothing is started since a restore, until an operator starts the scheduler",
		blocker.CodeHeld:       "held until it is released",
		blocker.CodeDependency: "waits for another job to end",
		blocker.CodeBegin:      "asked to begin later",
		blocker.CodeBackoff:    "has failed, and is tried again later",
		blocker.CodeThrottle:   "as many tasks of its array run as may",
		blocker.CodeLimit:      "a limit of the user, the project or the cluster is reached",
		blocker.CodeNever:      "no nodes that the cluster has could hold it, even empty",
		blocker.CodeGPUType:    "too few GPUs of its type are free",
		blocker.CodeGPUMemory:  "too few GPUs with as much memory are free",
		blocker.CodeConstraint: "too few GPUs are free on the nodes that it may use",
		blocker.CodeAccounts:   "too few GPUs are on nodes that run jobs of its user",
		blocker.CodeAvoid:      "too few GPUs are free that have not just failed it",
		blocker.CodeNodes:      "too few nodes take work",
		blocker.CodeGPUs:       "too few GPUs are free",
		blocker.CodeCores:      "too few cores or too little memory is free",
		blocker.CodeSuspending: "starts as soon as other jobs have been suspended",
		blocker.CodeReserved:   "would fit, but GPUs are kept for jobs before it",
		blocker.CodeBarred:     "would fit, but a large job waits for the nodes",
		blocker.CodeBooked:     "would fit, but a reservation keeps the GPUs",
		blocker.CodeClosed:     "would fit, but a maintenance takes nodes out of service",
		blocker.CodeDegraded:   "agents of its nodes cannot start jobs",
		blocker.CodeAhead:      "would fit, but jobs before it are placed first",
		blocker.CodeRunTime:    "its time limit is longer than allowed",
		blocker.CodeGPUHours:   "the quota of GPU-hours is used up",
		blocker.CodePool:       "the GPUs belong to the guarantees of others",
	} {
		out[string(code)] = text
	}
	return out
}

// EndWords returns in words what the codes mean that lists have as the reason of a job that ended or was stopped.
func EndWords() map[string]string {
	out := map[string]string{}
	for code, text := range map[model.Reason]string{ // order-free: a map again
		model.ReasonStartDeadline: "not all ranks were ready in time",
		model.ReasonPreempt:       "its GPUs were claimed for another job",
		model.ReasonDrain:         "a node of it is drained",
		model.ReasonRequeue:       "sent back to the queue",
		model.ReasonGangBroken:    "another rank of it failed or was lost",
		model.ReasonTimeLimit:     "it ran as long as it may",
		model.ReasonCancel:        "canceled",
		model.ReasonExit:          "its processes ended",
		model.ReasonLost:          "a node of it was silent for longer than its lease",
		model.ReasonRebooted:      "a node of it was restarted",
		model.ReasonConfirmedDead: "an operator confirmed that a node of it is dead",
		model.ReasonGPUFault:      "a GPU of it has a fault",
		model.ReasonDependency:    "a job that it waited for has not ended as it should",
		model.ReasonDeadline:      "its deadline came",
		model.ReasonDiskLimit:     "it took more of a node's disk than it may",
		model.ReasonLeadEnded:     "rank 0, with which the job ends, has ended",
	} {
		out[code.String()] = text
	}
	return out
}
