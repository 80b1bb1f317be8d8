// Package process starts processes of a job on one node, sends them signals and collects their ends: the batch script, the tasks of steps,
// and what runs in an image.
package process

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"github.com/berth-gpu/berth/slurm/run/inherit"

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

	signal func(sig unix.Signal, group bool)
	tidy   bool // what is left of its group ends with it
}

// Elsewhere returns a process that another host has started; signal sends a signal to that process or its group, and end is to be called
// once, with the status, when the process has ended.
func Elsewhere(id int, signal func(sig unix.Signal, group bool)) (p *Process, end func(unix.WaitStatus)) {
	p = &Process{ID: id, Done: make(chan struct{}), signal: signal}
	return p, func(status unix.WaitStatus) {
		p.Status = status
		close(p.Done)
	}
}

// Command is a program to start.
type Command struct {
	Argv     []string // the program, looked for in the PATH of Env, and its arguments
	Env      []string // NAME=value
	Dir      string   // absolute path of the folder that the process starts in
	Files    [3]*os.File
	Umask    int    // below 0: that of this program
	Limits   string // soft ones, as package inherit writes them; others are those of this program
	Tidy     bool   // the rest of its group is killed when the process has ended
	Terminal bool   // the first file, a terminal, is that of the session

	More   []*os.File           // further files, from number 3 on
	Spaces *syscall.SysProcAttr // namespaces of the process, with numbers of users and rights in them; nil: those of this program
}

// Starter starts programs: with the files of the node ([Host]) or with those of an image.
type Starter interface {
	Run(c *Command) (*Process, error)
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

// Prepare calls a function on the thread that starts all programs, whose rights they inherit.
func (h *Host) Prepare(f func() error) error {
	done := make(chan error, 1)
	h.starts <- func(bool) { done <- f() }
	return <-done
}

// Run starts a program in a session of its own, which the kernel kills if this program is killed. The error is that of the system call.
func (h *Host) Run(c *Command) (*Process, error) {
	path, err := Find(c.Argv[0], c.Env, c.Dir)
	if err != nil {
		return nil, err
	}
	attr := syscall.ProcAttr{Dir: c.Dir, Env: c.Env}
	for _, f := range append(c.Files[:], c.More...) {
		attr.Files = append(attr.Files, f.Fd())
	}
	return h.start(path, c, attr)
}

func (h *Host) start(path string, c *Command, attr syscall.ProcAttr) (*Process, error) {
	path, argv := limited(path, c)
	attr.Sys = &syscall.SysProcAttr{Setsid: true, Setctty: c.Terminal, Pdeathsig: syscall.SIGKILL}
	if c.Spaces != nil {
		attr.Sys.Cloneflags, attr.Sys.AmbientCaps = c.Spaces.Cloneflags, c.Spaces.AmbientCaps
		attr.Sys.UidMappings, attr.Sys.GidMappings = c.Spaces.UidMappings, c.Spaces.GidMappings
	}
	p := &Process{Done: make(chan struct{}), tidy: c.Tidy}
	p.signal = func(sig unix.Signal, group bool) { h.send(p, sig, group) }
	var err error
	started := make(chan struct{})
	h.starts <- func(own bool) {
		defer close(started)
		if own && c.Umask >= 0 {
			defer unix.Umask(unix.Umask(c.Umask))
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

// limited returns how a program is started with its limits: by this program again ([inherit.Word]), if they differ from those of this one.
func limited(path string, c *Command) (by string, argv []string) {
	list, _ := inherit.Parse(c.Limits) // names that this version does not know have no effect
	if len(list) == 0 || !inherit.Differ(list) {
		return path, c.Argv
	}
	return "/proc/self/exe", append([]string{"berth", "slurm-batch", inherit.Word, c.Limits, path}, c.Argv...)
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

// Signal sends a signal to the group of a process, or to the process alone. A process that has ended gets none.
func (p *Process) Signal(sig unix.Signal, group bool) { p.signal(sig, group) }

func (h *Host) send(p *Process, sig unix.Signal, group bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.alive[p.ID] != p {
		return
	}
	to := p.ID
	if group {
		to = -to
	}
	_ = unix.Kill(to, sig) // the process may have ended meanwhile
}
