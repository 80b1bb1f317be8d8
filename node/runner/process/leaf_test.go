package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner/cgroup"
)

// unitBench returns a bench whose agent is in the group of a systemd unit, and the group of the unit next to it that
// holds the ranks. Both are groups of this host's kernel; that a systemd made them is only claimed.
func unitBench(t *testing.T) (b *bench, jobs string) {
	t.Helper()
	own, err := cgroup.Look("/")
	if err != nil || own.Own == "" {
		t.Skipf("needs cgroups of version 2: %+v, %v", own, err)
	}
	b = newBench(t) // whose folders go last: supervisors write to them
	slice, err := os.MkdirTemp(own.Own, "berth-test-units-*")
	if err != nil {
		t.Skipf("needs the right to make a cgroup of version 2: %v", err)
	}
	t.Cleanup(func() { _ = unix.Rmdir(slice) })
	agent := filepath.Join(slice, "berth-agent.service")
	if err := os.Mkdir(agent, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Rmdir(agent) })
	jobs = filepath.Join(slice, cgroup.JobsUnit)
	startUnit(t, jobs)
	t.Cleanup(func() { stopUnit(t, jobs) })
	kernel := t.TempDir()
	for name, text := range map[string]string{
		"mountinfo": "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
		"cgroup":    "0::/" + filepath.Base(agent) + "\n",
	} {
		path := filepath.Join(kernel, "proc/self", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(slice, filepath.Join(kernel, "cg")); err != nil {
		t.Fatal(err)
	}
	b.ranks.Close()
	b.kernel = kernel
	b.open()
	return b, jobs
}

// startUnit makes the group of a unit and starts a process in it, as systemd does when it starts a unit with Delegate=yes.
func startUnit(t *testing.T, jobs string) {
	t.Helper()
	if err := os.Mkdir(jobs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(jobs, "trusted.delegate", []byte("1"), 0); err != nil {
		t.Skipf("needs the right to mark a group as systemd does: %v", errors.Join(err, unix.Rmdir(jobs)))
	}
	dir, err := os.Open(jobs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "infinity")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if err := errors.Join(cmd.Start(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }() // the end of its group ends it
}

// beginStop ends the process that a unit consists of, as systemd does first when it stops a unit.
func beginStop(t *testing.T, jobs string) {
	t.Helper()
	waitFor(t, "the end of a unit's own process", func() bool {
		var pids []string
		for _, group := range []string{jobs, filepath.Join(jobs, "unit")} {
			if text, err := os.ReadFile(filepath.Join(group, "cgroup.procs")); err == nil {
				pids = append(pids, strings.Fields(string(text))...)
			}
		}
		for _, pid := range pids {
			_ = unix.Kill(number(t, pid), unix.SIGTERM) // the next look sees whether it has ended
		}
		return len(pids) == 0
	})
}

// stopUnit ends all processes of a unit and removes its groups, as systemd does when it stops a unit.
func stopUnit(t *testing.T, jobs string) {
	t.Helper()
	g, err := cgroup.Open(jobs)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := errors.Join(err, g.Kill()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the removal of a unit's groups", func() bool { return !g.Populated() && g.Remove() == nil })
}

// groupOf returns the path of a process's group below those of a unit.
func groupOf(t *testing.T, pid int, jobs string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	slice := filepath.Base(filepath.Dir(jobs)) + "/" + filepath.Base(jobs) + "/"
	_, below, _ := strings.Cut(string(text), slice)
	below, _, _ = strings.Cut(below, "\n")
	return below
}

// inUnit starts a rank, checks in which groups its supervisor and its job are, and returns it.
func inUnit(t *testing.T, b *bench, jobs string) *rank {
	t.Helper()
	k := b.rank("exec sleep 600", plain).start()
	s := k.phase(model.RankRunning)
	if got := groupOf(t, s.PID, jobs); got != "supervisors" {
		t.Errorf("the supervisor is in the group %q", got)
	}
	if got, want := groupOf(t, s.Session, jobs), filepath.Base(b.run.Path)+"/"+k.f.Name(); got != want {
		t.Errorf("the job is in the group %q, not %q", got, want)
	}
	return k
}

// Supervisors start in the leaf of the unit that holds the groups of ranks, whatever group the agent is in, and the
// next agent adopts them there.
func TestSupervisorsStartInTheLeaf(t *testing.T) {
	t.Parallel()
	b, jobs := unitBench(t)
	k := inUnit(t, b, jobs)
	b.ranks.Close()
	b.open()
	if s, alive := b.ranks.Adopt(k.f.Name(), k.r); !alive || s.Group == "" {
		t.Errorf("%+v, %t", s, alive)
	}
	inUnit(t, b, jobs)
}

// After the unit was started again the next rank starts there, whether a supervisor ran or waited when it ended. While
// the unit is being stopped, and while there is none, no rank starts, and the error names the unit.
func TestTheUnitIsStartedAgain(t *testing.T) {
	t.Parallel()
	b, jobs := unitBench(t)
	k := inUnit(t, b, jobs)
	refused := func(when string) {
		none := b.rank("true", plain)
		if err := b.ranks.Start(none.f, none.r); err == nil || !strings.Contains(err.Error(), cgroup.JobsUnit) {
			t.Errorf("%s: %v", when, err)
		}
	}
	beginStop(t, jobs)
	refused("while the unit is being stopped")
	stopUnit(t, jobs)
	k.gone()
	refused("without the unit")
	startUnit(t, jobs)
	inUnit(t, b, jobs)
	if got := b.rank("exit 3", plain).start().exit(); got.Code != 3 { // its supervisor waits for another rank then
		t.Errorf("ended with %+v", got)
	}
	stopUnit(t, jobs)
	startUnit(t, jobs)
	inUnit(t, b, jobs)
}
