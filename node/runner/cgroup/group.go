package cgroup

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Limits bound what the processes of a rank use together; 0: no bound.
type Limits struct {
	CPUs     uint32 // cores
	MemoryMB uint32 // MiB, without swap
	PIDs     uint32 // processes and threads
}

// period is the time over which processor time is shared out, in microseconds.
const period = 100_000

// files returns the limits as the kernel takes them. With oom.group the kernel kills a rank that runs out of
// memory as a whole, not a single process of it.
func (l Limits) files() (out [][2]string) {
	if l.CPUs > 0 {
		out = append(out, [2]string{"cpu.max", fmt.Sprintf("%d %d", uint64(l.CPUs)*period, period)})
	}
	if l.MemoryMB > 0 {
		out = append(out, [2]string{"memory.max", strconv.FormatUint(uint64(l.MemoryMB)<<20, 10)},
			[2]string{"memory.swap.max", "0"}, [2]string{"memory.oom.group", "1"})
	}
	if l.PIDs > 0 {
		out = append(out, [2]string{"pids.max", strconv.FormatUint(uint64(l.PIDs), 10)})
	}
	return out
}

// Group is the group of one rank.
type Group struct{ path string }

// mkdir makes a group, unless it exists, that is readable for all users, whatever the mask of this process:
// programs read there how much memory and how many cores they have.
func mkdir(path string) error {
	err := os.Mkdir(path, 0o755) //nolint:gosec // groups are there to be seen
	if err == nil {
		return os.Chmod(path, 0o755) //nolint:gosec // likewise
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Make makes the group of a rank. Limits whose controller is missing are left out.
func (t Tree) Make(rank string, l Limits) (*Group, error) {
	g := &Group{filepath.Join(t.Path, rank)}
	if err := mkdir(g.path); err != nil {
		return nil, err
	}
	for _, f := range l.files() {
		if err := set(g.path, f[0], f[1]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(fmt.Errorf("%s of %s: %w", f[0], g.path, err), os.Remove(g.path))
		}
	}
	return g, nil
}

// Open finds an existing group. fs.ErrNotExist: the group is gone, or the path is not a group.
func Open(path string) (*Group, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return nil, err
	}
	if s.Type != unix.CGROUP2_SUPER_MAGIC {
		return nil, fmt.Errorf("%s is no cgroup: %w", path, fs.ErrNotExist)
	}
	return &Group{filepath.Clean(path)}, nil
}

// Path returns the group's folder.
func (g *Group) Path() string { return g.path }

// Folder opens the group's folder, for a process to be started in it.
func (g *Group) Folder() (*os.File, error) { return os.Open(g.path) }

// Kill kills all processes of the group, including those that are just being started, and also when it is
// frozen.
func (g *Group) Kill() error { return set(g.path, "cgroup.kill", "1") }

// Freeze freezes or thaws the processes of the group.
func (g *Group) Freeze(still bool) error {
	value := "0"
	if still {
		value = "1"
	}
	return set(g.path, "cgroup.freeze", value)
}

// Frozen reports whether all processes of the group are frozen.
func (g *Group) Frozen() bool { return g.number("cgroup.events", "frozen") == 1 }

// Populated reports whether a process is in the group or in one below it. A group that is gone has none.
func (g *Group) Populated() bool { return g.number("cgroup.events", "populated") == 1 }

// OutOfMemory reports whether the kernel has killed a process of the group for the group's memory.
func (g *Group) OutOfMemory() bool {
	return g.number("memory.events", "oom_kill") > 0 || g.number("memory.events", "oom_group_kill") > 0
}

// number reads the value of a line "name number" of a group's file; 0 if there is none.
func (g *Group) number(file, name string) uint64 {
	f, err := os.Open(filepath.Join(g.path, file)) //nolint:gosec // of a group
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, is := strings.CutPrefix(lines.Text(), name+" "); is {
			n, _ := strconv.ParseUint(text, 10, 64) // what is no number counts as none
			return n
		}
	}
	return 0
}

// Remove removes the group and those below it. It fails while one of them has a process.
func (g *Group) Remove() error {
	var dirs []string
	err := filepath.WalkDir(g.path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, dir := range slices.Backward(dirs) {
		if removed := unix.Rmdir(dir); !errors.Is(removed, unix.ENOENT) {
			err = cmp.Or(err, removed)
		}
	}
	return err
}
