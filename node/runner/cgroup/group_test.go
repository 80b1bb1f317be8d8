package cgroup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// delegate returns a folder that looks like a delegated group. What is written into its
// files stays there as it is.
func delegate(t *testing.T, controllers, handed string) Layout {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cgroup.controllers": controllers, "cgroup.subtree_control": handed, "cgroup.procs": "", "cgroup.events": "populated 1\n",
		"ranks/cgroup.kill": "", "ranks/cgroup.controllers": controllers, "ranks/cgroup.subtree_control": handed,
	} {
		write(t, filepath.Join(dir, name), text)
	}
	return Layout{Kind: Unified, Own: dir, Top: true}
}

// A node's folder has the controllers that are handed down to it, and those alone.
func TestClaim(t *testing.T) {
	tree, err := delegate(t, "cpuset cpu io memory pids", "cpu memory pids").Claim("ranks")
	if err != nil || !slices.Equal(tree.Controllers, []string{"cpu", "memory", "pids"}) {
		t.Errorf("%+v, %v", tree, err)
	}
	if tree, err = delegate(t, "hugetlb", "").Claim("ranks"); err != nil || len(tree.Controllers) != 0 {
		t.Errorf("%+v, %v", tree, err)
	}
	l := delegate(t, "cpu memory", "cpu") // a group that does not take what is written there
	tree, err = l.Claim("ranks")
	if err == nil || !strings.Contains(err.Error(), "memory") || tree.Path == "" {
		t.Errorf("%+v, %v", tree, err)
	}
	if _, err := os.Stat(filepath.Join(l.Own, leaf, "cgroup.procs")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process was moved out of an empty group: %v", err)
	}
}

// Where nothing was delegated nothing is made.
func TestClaimRefused(t *testing.T) {
	for name, l := range map[string]Layout{
		"no version 2":    {Kind: Legacy},
		"not delegated":   {Kind: Unified, Own: t.TempDir()},
		"an old kernel":   {Kind: Unified, Own: t.TempDir(), Top: true},
		"not to be found": {Kind: Unified, Own: "/does/not/exist", Top: true},
	} {
		if tree, err := l.Claim("ranks"); err == nil || tree.Path != "" {
			t.Errorf("%s: %+v", name, tree)
		}
	}
}

// An agent moves to a leaf before its group enables controllers below it, and finds its place again when it
// is started there.
func TestLeaf(t *testing.T) {
	l := delegate(t, "cpu", "")
	write(t, filepath.Join(l.Own, "cgroup.procs"), "12\n345\n")
	write(t, filepath.Join(l.Own, leaf, "cgroup.procs"), "")
	if _, err := l.Claim("ranks"); err != nil && !strings.Contains(err.Error(), "cpu") { // which the folder did not take for good
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(l.Own, leaf, "cgroup.procs")); string(data) != "345" || err != nil {
		t.Errorf("the last to move to the leaf was %q, %v", data, err)
	}
	if err := unix.Setxattr(l.Own, "user.delegate", []byte("1"), 0); err != nil {
		t.Skipf("needs a file system that keeps extended attributes: %v", err)
	}
	again := Layout{Kind: Unified, Own: filepath.Join(l.Own, leaf)}
	if tree, _ := again.Claim("ranks"); tree.Path != filepath.Join(l.Own, "ranks") {
		t.Errorf("from its leaf it claimed %q", tree.Path)
	}
	other := Layout{Kind: Unified, Own: filepath.Join(l.Own, "other")}
	if tree, err := other.Claim("ranks"); err == nil {
		t.Errorf("from another group it claimed %q", tree.Path)
	}
	if tree, _ := (Layout{Kind: Unified, Own: l.Own}).Claim("ranks"); tree.Path == "" {
		t.Error("what systemd has delegated is not claimed")
	}
}

// Limits are written where their files are, and left out elsewhere.
func TestLimits(t *testing.T) {
	tree := Tree{Path: t.TempDir()}
	for _, name := range []string{"cpu.max", "memory.max", "memory.oom.group", "pids.max"} {
		write(t, filepath.Join(tree.Path, "a", name), "")
	}
	g, err := tree.Make("a", Limits{CPUs: 3, MemoryMB: 1 << 31, PIDs: 9})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cpu.max": "300000 100000", "memory.max": "2251799813685248", "memory.oom.group": "1", "pids.max": "9"} {
		if data, err := os.ReadFile(filepath.Join(g.Path(), name)); string(data) != want || err != nil {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if entries, err := os.ReadDir(g.Path()); len(entries) != 4 || err != nil {
		t.Errorf("files were made: %v, %v", entries, err)
	}
	if g, err = tree.Make("b", Limits{}); err != nil || g.Populated() || g.OutOfMemory() || g.Frozen() {
		t.Errorf("%+v, %v", g, err)
	}
}

// The kernel's kill for lack of memory is distinguished from other kills.
func TestOutOfMemory(t *testing.T) {
	tree := Tree{Path: t.TempDir()}
	for text, want := range map[string]bool{
		"low 0\noom 1\noom_kill 2\n": true, "oom_group_kill 1\n": true, "oom 5\noom_kill 0\n": false, "oom_kill x\n": false, "": false,
	} {
		write(t, filepath.Join(tree.Path, "a", "memory.events"), text)
		if g, err := tree.Make("a", Limits{}); err != nil || g.OutOfMemory() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// claimed returns a folder of this host's real hierarchy.
func claimed(t *testing.T) Tree {
	t.Helper()
	l, err := Look("/")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := l.Claim("berth-test-" + strconv.Itoa(os.Getpid()))
	if tree.Path == "" {
		t.Skipf("needs the right to make a cgroup of version 2: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(tree.Path) })
	return tree
}

// A group can be frozen, thawed, killed and proven empty, even if processes have left session and environment
// behind.
func TestGroup(t *testing.T) {
	g, err := claimed(t).Make("rank", Limits{CPUs: 1, MemoryMB: 512, PIDs: 64})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := g.Folder()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "setsid env -i sh -c 'while :; do sleep 0.01; done' & while :; do sleep 0.01; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := errors.Join(cmd.Start(), dir.Close()); err != nil {
		t.Fatal(err)
	}
	until(t, "two processes in the group", func() bool { return len(words(filepath.Join(g.Path(), "cgroup.procs"))) >= 2 })
	if err := g.Freeze(true); err != nil {
		t.Fatal(err)
	}
	until(t, "all standing still", g.Frozen)
	if err := g.Freeze(false); err != nil {
		t.Fatal(err)
	}
	until(t, "all going on", func() bool { return !g.Frozen() })
	if same, err := Open(g.Path()); err != nil || !same.Populated() || same.Remove() == nil {
		t.Errorf("a living group: %+v, %v", same, err)
	}
	if err := os.Mkdir(filepath.Join(g.Path(), "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.Freeze(true), g.Kill()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	until(t, "an empty group", func() bool { return !g.Populated() })
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if err := g.Remove(); err != nil {
		t.Errorf("a group that is gone: %v", err)
	}
	if _, err := Open(g.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a plain folder is taken for a group: %v", err)
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
