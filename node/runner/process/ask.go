package process

import (
	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
)

// ask sends the stop signal to every process of the job's session, group by group, so that no process gets
// the signal twice and no fork is missed. It returns whether the job's first process was there to get the
// signal, and the processes that had left the session before, which get it later: the other processes may need what
// such a daemon serves, like a mounted file system, for saving. There are none if the first process passes the signal on. One that is
// started because of the signal does not get it at all.
func (f processes) ask(sig unix.Signal, still bool) (reached bool, apart []proc.ID) {
	for _, e := range f.tree() {
		if e.Session != f.first && (!f.leads || !lives(f.first)) { // which passes the signal on
			apart = append(apart, e.ID)
		}
	}
	asked := map[int]bool{}
	if reached = f.first != 0 && lives(f.first) && send(-f.first, sig, still); reached {
		asked[f.first] = true
	}
	for _, e := range f.tree() {
		if e.Session == f.first && !asked[e.Group] {
			asked[e.Group] = true
			send(-e.Group, sig, still)
		}
	}
	return reached, apart
}

// askApart sends the stop signal to those of the processes that still run.
func (f processes) askApart(list []proc.ID, sig unix.Signal, still bool) {
	for _, id := range list {
		if e, ok := proc.Look(id.PID); ok && e.ID == id {
			send(id.PID, sig, still)
		}
	}
}

// session reports whether a process of the job's session runs.
func (f processes) session() bool {
	for _, e := range f.tree() {
		if e.Session == f.first {
			return true
		}
	}
	return false
}

// send sends the stop signal to a process, or to a group as a negative number, and continues processes that
// the job has stopped so that they get the signal, unless the rank must stay frozen.
func send(pid int, sig unix.Signal, still bool) bool {
	if unix.Kill(pid, sig) != nil {
		return false
	}
	if !still {
		_ = unix.Kill(pid, unix.SIGCONT) // one that has ended meanwhile needs nothing
	}
	return true
}
