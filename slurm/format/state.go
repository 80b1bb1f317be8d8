package format

import (
	"fmt"
	"strings"
)

// State is a state of a job, in Slurm's words.
type State string

// The states of jobs.
const (
	BootFail    State = "BOOT_FAIL"
	Cancelled   State = "CANCELLED"
	Completed   State = "COMPLETED"
	Completing  State = "COMPLETING"
	Configuring State = "CONFIGURING"
	Deadline    State = "DEADLINE"
	Failed      State = "FAILED"
	NodeFail    State = "NODE_FAIL"
	OutOfMemory State = "OUT_OF_MEMORY"
	Pending     State = "PENDING"
	Preempted   State = "PREEMPTED"
	Requeued    State = "REQUEUED"
	RequeueHold State = "REQUEUE_HOLD"
	Resizing    State = "RESIZING"
	Revoked     State = "REVOKED"
	Running     State = "RUNNING"
	Signaling   State = "SIGNALING"
	SpecialExit State = "SPECIAL_EXIT"
	StageOut    State = "STAGE_OUT"
	Stopped     State = "STOPPED"
	Suspended   State = "SUSPENDED"
	Timeout     State = "TIMEOUT"
)

// States returns all states of jobs, in alphabetical order.
func States() []State {
	return []State{
		BootFail, Cancelled, Completed, Completing, Configuring, Deadline, Failed, NodeFail, OutOfMemory, Pending, Preempted, Requeued,
		RequeueHold, Resizing,
		Revoked, Running, Signaling, SpecialExit, StageOut, Stopped, Suspended, Timeout,
	}
}

// Compact returns the short word, such as PD, or the state itself if it is none of Slurm's.
func (s State) Compact() string {
	short, known := map[State]string{
		BootFail: "BF", Cancelled: "CA", Completed: "CD", Completing: "CG", Configuring: "CF", Deadline: "DL", Failed: "F", NodeFail: "NF",
		OutOfMemory: "OOM", Pending: "PD", Preempted: "PR", Requeued: "RQ", RequeueHold: "RH", Resizing: "RS", Revoked: "RV", Running: "R",
		Signaling: "SI", SpecialExit: "SE", StageOut: "SO", Stopped: "ST", Suspended: "S", Timeout: "TO",
	}[s]
	if !known {
		return string(s)
	}
	return short
}

// Ended reports whether a job in this state has ended for good.
func (s State) Ended() bool {
	switch s {
	case BootFail, Cancelled, Completed, Deadline, Failed, NodeFail, OutOfMemory, Preempted, Revoked, Timeout:
		return true
	case Completing, Configuring, Pending, Requeued, RequeueHold, Resizing, Running, Signaling, SpecialExit, StageOut, Stopped, Suspended:
	}
	return false
}

// ParseStates reads a list of states that commas join, long or short, in any case; "all" stands for every state.
func ParseStates(text string) ([]State, error) {
	var found []State
	for word := range strings.SplitSeq(text, ",") {
		word = strings.ToUpper(strings.TrimSpace(word))
		if word == "ALL" {
			return States(), nil
		}
		n := len(found)
		for _, s := range States() {
			if word == string(s) || word == s.Compact() || word == "CANCELED" && s == Cancelled {
				found = append(found, s)
			}
		}
		if len(found) == n {
			words := make([]string, len(States()))
			for i, s := range States() {
				words[i] = string(s)
			}
			return nil, fmt.Errorf("%q is no state of a job; states are all, %s", clip(word), strings.Join(words, ", "))
		}
	}
	return found, nil
}

// NodeState is a state of a node, in Slurm's words.
type NodeState string

// The states of nodes.
const (
	NodeAllocated NodeState = "allocated"
	NodeDown      NodeState = "down"
	NodeDrained   NodeState = "drained"  // no new jobs, and none is left
	NodeDraining  NodeState = "draining" // no new jobs, and some still run
	NodeIdle      NodeState = "idle"
	NodeMaint     NodeState = "maint"
	NodeMixed     NodeState = "mixed" // partly allocated
	NodeReserved  NodeState = "reserved"
	NodeUnknown   NodeState = "unknown"
)

// Compact returns the short word, such as alloc, or the state itself if it is none of Slurm's.
func (s NodeState) Compact() string {
	short, known := map[NodeState]string{
		NodeAllocated: "alloc", NodeDown: "down", NodeDrained: "drain", NodeDraining: "drng", NodeIdle: "idle", NodeMaint: "maint", NodeMixed: "mix",
		NodeReserved: "resv", NodeUnknown: "unk",
	}[s]
	if !known {
		return string(s)
	}
	return short
}
