package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// JobsUnit is the systemd unit that holds the groups of all ranks of a host. It has no other purpose, so it is never
// restarted, and the unit of the agent can be: systemd starts no process in a unit's group once controllers are
// enabled below that group (systemd issue 24064), which fails with status 219/CGROUP.
const JobsUnit = "berth-jobs.service"

// Groups below a delegated one that have processes.
const (
	leaf   = "supervisors"
	holder = "unit" // of [JobsUnit] alone: the process that the unit consists of
)

// Tree is a folder for the groups of a node's ranks.
type Tree struct {
	Path        string
	Supervisors string   // group for supervisors to start in; empty: that of this process
	Controllers []string // that can limit ranks: of "cpu", "memory", "pids"
}

// Claim makes the folder of that name for a node's ranks, in the place that was delegated to this process or to
// [JobsUnit], and enables the controllers there. Its error gives the reason in one line.
func (l Layout) Claim(name string) (Tree, error) {
	base, err := l.delegated()
	if err != nil {
		return Tree{}, err
	}
	t := Tree{Path: filepath.Join(base, name)}
	if err := mkdir(t.Path); err != nil {
		return Tree{}, fmt.Errorf("no group can be made: %w", err)
	}
	if _, err := os.Stat(filepath.Join(t.Path, "cgroup.kill")); err != nil {
		return Tree{}, fmt.Errorf("this kernel cannot kill a group: %w", err)
	}
	if base == l.jobs() {
		t.Supervisors = filepath.Join(base, leaf)
		if err := mkdir(t.Supervisors); err != nil {
			return t, fmt.Errorf("no group for supervisors: %w", err)
		}
	}
	if err := l.handDown(base); err != nil {
		return t, fmt.Errorf("no limits: %w", err)
	}
	t.Controllers = enable(t.Path)
	return t, nil
}

// delegated returns the group below which this process may make others.
func (l Layout) delegated() (string, error) {
	switch parent := filepath.Dir(l.Own); {
	case l.Own == "":
		return "", errors.New("no cgroup of version 2 is mounted")
	case filepath.Base(l.Own) == leaf && marked(parent):
		return parent, nil
	case !l.Top && l.usable(l.jobs()):
		return l.jobs(), nil
	case l.Top, marked(l.Own):
		return l.Own, nil
	}
	return "", fmt.Errorf("the group %s was not delegated to this agent, and no running %s is next to it: "+
		"start that unit, or set Delegate=yes in the unit of the agent", l.Own, JobsUnit)
}

// jobs returns the group of [JobsUnit], which is next to that of the agent's unit.
func (l Layout) jobs() string { return filepath.Join(filepath.Dir(l.Own), JobsUnit) }

// usable reports whether a group that systemd has delegated is that of a unit that runs, and this process may start others
// there, for which it needs a right to the group above both. A unit whose own process is missing is one that is being
// started, which fails once controllers are enabled below its group, or stopped, which later kills all in it.
func (l Layout) usable(dir string) bool {
	runs := len(words(filepath.Join(dir, "cgroup.procs"))) > 0 || (&Group{filepath.Join(dir, holder)}).Populated()
	return runs && marked(dir) && unix.Access(filepath.Join(filepath.Dir(l.Own), "cgroup.procs"), unix.W_OK) == nil
}

// marked reports whether systemd has marked a group's folder as delegated.
func marked(dir string) bool {
	value := make([]byte, 1)
	for _, attr := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, attr, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// handDown enables the controllers below a group. Unless the group is the root, it must not contain
// processes: they move to one below it.
func (l Layout) handDown(base string) error {
	want := offered(base)
	if missing(base, want) == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(base, "cgroup.events")); err == nil { // the root has none
		to := leaf
		if filepath.Base(base) == JobsUnit {
			to = holder
		}
		if err := vacate(base, filepath.Join(base, to)); err != nil {
			return err
		}
	}
	if enable(base); missing(base, want) != "" {
		return fmt.Errorf("%s does not hand down %s", base, missing(base, want))
	}
	return nil
}

// vacate moves the processes of a group to another.
func vacate(base, to string) error {
	if err := mkdir(to); err != nil {
		return err
	}
	for _, pid := range words(filepath.Join(base, "cgroup.procs")) {
		err := set(to, "cgroup.procs", pid)
		if err != nil && !errors.Is(err, unix.ESRCH) { // one that has ended needs no place
			return err
		}
	}
	return nil
}

// enable enables each of a group's controllers below it, as far as possible, and returns those.
func enable(dir string) []string {
	for _, c := range strings.Fields(missing(dir, offered(dir))) {
		_ = set(dir, "cgroup.subtree_control", "+"+c) // what did not work is seen below
	}
	return slices.DeleteFunc(words(filepath.Join(dir, "cgroup.subtree_control")), func(c string) bool { return !useful(c) })
}

func useful(controller string) bool {
	return controller == "cpu" || controller == "memory" || controller == "pids"
}

// offered returns the controllers that a group can enable below it and that ranks need.
func offered(dir string) []string {
	return slices.DeleteFunc(words(filepath.Join(dir, "cgroup.controllers")), func(c string) bool { return !useful(c) })
}

func missing(dir string, want []string) string {
	have := words(filepath.Join(dir, "cgroup.subtree_control"))
	return strings.Join(slices.DeleteFunc(want, func(c string) bool { return slices.Contains(have, c) }), " ")
}

// words reads a file of words; none if the file cannot be read.
func words(path string) []string {
	data, err := os.ReadFile(path) //nolint:gosec // of a group
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

// set writes one value into a group's file.
func set(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0) //nolint:gosec // of a group
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
