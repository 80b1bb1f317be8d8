package process

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner/cgroup"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// processes is the processes of a rank: all descendants of its supervisor and, if it has a group, all in that
// group.
type processes struct {
	self  int // the supervisor
	first int // the job's first process, leader of its session and its group; 0: none yet
	ends  chan reaped
	group *cgroup.Group // nil: it has none
	leads bool          // the first process passes on the signals of tell and the stop signal
}

func (f processes) tree() []proc.Stat { return below(all(), map[int]bool{f.self: true}) }

// pids returns the ids of all its processes.
func (f processes) pids() (out []int) {
	for _, e := range f.tree() {
		out = append(out, e.PID)
	}
	return out
}

// tell sends the signal of that name to every process that has a handler for it (any other would die of it), or only to the first
// process if that passes signals on, and reports whether there was one.
func (f processes) tell(name string) (sent bool) {
	if name == "" || f.first == 0 || !lives(f.first) {
		return false
	}
	sig := signalOf(name)
	for _, e := range f.tree() {
		if f.leads && e.PID != f.first {
			continue
		}
		if catches(e.PID, sig) && unix.Kill(e.PID, sig) == nil {
			sent = true
		}
	}
	return sent
}

// still stops all processes where they are, including those that others start meanwhile.
func (f processes) still() {
	if f.group == nil || f.group.Freeze(true) != nil {
		f.halt()
	}
}

// halt is still without a group.
func (f processes) halt() {
	seen := map[int]bool{}
	for more := true; more && len(seen) < 1<<16; {
		more = false
		for _, e := range f.tree() {
			if !seen[e.PID] && unix.Kill(e.PID, unix.SIGSTOP) == nil {
				seen[e.PID], more = true, true
			}
		}
	}
}

// resume continues all processes.
func (f processes) resume() {
	if f.group != nil && f.group.Freeze(false) == nil {
		return
	}
	for _, e := range f.tree() {
		_ = unix.Kill(e.PID, unix.SIGCONT) // one that is gone meanwhile needs nothing
	}
}

// kill kills all processes: those of the group at once, and those that the kernel let leave it one by one.
func (f processes) kill() {
	if f.group == nil || f.group.Kill() != nil {
		if f.first != 0 && lives(f.first) {
			_ = unix.Kill(-f.first, unix.SIGKILL) // the most of them, before a look at all processes of this host
		}
		f.halt()
	}
	for _, e := range f.tree() {
		_ = unix.Kill(e.PID, unix.SIGKILL) // one that is gone meanwhile is fine
	}
}

// end kills until no child is left and the group is empty.
func (f processes) end() {
	for wait := time.Millisecond; f.more(wait); wait = min(2*wait, watchEvery) {
		f.kill()
	}
}

// leave removes the group.
func (f processes) leave() {
	if f.group != nil {
		_ = f.group.Remove() // it is empty, or was never used: what remains of it holds nothing
	}
}

// more waits for the end of all processes, at most that long, and reports whether there is more to kill.
func (f processes) more(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case _, more := <-f.ends:
			if more {
				continue
			}
			if f.group == nil || !f.group.Populated() {
				return false
			}
			<-timer.C
			return true
		case <-timer.C:
			return true
		}
	}
}

// starved reports whether the kernel caused an end because the rank's group had no more memory. A job that
// lost a process that way and ended well does not count.
func (f processes) starved(exit model.Exit) bool {
	return f.group != nil && (exit.Signal != 0 || exit.Code != 0) && f.group.OutOfMemory()
}

// signalOf parses a signal's name; an unknown name is TERM.
func signalOf(name string) unix.Signal {
	if name == jobfile.WarnName {
		return jobfile.WarnNumber
	}
	if sig := unix.SignalNum("SIG" + name); sig != 0 {
		return sig
	}
	return unix.SIGTERM
}
