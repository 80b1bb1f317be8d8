// Package task runs processes of a job on one node: the batch script, and the tasks of steps.
//
//	host.go    processes: start, signal, end
//	node.go    the tasks of all steps on a node
//	serve.go   the tasks of one step
//	start.go   one task: its program, folder, variables and files
//	output.go  what tasks write
//	strays.go  what tasks leave behind
package task

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Host starts processes and collects their ends. A program has one, and starts no process without it.
type Host struct {
	starts chan func(own bool)
	fork   func(path string, argv []string, attr *syscall.ProcAttr) (int, error)

	mu    sync.Mutex
	alive map[int]*Process
}

// Process is a process that a host has started, leader of a session of its own.
type Process struct {
	ID     int
	Done   chan struct{} // closed when the process has ended
	Status unix.WaitStatus

	host *Host
	tidy bool // what is left of its group ends with it
}

// NewHost returns a host.
func NewHost() *Host {
	h := &Host{starts: make(chan func(own bool)), fork: syscall.ForkExec, alive: map[int]*Process{}}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, unix.SIGCHLD)
	go h.run()
	go func() {
		for range ends {
			h.reap()
		}
	}()
	return h
}

// run starts all processes by one thread that never ends: the kernel kills processes with a parent-death signal when the thread
// that started them ends.
func (h *Host) run() {
	runtime.LockOSThread()
	own := unix.Unshare(unix.CLONE_FS) == nil // the umask of this thread alone
	for start := range h.starts {
		start(own)
	}
}

// Start starts a process in a session of its own, which the kernel kills if this program is killed. With tidy, the rest of its
// group is killed when the process has ended. umask is that of the process; below 0: that of this program. terminal makes the standard input of the
// process, a terminal, that of the session. The error is that of the system call.
func (h *Host) Start(path string, argv []string, attr syscall.ProcAttr, umask int, tidy, terminal bool) (*Process, error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true, Setctty: terminal, Pdeathsig: syscall.SIGKILL}
	p := &Process{Done: make(chan struct{}), host: h, tidy: tidy}
	var err error
	started := make(chan struct{})
	h.starts <- func(own bool) {
		defer close(started)
		if own && umask >= 0 {
			defer unix.Umask(unix.Umask(umask))
		}
		if p.ID, err = h.fork(path, argv, &attr); err != nil { // without the lock: a file system that hangs holds up no signals and ends
			return
		}
		h.mu.Lock()
		h.alive[p.ID] = p
		h.mu.Unlock()
		h.reap() // the process may have ended before it was known
	}
	<-started
	return p, err
}

// reap collects all processes that have ended. The group of a process is killed before the process is collected: until then the
// number of the group belongs to no other.
func (h *Host) reap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for pid, p := range h.alive { // order-free: each by itself
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil || info.Signo == 0 {
			continue
		}
		if p.tidy {
			_ = unix.Kill(-pid, unix.SIGKILL) // nothing may be left of it
		}
		if _, err := unix.Wait4(pid, &p.Status, 0, nil); err == nil {
			delete(h.alive, pid)
			close(p.Done)
		}
	}
}

// Signal sends a signal to the group of a process, or to the process alone.
func (p *Process) Signal(sig unix.Signal, group bool) {
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	if p.host.alive[p.ID] != p {
		return
	}
	to := p.ID
	if group {
		to = -to
	}
	_ = unix.Kill(to, sig) // the process may have ended meanwhile
}
