package devices

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// hierarchy returns where groups of version 2 can be made: the host's, or one that is
// mounted for the test.
func hierarchy(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	if err := unix.Mount("cgroup2", base, "cgroup2", 0, ""); err != nil {
		t.Skipf("needs the right to mount cgroup v2, which root has: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(base, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return base
}

// group returns a new group in which programs can be put.
func group(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(hierarchy(t), "berth-devices-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("needs the right to make a cgroup: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Rmdir(dir); err != nil {
			t.Error(err)
		}
	})
	if err := (Guard{}).Possible(dir); err != nil {
		t.Skipf("needs bpf(2) and CAP_BPF or CAP_SYS_ADMIN, to attach a program to a cgroup: %v", err)
	}
	return dir
}

// in runs a shell command in a group.
func in(t *testing.T, group, command string) string {
	t.Helper()
	dir, err := os.Open(group)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	cmd := exec.Command("sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	out, err := cmd.Output() // the output does not mention denied devices
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out)
}

// With a kernel that takes /dev/full (1:7) and /dev/random (1:8) for GPUs, a rank can open only its own,
// under whatever name; devices that are not GPUs stay open.
func TestConfine(t *testing.T) {
	g := Guard{fake(t, map[string]string{
		"proc/devices": "Character devices:\n  1 nvidia\n",
		"proc/driver/nvidia/gpus/0000:10:00.0/information": "GPU UUID: GPU-full\nDevice Minor: 7\n",
		"proc/driver/nvidia/gpus/0000:20:00.0/information": "GPU UUID: GPU-random\nDevice Minor: 8\n",
	})}
	dir := group(t)
	other := filepath.Join(t.TempDir(), "other")
	if err := unix.Mknod(other, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 8))); err != nil {
		t.Fatal(err)
	}
	look := "for d in /dev/full /dev/random " + other + " /dev/ptmx; do head -c 0 $d && echo ${d##*/}; done; mknod " + other + "2 c 1 8 && echo made"
	before := in(t, dir, look)
	if before != "full\nrandom\nother\nptmx\nmade\n" {
		t.Fatalf("before: %q", before)
	}
	if err := errors.Join(os.Remove(other+"2"), g.Confine(dir, []string{"GPU-full"})); err != nil {
		t.Fatal(err)
	}
	const want = "full\nptmx\n"
	if got := in(t, dir, look); got != want {
		t.Errorf("its own alone: %q, not %q", got, want)
	}
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := in(t, below, look); got != want {
		t.Errorf("in a group of its own making: %q", got)
	}
	if err := unix.Rmdir(below); err != nil {
		t.Error(err)
	}
}

// Whether programs can be put at groups is found out without leaving one there.
func TestPossible(t *testing.T) {
	dir := group(t)
	if out := in(t, dir, "head -c 1 /dev/zero | wc -c"); out != "1\n" {
		t.Errorf("%q", out)
	}
	if err := (Guard{}).Possible(t.TempDir()); err == nil {
		t.Error("a plain folder is taken for a group")
	}
	if err := (Guard{}).Possible("/does/not/exist"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
