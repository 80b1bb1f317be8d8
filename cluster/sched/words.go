package sched

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Message says the blocker in words.
func (b *Blocker) Message() string {
	switch b.Code {
	case CodeStopped:
		return "the orchestrator is stopped: nothing is placed"
	case CodeStandstill:
		return "the scheduler stands still after a restore: nothing is placed until an operator resumes it"
	case CodeHeld:
		return "it is held"
	case CodeDependency:
		return b.dependency()
	case CodeBegin:
		return "it is to begin at " + clock(b.Until) + " at the earliest"
	case CodeBackoff:
		return "it failed and is tried again at " + clock(b.Until)
	case CodeThrottle:
		return fmt.Sprintf("its job runs at most %s at once, and runs %d", count(b.Limit, "task"), b.Used)
	case CodeLimit:
		return b.limit()
	case CodeNever:
		return "no nodes of the cluster could ever hold it, even if they were empty"
	case CodeGPUType:
		return fmt.Sprintf("only another type of GPU than %s is free", typed(b.Model, b.Found))
	case CodeGPUMemory:
		return fmt.Sprintf("only GPUs with less than %s are free", gigabytes(b.MemoryMB))
	case CodeConstraint, CodeAccounts:
		return b.elsewhere()
	case CodeAvoid:
		return "GPUs are free that have just failed it: it waits for others"
	case CodeNodes:
		return fmt.Sprintf("it needs %s, and the cluster has %d that take work", count(max(b.Nodes, 1), "node"), b.Have)
	case CodeGPUs:
		return fmt.Sprintf("it needs %s: %d are free, at most %d on one node", b.needs(), b.Have, b.Best)
	case CodeSuspending:
		return suspending(b)
	case CodeReserved:
		if b.Until == 0 {
			return fmt.Sprintf("it would fit, but GPUs are kept for %s, which has waited for so long that nobody is let past it", Holder{b.Task, b.Service})
		}
		return fmt.Sprintf("it would fit, but GPUs are kept for %s, which is to start there at about %s, and it might not be done before",
			Holder{b.Task, b.Service}, clock(b.Until))
	case CodeBarred:
		return b.barred()
	case CodeBooked:
		return "it would fit, but GPUs are kept for " + b.Booking.Title() + beforehand(b)
	case CodeClosed:
		return b.closed()
	case CodeDegraded:
		return b.degraded()
	case CodeAhead:
		return b.ahead()
	case CodeRunTime, CodeGPUHours, CodePool:
		return b.quota()
	}
	return string(b.Code)
}

// elsewhere says why nodes that have GPUs are none for the task.
func (b *Blocker) elsewhere() string {
	if b.Code == CodeAccounts {
		return b.Private + " would suit, but jobs run there under the account of the node's agent, and only those of the user of that name: " +
			"start the agent as root with --run-as-users, or with --shared-account"
	}
	few := "none"
	if b.Have > 0 {
		few = fmt.Sprintf("only %d", b.Have)
	}
	return fmt.Sprintf("GPUs are free, but %s of them on nodes %s", few, b.Where)
}

func (b *Blocker) ahead() string {
	if b.Have == 0 {
		return "it would fit, but nothing may start before those that wait ahead of it (backfill is none)"
	}
	return fmt.Sprintf("it would fit, but the GPUs go to %s before it", count(b.Have, "other"))
}

func suspending(b *Blocker) string {
	if b.Whom == "" {
		return "it is to start as soon as GPUs are free that others are being suspended for"
	}
	return fmt.Sprintf("it is to start as soon as %s stopped for it: that gives it %s, by %s at the latest", b.Whom,
		count(b.GPUs, "GPU"), clock(b.Until))
}

// closed is what a maintenance does, or has done, to nodes.
func (b *Blocker) closed() string {
	if b.Shut != "" {
		return b.Booking.Title() + " has taken " + b.Shut + " out of service"
	}
	return "it would fit, but nodes have " + b.Booking.Title() + ", and only what certainly ends before may start there"
}

// beforehand says how GPUs can be used before a booking begins.
func beforehand(b *Blocker) string {
	if b.Booking.Begun {
		return ""
	}
	return ", and it would not certainly end before"
}

func (b *Blocker) limit() string {
	switch b.Of {
	case LimitLive:
		return fmt.Sprintf("%s may have %s running and has %d", b.Scope, count(b.Limit, "job"), b.Used)
	case LimitGPUsPerJob:
		return fmt.Sprintf("%s may use %s for one job, and this one needs %d", b.Scope, count(b.Limit, "GPU"), b.Need)
	}
	whose := ""
	if b.Default {
		whose = ", the default of users (gpus_per_user of the cluster)"
	}
	return fmt.Sprintf("%s may use %s%s, uses %d, and this needs %d%s", b.Scope, count(b.Limit, "GPU"), whose, b.Used, b.Need, b.wayOut())
}

// quota is what a limit of time or a pool says.
func (b *Blocker) quota() string {
	switch {
	case b.Code == CodeRunTime:
		return fmt.Sprintf("%s may run a job for %s at most, and this one's time limit is %s", b.Scope,
			time.Duration(b.Limit)*time.Second, time.Duration(b.Need)*time.Second)
	case b.Code == CodeGPUHours:
		return fmt.Sprintf("%s may use %s in a period and has used %s: the next begins at %s", b.Scope,
			gpuHours(b.Limit), state.Hours(b.Used), clock(b.Until))
	case b.Of == model.PoolHybrid.String():
		return fmt.Sprintf("%s may be used beyond guarantees, %d are, and this needs %d: the others are kept for their owners",
			count(b.Limit, "GPU"), b.Used, b.Need)
	case b.Scope.Kind == model.ScopeCluster:
		return fmt.Sprintf("who owns no GPUs may use %s, %d are used, and this needs %d: the others are kept for their owners",
			count(b.Limit, "GPU"), b.Used, b.Need)
	}
	return fmt.Sprintf("%s owns %s, uses %d, and this needs %d: allocation is static", b.Scope, count(b.Limit, "GPU"), b.Used, b.Need)
}

// needs is "4 GPUs of type H200 on one node".
func (b *Blocker) needs() string {
	text := count(b.Need, b.kind())
	switch few := (b.Least + b.Need - 1) / max(b.Need, 1); {
	case b.Nodes > 1 && few > 0 && few < b.Nodes:
		text += fmt.Sprintf(" on each of %d to %d nodes", few, b.Nodes)
	case b.Nodes > 1:
		text += fmt.Sprintf(" on each of %d nodes", b.Nodes)
	case b.Least > 0 && b.Least < b.Need:
		text = fmt.Sprintf("%d to %s", b.Least, text)
	}
	if b.Nodes == 1 {
		text += " on one node"
	}
	if b.Where != "" {
		text += " (nodes " + b.Where + ")"
	}
	return text
}

func (b *Blocker) kind() string { return kind(typed(b.Model, b.Found), b.MemoryMB) }

// kind is "GPU of type H200 with 80 GB".
func kind(name string, memory uint32) string {
	what := "GPU"
	if name != "" {
		what += " of type " + name
	}
	if memory > 0 {
		what += " with " + gigabytes(memory)
	}
	return what
}

// gigabytes is memory as it is asked for, of 1,000 MB each.
func gigabytes(mb uint32) string { return strconv.FormatFloat(float64(mb)/1000, 'f', -1, 64) + " GB" }

// gpuHours is "1 GPU-hour" or "2.5 GPU-hours".
func gpuHours(ms int64) string {
	if text := state.Hours(ms); text != "1" {
		return text + " GPU-hours"
	}
	return "1 GPU-hour"
}

// dependency says what a task waits for, and if that cannot come any more.
func (b *Blocker) dependency() string {
	if b.Have > 0 {
		return fmt.Sprintf("it starts after job %s has completed, and that cannot be any more: %s failed or been canceled", b.On, has(b.Have, "task"))
	}
	return fmt.Sprintf("it starts after job %s has %s, and that is %s", b.On, b.After.Wish(), b.State)
}

// has is "1 task has" or "3 tasks have".
func has(n int64, what string) string {
	if n == 1 {
		return count(n, what) + " has"
	}
	return count(n, what) + " have"
}

// barred says for whom nodes are kept, and until when.
func (b *Blocker) barred() string {
	kept := fmt.Sprintf("%s are kept for %s", count(b.Have, "node"), Holder{b.Task, b.Service})
	if b.Have == 1 {
		kept = fmt.Sprintf("1 node is kept for %s", Holder{b.Task, b.Service})
	}
	switch {
	case b.Have == 0:
		kept = "larger jobs wait for those nodes"
	case b.Until == 0:
		return "it would fit, but " + kept + ", which has waited for so long that nobody is let past it who could not be stopped at once"
	default:
		kept += ", which is to start there at about " + clock(b.Until)
	}
	return "it would fit, but " + kept + "; it might not be done before, nor may it be stopped by then (jobs may be with --preemptible)"
}

// count is "1 GPU of type X" or "3 GPUs of type X".
func count[N int64 | uint32 | int](n N, what string) string {
	if n != 1 {
		noun, rest, more := strings.Cut(what, " ")
		if what = noun + "s"; more {
			what += " " + rest
		}
	}
	return fmt.Sprintf("%d %s", n, what)
}

func clock(t model.Time) string { return t.Time().UTC().Format(time.RFC3339) }

// Message says the change in words.
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
		return "it waits for no other job any more (berth release --dependencies)"
	case UnblockYield:
		return "submit it again with --preemptible"
	case UnblockWait:
		return "its backoff ends at " + clock(u.At)
	case UnblockBegin:
		return "the time of its begin comes, " + clock(u.At)
	case UnblockPeriod:
		return "the next period begins, " + clock(u.At)
	case UnblockPool:
		return "allocation is set to dynamic, under which everybody may use every GPU"
	case UnblockTime:
		return "submit it again with --time " + brief(u.TimeLimit)
	case UnblockFewer:
		return fmt.Sprintf("submit it again with --min-gpus %d", u.MinGPUs)
	case UnblockPreempt:
		if u.At == 0 {
			return "nothing else: " + u.taken()
		}
		return "time passes until " + clock(u.At) + ", when " + u.who() + " may be stopped for it"
	case UnblockOver:
		return u.Booking.Kind.String() + " " + u.Booking.ID.String() + " is over, " + clock(u.At)
	case UnblockCancel:
		return u.Booking.Kind.String() + " " + u.Booking.ID.String() + " is canceled"
	case UnblockLimit:
		return "the limit of " + u.Limit.Scope.String() + " is raised to " + u.raised()
	case UnblockEnd:
		return u.ends()
	case UnblockNode:
		text := fmt.Sprintf("%s more, with %s free", count(u.Nodes, "node"), count(u.GPUs, kind(typed(u.Model, ""), u.MemoryMB)))
		if u.Labels != "" {
			text += " and labeled " + strings.ReplaceAll(u.Labels, ",", " and ")
		}
		return text
	}
	return string(u.Kind)
}

// brief is "2h", "1h30m" or "45m": a time in whole minutes.
func brief(d time.Duration) string {
	text := ""
	if d >= time.Hour {
		text = fmt.Sprintf("%dh", d/time.Hour)
	}
	if m := d % time.Hour / time.Minute; m > 0 || text == "" {
		text += fmt.Sprintf("%dm", m)
	}
	return text
}

func (u *Unblock) raised() string {
	switch u.Of {
	case LimitLive:
		return count(u.Limit.Live, "job") + " running"
	case LimitGPUsPerJob:
		return count(u.Limit.GPUsPerJob, "GPU") + " for one job"
	case LimitRunTime:
		return u.Limit.RunTime.String() + " for one job"
	case LimitGPUHours:
		return gpuHours(u.Limit.GPUTime*1000) + " in a period"
	case LimitReserved:
		return count(u.Limit.Reserved, "GPU") + " of its own"
	}
	return count(u.Limit.GPUs, "GPU")
}

// turn is "job 3 has completed and job 4 has ended".
func (u *Unblock) turn() string {
	list := make([]string, 0, len(u.Jobs))
	for _, a := range u.Jobs {
		list = append(list, "job "+a.Job.String()+" has "+a.Kind.Wish())
	}
	return strings.Join(list, " and ")
}

func (u *Unblock) ends() string {
	if len(u.Ends) == 1 {
		return u.who() + " ends"
	}
	return u.who() + " end"
}

// who is "job 7 and allocation web".
func (u *Unblock) who() string {
	names := make([]string, 0, len(u.Ends))
	for _, h := range u.Ends {
		names = append(names, h.String())
	}
	return strings.Join(names, " and ")
}

// summary is one line: the first blocker, and how many more there are.
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
		line += fmt.Sprintf(" (and %s more)", count(more, "reason"))
	}
	return line + "."
}

// taken says what a plan takes for a task at once.
func (u *Unblock) taken() string {
	if len(u.Ends) == 0 {
		return "the next pass gives it GPUs that are kept for those whom it may pass"
	}
	return "the next pass stops " + u.who() + " for it"
}
