package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// units returns a folder that looks like a slice with the groups of the agent's unit and of [JobsUnit], which
// is marked as delegated.
func units(t *testing.T) (slice string, agent Layout) {
	t.Helper()
	slice = t.TempDir()
	for name, text := range map[string]string{
		"cgroup.procs": "", "berth-agent.service/cgroup.procs": "12\n",
		JobsUnit + "/cgroup.procs": "", JobsUnit + "/cgroup.events": "populated 1\n", JobsUnit + "/unit/cgroup.events": "populated 1\n",
		JobsUnit + "/cgroup.controllers": "cpu", JobsUnit + "/cgroup.subtree_control": "cpu",
		JobsUnit + "/ranks/cgroup.kill": "", "berth-agent.service/ranks/cgroup.kill": "",
	} {
		write(t, filepath.Join(slice, name), text)
	}
	mark(t, filepath.Join(slice, JobsUnit))
	return slice, Layout{Kind: Unified, Own: filepath.Join(slice, "berth-agent.service")}
}

// mark marks a folder as systemd marks a delegated group.
func mark(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Setxattr(dir, "user.delegate", []byte("1"), 0); err != nil {
		t.Skipf("needs a file system that keeps extended attributes: %v", err)
	}
}

// The groups of ranks are those of the unit next to the agent's, also where the agent's group is delegated, too.
func TestJobsUnit(t *testing.T) {
	t.Parallel()
	slice, agent := units(t)
	for _, both := range []bool{false, true} {
		if both {
			mark(t, agent.Own)
		}
		tree, err := agent.Claim("ranks")
		if err != nil || tree.Path != filepath.Join(slice, JobsUnit, "ranks") || tree.Supervisors != filepath.Join(slice, JobsUnit, leaf) {
			t.Errorf("the agent's group is delegated: %t: %+v, %v", both, tree, err)
		}
		if info, err := os.Stat(tree.Supervisors); err != nil || !info.IsDir() {
			t.Errorf("the group of supervisors: %v", err)
		}
	}
	if procs := words(filepath.Join(agent.Own, "cgroup.procs")); !slices.Equal(procs, []string{"12"}) {
		t.Errorf("processes of the agent's unit were moved: %v", procs)
	}
}

// The process of the unit moves to a group of its own before its group enables controllers below it.
func TestTheUnitIsVacated(t *testing.T) {
	t.Parallel()
	slice, agent := units(t)
	jobs := filepath.Join(slice, JobsUnit)
	write(t, filepath.Join(jobs, "cgroup.procs"), "345\n")
	write(t, filepath.Join(jobs, "cgroup.subtree_control"), "")
	write(t, filepath.Join(jobs, holder, "cgroup.procs"), "")
	write(t, filepath.Join(jobs, holder, "cgroup.events"), "populated 0\n")
	if _, err := agent.Claim("ranks"); err != nil && !strings.Contains(err.Error(), "cpu") { // which the folder did not take for good
		t.Error(err)
	}
	if moved := words(filepath.Join(jobs, holder, "cgroup.procs")); !slices.Equal(moved, []string{"345"}) {
		t.Errorf("in the group of the unit's own process is %v", moved)
	}
}

// A supervisor, which is in the leaf, claims the same place as its agent.
func TestALeafOfTheUnit(t *testing.T) {
	t.Parallel()
	slice, agent := units(t)
	first, err := agent.Claim("ranks")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Layout{Kind: Unified, Own: filepath.Join(slice, JobsUnit, leaf)}.Claim("ranks")
	if err != nil || tree.Path != first.Path || tree.Supervisors != "" {
		t.Errorf("%+v, %v", tree, err)
	}
	if tree, err := (Layout{Kind: Unified, Own: filepath.Join(slice, JobsUnit, "agent")}).Claim("ranks"); err == nil {
		t.Errorf("from a group of another name: %+v", tree)
	}
}

// A unit that was not delegated, does not run, or in whose slice this process may start nothing, is ignored: the agent's own group
// counts, and without one the error names both remedies.
func TestAUnitOfNoUse(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(slice string) error{
		"not there":     func(slice string) error { return os.RemoveAll(filepath.Join(slice, JobsUnit)) },
		"not delegated": func(slice string) error { return unix.Removexattr(filepath.Join(slice, JobsUnit), "user.delegate") },
		"marked with 0": func(slice string) error {
			return unix.Setxattr(filepath.Join(slice, JobsUnit), "user.delegate", []byte("0"), 0)
		},
		"no right": func(slice string) error { return os.Remove(filepath.Join(slice, "cgroup.procs")) },
	} {
		slice, agent := units(t)
		if err := spoil(slice); err != nil {
			t.Fatal(err)
		}
		tree, err := agent.Claim("ranks")
		if err == nil || tree.Path != "" || !strings.Contains(err.Error(), agent.Own) || !strings.Contains(err.Error(), JobsUnit) ||
			!strings.Contains(err.Error(), "start that unit") || !strings.Contains(err.Error(), "Delegate=yes") {
			t.Errorf("%s: %+v, %v", name, tree, err)
		}
		mark(t, agent.Own)
		tree, err = agent.Claim("ranks")
		if err != nil || tree.Path != filepath.Join(agent.Own, "ranks") || tree.Supervisors != "" {
			t.Errorf("%s, and the agent's own group is delegated: %+v, %v", name, tree, err)
		}
	}
	slice, _ := units(t)
	top := Layout{Kind: Unified, Own: filepath.Join(slice, "berth-agent.service"), Top: true}
	if tree, err := top.Claim("ranks"); err != nil || tree.Path != filepath.Join(top.Own, "ranks") {
		t.Errorf("a process that sees nothing above its own group: %+v, %v", tree, err)
	}
}

// A kernel lets the agent start processes in the leaf of the unit, and moves those that the unit consists of.
func TestJobsUnitOfAKernel(t *testing.T) {
	t.Parallel()
	own, err := Look("/")
	if err != nil || own.Own == "" {
		t.Skipf("needs cgroups of version 2: %+v, %v", own, err)
	}
	slice := filepath.Join(own.Own, "berth-test-units-"+strconv.Itoa(os.Getpid()))
	agent := Layout{Kind: own.Kind, Own: filepath.Join(slice, "berth-agent.service")}
	jobs := filepath.Join(slice, JobsUnit)
	for _, dir := range []string{slice, agent.Own, jobs} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("needs the right to make a cgroup of version 2: %v", err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
	}
	if err := unix.Setxattr(jobs, "trusted.delegate", []byte("1"), 0); err != nil {
		t.Skipf("needs the right to mark a group as systemd does: %v", err)
	}
	unit := startIn(t, jobs)
	tree, err := agent.Claim("ranks")
	if err != nil || tree.Path != filepath.Join(jobs, "ranks") {
		t.Fatalf("%+v, %v", tree, err)
	}
	t.Cleanup(func() { _ = errors.Join(os.Remove(tree.Path), os.Remove(tree.Supervisors)) })
	t.Cleanup(func() { _ = os.Remove(filepath.Join(jobs, holder)) })
	if len(offered(jobs)) > 0 && !slices.Contains(words(filepath.Join(jobs, holder, "cgroup.procs")), unit) {
		t.Error("the process of the unit is not in a group of its own")
	}
	supervisor := startIn(t, tree.Supervisors)
	if in := words(filepath.Join(tree.Supervisors, "cgroup.procs")); !slices.Contains(in, supervisor) {
		t.Errorf("%s was started in the leaf, which has %v", supervisor, in)
	}
}

// startIn starts a process in a group, and returns its id. The test's end ends the process.
func startIn(t *testing.T, group string) string {
	t.Helper()
	dir, err := os.Open(group)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if err := errors.Join(cmd.Start(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(cmd.Process.Kill(), cmd.Wait()) })
	return strconv.Itoa(cmd.Process.Pid)
}
