package blocker

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Message returns the blocker in words.
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
		return "it is to begin at " + Timestamp(b.Until) + " at the earliest"
	case CodeBackoff:
		return b.backoff()
	case CodeThrottle:
		return fmt.Sprintf("its job runs at most %s at once, and runs %d", Count(b.Limit, "task"), b.Used)
	case CodeLimit:
		return b.limit()
	case CodeNever:
		if b.Room.Asked != (model.Room{}) {
			return b.neverRoom()
		}
		return "no nodes of the cluster could ever hold it, even if they were empty"
	case CodeGPUType:
		return fmt.Sprintf("only another type of GPU than %s is free", ModelText(b.Model, b.Found))
	case CodeGPUMemory:
		return fmt.Sprintf("only GPUs with less than %s are free", Gigabytes(b.MemoryMB))
	case CodeConstraint, CodeAccounts:
		return b.elsewhere()
	case CodeAvoid:
		if b.Trouble != "" {
			return "GPUs are free where its last start failed, on " + b.Trouble + ": it waits for others"
		}
		return "GPUs are free that have just failed it: it waits for others"
	case CodeNodes:
		return fmt.Sprintf("it needs %s, and the cluster has %d that take work", Count(max(b.Nodes, 1), "node"), b.Have)
	case CodeGPUs:
		return fmt.Sprintf("it needs %s: %d are free, at most %d on one node", b.needs(), b.Have, b.Best)
	case CodeCores:
		return b.cores()
	case CodeSuspending:
		return suspending(b)
	case CodeReserved:
		return b.reserved()
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

// backoff returns, in words, when a task that failed is tried again.
func (b *Blocker) backoff() string {
	if b.Trouble != "" {
		return "its last start failed on " + b.Trouble + "; it is tried again at " + Timestamp(b.Until)
	}
	return "it failed and is tried again at " + Timestamp(b.Until)
}

// reserved returns, in words, for which task or service GPUs are kept, and until when.
func (b *Blocker) reserved() string {
	if b.Until == 0 {
		return fmt.Sprintf("GPUs are free, but reserved for %s, which has waited longest: no other job may start there before it",
			Holder{b.Task, b.Service})
	}
	return fmt.Sprintf("GPUs are free, but reserved for %s, which starts there at about %s: this one might not end before",
		Holder{b.Task, b.Service}, Timestamp(b.Until))
}

// elsewhere returns, in words, why the task cannot use nodes that have free GPUs.
func (b *Blocker) elsewhere() string {
	if b.Code == CodeAccounts && b.Private == "" {
		return b.Lacking + " would suit, but its user has no account there (getent passwd): make one, or name another (agent.accounts, --account)"
	}
	if b.Code == CodeAccounts {
		return b.Private + " would suit, but jobs run there under the account of the node's agent, and only those of the user of that name: " +
			"set agent.run_as_users: true there and run the agent as root, or agent.shared_account: true"
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
	if b.Room.Full {
		return fmt.Sprintf("it would fit, but the plan is full with %s before it: the next plan follows at once", Count(b.Have, "command"))
	}
	what := "GPUs"
	if b.Room.Asked != (model.Room{}) {
		what = "cores"
	}
	return fmt.Sprintf("it would fit, but the %s go to %s before it", what, Count(b.Have, "other"))
}

func suspending(b *Blocker) string {
	if b.Stopping == "" {
		return "it is to start as soon as GPUs are free that others are being suspended for"
	}
	return fmt.Sprintf("it is to start as soon as %s stopped for it: that gives it %s, by %s at the latest", b.Stopping,
		Count(b.GPUs, "GPU"), Timestamp(b.Until))
}

// closed returns, in words, what a maintenance does, or has done, to nodes.
func (b *Blocker) closed() string {
	if b.Shut != "" {
		return b.Booking.Title() + " has taken " + b.Shut + " out of service"
	}
	return "it would fit, but nodes have " + b.Booking.Title() + ", and only what certainly ends before may start there"
}

// beforehand returns, in words, how GPUs can be used before a booking begins.
func beforehand(b *Blocker) string {
	if b.Booking.Begun {
		return ""
	}
	return ", and it would not certainly end before"
}

func (b *Blocker) limit() string {
	switch b.Of {
	case LimitLive:
		return fmt.Sprintf("%s may have %s running and has %d", b.Scope, Count(b.Limit, "job"), b.Used)
	case LimitCPUs:
		return fmt.Sprintf("jobs without GPUs of %s may hold %s, hold %d, and this needs %d", b.Scope, Count(b.Limit, "core"), b.Used, b.Need)
	case LimitGPUsPerJob:
		return fmt.Sprintf("%s may use %s for one job, and this one needs %d", b.Scope, Count(b.Limit, "GPU"), b.Need)
	}
	whose := ""
	if b.Default {
		whose = ", the default of users (gpus_per_user of the cluster)"
	}
	return fmt.Sprintf("%s may use %s%s, uses %d, and this needs %d%s", b.Scope, Count(b.Limit, "GPU"), whose, b.Used, b.Need, b.wayOut())
}

// quota returns, in words, what a limit of time or a pool allows.
func (b *Blocker) quota() string {
	switch {
	case b.Code == CodeRunTime:
		return fmt.Sprintf("%s may run a job for %s at most, and this one's time limit is %s", b.Scope,
			time.Duration(b.Limit)*time.Second, time.Duration(b.Need)*time.Second)
	case b.Code == CodeGPUHours:
		return fmt.Sprintf("%s may use %s in a period and has used %s: the next begins at %s", b.Scope,
			GPUHours(b.Limit), state.Hours(b.Used), Timestamp(b.Until))
	case b.Of == model.PoolHybrid.String():
		return fmt.Sprintf("of the %s beyond guarantees %d are in use, and this needs %d: the others are guaranteed to their owners",
			Count(b.Limit, "GPU"), b.Used, b.Need)
	case b.Scope.Kind == model.ScopeCluster:
		return fmt.Sprintf("users without a guarantee share %s: %d in use, and this needs %d",
			Count(b.Limit, "GPU"), b.Used, b.Need)
	}
	return fmt.Sprintf("allocation is static, and %s owns %s: %d in use, and this needs %d", b.Scope, Count(b.Limit, "GPU"), b.Used, b.Need)
}

// needs returns "4 GPUs of type H200 on one node".
func (b *Blocker) needs() string {
	text := Count(b.Need, b.kind())
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

func (b *Blocker) kind() string { return GPUKind(ModelText(b.Model, b.Found), b.MemoryMB) }

// GPUKind returns "GPU of type H200 with 80 GB".
func GPUKind(name string, memory uint32) string {
	what := "GPU"
	if name != "" {
		what += " of type " + name
	}
	if memory > 0 {
		what += " with " + Gigabytes(memory)
	}
	return what
}

// Gigabytes returns memory in words, in gigabytes of 1,000 MB.
func Gigabytes(mb uint32) string {
	return strconv.FormatFloat(state.HostGigabytes(mb), 'f', -1, 64) + " GB"
}

// GPUHours returns "1 GPU-hour" or "2.5 GPU-hours".
func GPUHours(ms int64) string {
	if text := state.Hours(ms); text != "1" {
		return text + " GPU-hours"
	}
	return "1 GPU-hour"
}

// dependency returns, in words, what a task waits for, and whether that cannot happen any more.
func (b *Blocker) dependency() string {
	what, delay, other := "job "+b.On.String(), "", ""
	if b.Task != (model.TaskKey{}) {
		what = "task " + b.Task.String()
	}
	if b.Delay > 0 {
		delay = Count(int(b.Delay/time.Minute), "minute") + " "
	}
	if b.Other {
		other = "; another of its conditions is enough"
	}
	switch {
	case b.Have > 0:
		return fmt.Sprintf("it waits for %s to complete, but %s failed or been canceled%s", what, has(b.Have, "task"), cmp.Or(other, ": it never starts"))
	case b.Until > 0:
		return fmt.Sprintf("it starts %safter %s has begun: at %s%s", delay, what, Timestamp(b.Until), other)
	}
	return fmt.Sprintf("it starts %safter %s has %s, and that is %s%s", delay, what, b.After.Wish(), b.State, other)
}

// has returns "1 task has" or "3 tasks have".
func has(n int64, what string) string {
	if n == 1 {
		return Count(n, what) + " has"
	}
	return Count(n, what) + " have"
}

// barred returns, in words, for which task nodes are kept, and until when.
func (b *Blocker) barred() string {
	kept := fmt.Sprintf("%s are kept for %s", Count(b.Have, "node"), Holder{b.Task, b.Service})
	if b.Have == 1 {
		kept = fmt.Sprintf("1 node is kept for %s", Holder{b.Task, b.Service})
	}
	switch {
	case b.Have == 0:
		kept = "larger jobs wait for those nodes"
	case b.Until == 0:
		return "it would fit, but " + kept + ", which has waited longest: until it starts, only jobs with --preemptible may start there"
	default:
		kept += ", which is to start there at about " + Timestamp(b.Until)
	}
	return "it would fit, but " + kept + "; it might not be done before, nor may it be stopped by then (jobs may be with --preemptible)"
}

// Count returns "1 GPU of type X" or "3 GPUs of type X".
func Count[N int64 | uint32 | int](n N, what string) string {
	if n != 1 {
		noun, rest, more := strings.Cut(what, " ")
		if what = noun + "s"; more {
			what += " " + rest
		}
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Timestamp returns an instant as texts give it, in UTC.
func Timestamp(t model.Time) string { return t.Time().UTC().Format(time.RFC3339) }

// ShortDuration returns "2h", "1h30m" or "45m": a time in whole minutes.
func ShortDuration(d time.Duration) string {
	text := ""
	d = d.Round(time.Minute)
	if d >= time.Hour {
		text = fmt.Sprintf("%dh", d/time.Hour)
	}
	if m := d % time.Hour / time.Minute; m > 0 || text == "" {
		text += fmt.Sprintf("%dm", m)
	}
	return text
}

func (b *Blocker) degraded() string {
	if b.Have == 1 {
		return "1 node is degraded: " + b.Trouble
	}
	return fmt.Sprintf("%d nodes are degraded: %s", b.Have, b.Trouble)
}

// FewerOption returns the command-line option with which a job takes no more GPUs than a limit allows.
func FewerOption(limit int64) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf(" (--min-gpus %d)", limit)
}

// Oversized reports whether the task is larger than a limit, no matter what else runs.
func (b *Blocker) Oversized() bool {
	return b.Code == CodeLimit && b.Of == LimitGPUs && b.Need > b.Limit
}

// wayOut returns, in words, what helps a task that needs more GPUs than a limit ever allows, and so never starts
// by itself.
func (b *Blocker) wayOut() string {
	if !b.Oversized() {
		return ""
	}
	return fmt.Sprintf(": it never starts unless that is raised, or it takes fewer%s", FewerOption(b.Limit))
}

// maxListed bounds the names that a text lists.
const maxListed = 3

// ListSome returns "n1", "n1 and n2" or "n1, n2 and 7 more".
func ListSome(names []string) string {
	switch n := len(names); {
	case n == 1:
		return names[0]
	case n > maxListed:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed-1], ", "), n-maxListed+1)
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// cores returns, in words, which cores and which memory a job without GPUs waits for.
func (b *Blocker) cores() string {
	r := &b.Room
	on := ""
	if b.Nodes > 1 {
		on = fmt.Sprintf(" on each of %d nodes", b.Nodes)
	}
	switch {
	case r.Kept != (model.TaskKey{}):
		return fmt.Sprintf("it would fit, but cores of node %s are kept for job %s, which is to start there at about %s, and it might not be done before",
			r.Node, r.Kept, Timestamp(b.Until))
	case r.Free.CPUs < r.Asked.CPUs:
		return fmt.Sprintf("%d of %s for jobs without GPUs are free on %s; the job needs %d%s", r.Free.CPUs, Count(r.All.CPUs, "core"), r.Node, r.Asked.CPUs, on)
	case r.Free.MemoryMB < r.Asked.MemoryMB:
		return fmt.Sprintf("%s of %s of memory for jobs without GPUs are free on %s; the job needs %s%s", Gigabytes(r.Free.MemoryMB), Gigabytes(r.All.MemoryMB),
			r.Node, Gigabytes(r.Asked.MemoryMB), on)
	}
	return fmt.Sprintf("%s of %d have room for it", Count(b.Have, "node"), b.Nodes)
}

// neverRoom returns, in words, why no nodes could ever hold a job without GPUs.
func (b *Blocker) neverRoom() string {
	r := &b.Room
	asked := fmt.Sprintf("%s and %s of memory", Count(r.Asked.CPUs, "core"), Gigabytes(r.Asked.MemoryMB))
	if b.Nodes > 1 {
		asked += fmt.Sprintf(" on each of %d nodes", b.Nodes)
	}
	if b.Have > 0 {
		return fmt.Sprintf("it needs %s, and %s of the cluster could hold that", asked, Count(b.Have, "node"))
	}
	if r.Node == "" {
		return "it needs " + asked + ", and no node that it may use has room for jobs without GPUs"
	}
	return fmt.Sprintf("it needs %s, and the node with most room for jobs without GPUs, %s, has %s and %s in all (cpu_share bounds that on nodes with GPUs)",
		asked, r.Node, Count(r.All.CPUs, "core"), Gigabytes(r.All.MemoryMB))
}
