package process

import "golang.org/x/sys/unix"

// family is the processes of a rank: all that descend from its supervisor.
type family struct {
	self  int // the supervisor
	first int // the job's first process, leader of its session and its group; 0: none yet
	ends  chan reaped
}

func (f family) tree() []entry {
	if f.first == 0 {
		return nil
	}
	return below(all(), map[int]bool{f.self: true})
}

// checkpoint sends the signal of that name to every process that has a handler for
// it (any other would die of it), and reports whether there was one.
func (f family) checkpoint(name string) (sent bool) {
	if name == "" || !lives(f.first) {
		return false
	}
	sig := signalOf(name)
	for _, e := range f.tree() {
		if catches(e.pid, sig) && unix.Kill(e.pid, sig) == nil {
			sent = true
		}
	}
	return sent
}

// ask sends a signal to the job's process group, and reports whether the job's
// first process was there to get it.
func (f family) ask(sig unix.Signal) bool {
	return lives(f.first) && unix.Kill(-f.first, sig) == nil
}

// still stops all processes where they are, also those that others start meanwhile.
func (f family) still() {
	seen := map[int]bool{}
	for more := true; more && len(seen) < 1<<16; {
		more = false
		for _, e := range f.tree() {
			if !seen[e.pid] && unix.Kill(e.pid, unix.SIGSTOP) == nil {
				seen[e.pid], more = true, true
			}
		}
	}
}

// resume lets all go on.
func (f family) resume() {
	for _, e := range f.tree() {
		_ = unix.Kill(e.pid, unix.SIGCONT) // one that is gone meanwhile needs nothing
	}
}

// kill ends all.
func (f family) kill() {
	f.still()
	for _, e := range f.tree() {
		_ = unix.Kill(e.pid, unix.SIGKILL) // one that is gone meanwhile is what is wanted
	}
}

// signalOf reads a signal's name; one that is none is TERM.
func signalOf(name string) unix.Signal {
	if sig := unix.SignalNum("SIG" + name); sig != 0 {
		return sig
	}
	return unix.SIGTERM
}
