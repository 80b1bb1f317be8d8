package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
)

// Message returns the change in words.
func (u *Unblock) Message() string {
	switch u.Kind {
	case UnblockStart:
		return "start the orchestrator (berth orchestrator start)"
	case UnblockResume:
		return "resume the scheduler"
	case UnblockRelease:
		return "release it"
	case UnblockTurn:
		return u.turn()
	case UnblockDrop:
		return "its dependencies are removed (berth release --dependencies)"
	case UnblockYield:
		return "submit it again with --preemptible"
	case UnblockWait:
		return "its backoff ends at " + blocker.Timestamp(u.At)
	case UnblockBegin:
		return "the time of its begin comes, " + blocker.Timestamp(u.At)
	case UnblockPeriod:
		return "the next period begins, " + blocker.Timestamp(u.At)
	case UnblockPool:
		return "allocation is set to dynamic, so that all users may use all GPUs"
	case UnblockTime:
		return "submit it again with --time " + blocker.ShortDuration(u.TimeLimit)
	case UnblockFewer:
		return fmt.Sprintf("submit it again with --min-gpus %d", u.MinGPUs)
	case UnblockPreempt:
		if u.At == 0 {
			return "nothing else: " + u.taken()
		}
		return "time passes until " + blocker.Timestamp(u.At) + ", when " + u.who() + " may be stopped for it"
	case UnblockOver:
		return u.Booking.Kind.String() + " " + u.Booking.ID.String() + " is over, " + blocker.Timestamp(u.At)
	case UnblockCancel:
		return u.Booking.Kind.String() + " " + u.Booking.ID.String() + " is canceled"
	case UnblockLimit:
		return "the limit of " + u.Limit.Scope.String() + " is raised to " + u.raised()
	case UnblockEnd:
		return u.ends()
	case UnblockNode:
		text := fmt.Sprintf("%s more, with %s free", blocker.Count(u.Nodes, "node"), blocker.Count(u.GPUs, blocker.GPUKind(blocker.ModelText(u.Model, ""), u.MemoryMB)))
		if u.Labels != "" {
			text += " and labeled " + strings.ReplaceAll(u.Labels, ",", " and ")
		}
		return text
	}
	return string(u.Kind)
}

func (u *Unblock) raised() string {
	switch u.Of {
	case blocker.LimitLive:
		return blocker.Count(u.Limit.Live, "job") + " running"
	case blocker.LimitGPUsPerJob:
		return blocker.Count(u.Limit.GPUsPerJob, "GPU") + " for one job"
	case blocker.LimitCPUs:
		return blocker.Count(u.Limit.CPUs, "core") + " for jobs without GPUs"
	case blocker.LimitRunTime:
		return u.Limit.RunTime.String() + " for one job"
	case blocker.LimitGPUHours:
		return blocker.GPUHours(u.Limit.GPUTime*1000) + " in a period"
	case blocker.LimitReserved:
		return blocker.Count(u.Limit.Reserved, "GPU") + " of its own"
	}
	return blocker.Count(u.Limit.GPUs, "GPU")
}

// turn returns "job 3 has completed and job 4 has ended".
func (u *Unblock) turn() string {
	var all, some []string
	for _, a := range u.Jobs {
		text := "job " + a.Job.String() + " has " + a.Kind.Wish()
		if a.Delay > 0 {
			text += " " + blocker.Count(int(a.Delay/time.Minute), "minute") + " ago"
		}
		if a.Any {
			some = append(some, text)
		} else {
			all = append(all, text)
		}
	}
	if len(some) > 0 {
		all = append(all, strings.Join(some, " or "))
	}
	return strings.Join(all, " and ")
}

func (u *Unblock) ends() string {
	if len(u.Ends) == 1 {
		return u.who() + " ends"
	}
	return u.who() + " end"
}

// who returns "job 7 and allocation web".
func (u *Unblock) who() string {
	names := make([]string, 0, len(u.Ends))
	for _, h := range u.Ends {
		names = append(names, h.String())
	}
	return strings.Join(names, " and ")
}

// summary returns one line: the first blocker, and how many more there are.
func summary(e *Explanation) string {
	if len(e.Blockers) == 0 {
		return "It starts with the next pass."
	}
	for _, u := range e.Unblock {
		if u.Kind == UnblockPreempt && u.At == 0 {
			return "It is about to start: " + u.taken() + "."
		}
	}
	line := "It waits: " + e.Blockers[0].Message()
	if more := len(e.Blockers) - 1; more > 0 {
		line += fmt.Sprintf(" (and %s more)", blocker.Count(more, "reason"))
	}
	return line + "."
}

// taken returns in words what the next plan takes for a task.
func (u *Unblock) taken() string {
	if len(u.Ends) == 0 {
		return "the next pass gives it GPUs that are reserved for jobs that it may pass"
	}
	return "the next pass stops " + u.who() + " for it"
}
