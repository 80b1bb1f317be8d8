// Package words is the words of Slurm for what a job and a node are: states, reasons, models of GPUs, and lists of nodes.
package words

import (
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/format"
)

// State returns the state of a job or of a task in Slurm's words.
func State(job *wire.Job) format.State {
	switch job.State {
	case wire.StateQueued:
		return format.Pending
	case wire.StateScheduled, wire.StateAllocating:
		if job.Stopping != nil {
			return format.Completing
		}
		return format.Configuring
	case wire.StateRunning:
		if job.Stopping != nil {
			return format.Completing
		}
		return format.Running
	case wire.StateCompleted:
		return format.Completed
	case wire.StateCanceled:
		return format.Cancelled
	}
	return failure(job)
}

// failure returns the state of a job that has failed.
func failure(job *wire.Job) format.State {
	if job.Last != nil && job.Last.OutOfMemory {
		return format.OutOfMemory
	}
	switch job.Reason {
	case "time_limit":
		return format.Timeout
	case "deadline":
		return format.Deadline
	case "lost", "rebooted", "confirmed_dead", "gpu_fault":
		return format.NodeFail
	case "preempted", "drained":
		return format.Preempted
	}
	return format.Failed
}

// reasons are Slurm's words for what keeps a job from starting, by the codes of blockers.
func reasons(code string) (string, bool) {
	word, known := map[string]string{
		"orchestrator_stopped": "PartitionInactive", "standstill": "PartitionInactive", "held": "JobHeldUser", "dependency": "Dependency",
		"begin": "BeginTime", "backoff": "BeginTime", "throttle": "JobArrayTaskLimit", "limit": "QOSMaxGRESPerUser", "never": "BadConstraints",
		"gpu_type": "Resources", "gpu_memory": "Resources", "constraint": "Resources", "accounts": "ReqNodeNotAvail", "gpu_failed": "Resources",
		"nodes": "Resources", "gpus": "Resources", "cores": "Resources", "suspending": "Resources", "reserved": "Priority", "barred": "Priority",
		"reservation": "Reservation", "maintenance": "ReqNodeNotAvail, Reserved for maintenance", "degraded": "ReqNodeNotAvail", "ahead": "Priority",
		"max_run_time": "QOSMaxWallDurationPerJobLimit", "gpu_hours": "QOSGrpGRESMinutes", "pool": "QOSGrpGRES",
	}[code]
	return word, known
}

// Reason returns why a job waits or how it ended in Slurm's words, or None. Of a job that waits the first blocker counts: that of the
// explanation if there is one, else the code at the end of the reason in lists.
func Reason(job *wire.Job, why *wire.Explanation) string {
	if job.State != wire.StateQueued {
		return end(job)
	}
	if job.Held {
		return "JobHeldUser"
	}
	if why != nil && len(why.Blockers) > 0 {
		if word, known := reasons(why.Blockers[0].Code); known {
			return word
		}
	}
	text := job.Reason
	if _, last, several := strings.Cut(text, "; "); several {
		text = last
	}
	word, known := reasons(text)
	switch {
	case known:
		return word
	case strings.HasPrefix(text, "waits for "):
		return "Dependency"
	case strings.HasPrefix(text, "dependency not met"):
		return "DependencyNeverSatisfied"
	case strings.HasPrefix(text, "begins at "), strings.HasPrefix(text, "retried at "):
		return "BeginTime"
	case text == "":
		return "None"
	}
	return "Priority"
}

// end returns how a job ended, as Slurm's reasons have it.
func end(job *wire.Job) string {
	switch State(job) { //nolint:exhaustive // the others have none
	case format.Timeout:
		return "TimeLimit"
	case format.NodeFail:
		return "NodeDown"
	case format.OutOfMemory:
		return "OutOfMemory"
	case format.Deadline:
		return "DeadLine"
	case format.Preempted:
		return "Preempted"
	case format.Failed:
		if job.Signal > 0 {
			return "RaisedSignal:" + strconv.FormatInt(job.Signal, 10)
		}
		return "NonZeroExitCode"
	}
	return "None"
}
