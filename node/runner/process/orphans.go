package process

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/node/runner"
)

// children are the supervisors that this process has started. Every other child of it in another session is
// an orphan: the kernel has given it to this process, a child subreaper, when its supervisor was killed. Only
// supervisors begin sessions below an agent, and no process can leave a supervisor's tree while the
// supervisor lives.
type children struct {
	mu   sync.Mutex
	pids map[int]bool
}

// supervisors are those of all Runners of this process.
var supervisors = &children{pids: map[int]bool{}}

// start starts a supervisor. No search for orphans comes between its start and its entry.
func (c *children) start(begin func() (*os.Process, error)) (*os.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := begin()
	if err == nil {
		c.pids[p.Pid] = true
	}
	return p, err
}

// collect reaps a supervisor that has ended. From then on another process may have its number.
func (c *children) collect(p *os.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = p.Wait()
	delete(c.pids, p.Pid)
}

// orphans returns the living orphans with all their descendants, and reaps those that have ended. In the
// first process of a container any orphan of the container is a child of it: then the list is empty.
func (c *children) orphans() []proc.Stat {
	c.mu.Lock()
	defer c.mu.Unlock()
	self, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	var list, out []proc.Stat
	roots := map[int]bool{}
	for pid := range proc.All() {
		e, ok := proc.Look(pid)
		orphan := ok && e.Parent == os.Getpid() && e.Session != self && !c.pids[pid]
		switch {
		case !ok:
		case orphan && e.Gone():
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // one that is not to be had yet is there at the next look
		case !e.Gone():
			list = append(list, e)
			if orphan && os.Getpid() != 1 {
				roots[pid] = true
				out = append(out, e)
			}
		}
	}
	return append(out, below(list, roots)...)
}

// adoptOrphans makes this process a child subreaper, and returns the process that adopts its own orphans, and
// so the supervisors when it ends; 0: not known.
func adoptOrphans() (reaper int, err error) {
	reaper = findReaper()
	return reaper, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// findReaper makes an orphan and observes its new parent: the kernel shows it in no other way.
func findReaper() int {
	out, err := exec.Command(shell, "-c", "sleep 60 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(out)))
	if err != nil || pid <= 1 {
		return 0
	}
	e, ok := proc.Look(pid)
	_ = unix.Kill(pid, unix.SIGKILL) // its parent reaps it
	if !ok {
		return 0
	}
	if e.Parent == os.Getpid() { // it is a child subreaper already, or the first process of a container
		_, _ = unix.Wait4(pid, nil, 0, nil)
		return 0
	}
	return e.Parent
}

// suspects returns processes that may belong to a rank whose supervisor was killed after its agent had ended:
// orphans and their descendants that have begun since the supervisor, in its cgroups and as this user. They
// may belong to something else as well, so they are not killed; but the rank does not count as gone as long
// as one of them runs.
func (r *Runner) suspects(list []proc.Stat, s runner.Status) []proc.Stat {
	self, _ := proc.Look(os.Getpid())
	if s.PID == 0 || s.Place == 0 || s.Agent.PID == self.PID && s.Agent.Born == self.Born && self.PID != 1 {
		return nil // in the last case what it has left are this process's own orphans
	}
	var out []proc.Stat
	roots := map[int]bool{}
	for _, e := range list {
		taken := e.Parent == 1 || s.Agent.Reaper != 0 && e.Parent == s.Agent.Reaper
		if taken && e.PID != os.Getpid() && e.Born >= s.Born && placeOf(e.PID) == s.Place && ours(e.PID) && !r.berth(e.PID) {
			roots[e.PID] = true
			out = append(out, e)
		}
	}
	return append(out, below(list, roots)...)
}

// berth reports whether a process is an agent or a supervisor, of whatever node.
func (r *Runner) berth(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	own, _ := os.Executable() // of an agent without a name only supervisors are known
	program, err := filepath.EvalSymlinks(r.o.Program[0])
	exe = strings.TrimSuffix(exe, " (deleted)")
	return exe == own || err == nil && exe == program
}

// ours reports whether a process may belong to a job under this process's account. Root's jobs may take any
// account.
func ours(pid int) bool {
	if os.Geteuid() == 0 {
		return true
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if ids, is := strings.CutPrefix(line, "Uid:"); is {
			return slices.Contains(strings.Fields(ids), strconv.Itoa(os.Geteuid()))
		}
	}
	return false
}

// placeOf returns a hash of the cgroups that a process is in, of all hierarchies; 0: not known.
func placeOf(pid int) uint64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write(data) // it cannot fail
	return sum.Sum64()
}

// leftError names the remains of a rank whose supervisor has died.
type leftError struct {
	killed   []proc.Stat // that are being killed
	suspects []proc.Stat
}

func (e *leftError) Error() string {
	text := ""
	if len(e.killed) > 0 {
		text = "still to end: " + describe(e.killed)
	}
	if len(e.suspects) > 0 {
		text += "; perhaps of it, as they have begun since and have lost their parents: " + describe(e.suspects) +
			"; end them to let the rank end"
	}
	return strings.TrimPrefix(text, "; ")
}

var errUnsettled = errors.New("a process of this host is in the middle of an exec")

// describe names processes, at most five.
func describe(list []proc.Stat) string {
	var names []string
	for _, e := range list[:min(len(list), 5)] {
		names = append(names, fmt.Sprintf("%s (pid %d)", proc.Name(e.PID), e.PID))
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
