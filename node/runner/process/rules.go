package process

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-gpu/berth/files/private"
	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/cgroup"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// Rules are an operator's rules for all ranks of a node. Each supervisor reads them when it takes a rank.
type Rules struct {
	PIDs        uint32 // most processes and threads of a rank, where cgroups can limit them; 0: any number
	Checkpoints string // absolute path of the node's own place for checkpoints of jobs that name none; empty: it has none
	Scratch     Scratch
	Hooks       Hooks
	Isolate     isolate.Rules
	Client      string // absolute path of the program berth, which starts jobs in Slurm's language; empty: it is not installed
	Daemon      string // absolute path of the program berthd, which fetches images
	Images      string // absolute path of the node's own place for images, with a folder for each account; empty: it has none
}

// prepare makes what ranks need under these rules, and returns why they cannot run here; nil: they can.
func (r *Rules) prepare() error {
	var err error
	if r.Isolate.On {
		err = isolate.Possible()
		for _, dir := range r.Isolate.Hide {
			err = cmp.Or(err, isolate.Reachable(dir))
		}
	}
	if err != nil {
		return fmt.Errorf("jobs cannot run under their users' accounts: %w", err)
	}
	for what, path := range map[string]string{"checkpoints": r.Checkpoints, "images": r.Images} { // order-free: any of two errors will do
		if path == "" {
			continue
		}
		_, err := private.Limit(path, 0o711) // jobs' users pass through
		if err == nil {
			err = lasting(path)
		}
		if err != nil {
			return fmt.Errorf("the folder for %s: %w", what, err)
		}
	}
	return nil
}

// lasting returns an error if users could put another folder in the place of one.
func lasting(path string) error {
	parent := filepath.Dir(path)
	info, err := os.Stat(parent)
	if err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		err = fmt.Errorf("all users may replace what is in %s: run chmod +t %s, or name another folder", parent, parent)
	}
	return err
}

// laid are the rules as supervisors find them in the run folder.
type laid struct {
	Rules

	Groups  string // cgroup folder for the ranks' groups; empty: they have none
	Reaper  int    // without Groups: process that takes in the orphans of the agent
	Guarded bool   // agents make the groups, and keep them from devices
}

const rulesFile = "rules"

// lay writes the rules for supervisors that start from now on.
func lay(run runner.RunFolder, l *laid) error {
	return smallfile.Replace(filepath.Join(run.Path, rulesFile), l)
}

// mend makes the run folder and the rules again if they are lost: without them no rank would start until the
// agent does.
func (r *Runner) mend() error {
	if _, err := readRules(r.o.Run); err == nil {
		return nil
	}
	if err := os.Mkdir(r.o.Run.Path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return lay(r.o.Run, &r.rules)
}

// readRules reads the rules. A rank without rules does not start: it could have more rights than its operator
// intends.
func readRules(run runner.RunFolder) (l laid, err error) {
	if err = smallfile.Read(filepath.Join(run.Path, rulesFile), &l); err != nil {
		return l, fmt.Errorf("this node's rules cannot be read: %w", err)
	}
	return l, nil
}

// groupPath returns the path of a rank's group; empty: ranks have none here.
func (l *laid) groupPath(name string) string {
	if l.Groups == "" {
		return ""
	}
	return filepath.Join(l.Groups, name)
}

// group makes the group of a rank, unless its agent has; nil: ranks have none here.
func (l *laid) group(name string, r *runner.Record) (*cgroup.Group, error) {
	if l.Groups == "" {
		return nil, nil
	}
	if l.Guarded {
		// The agent has made the group. If it is gone, as when another agent has just cleaned up, it is not
		// made again: the job would have every device.
		if _, err := cgroup.Open(l.groupPath(name)); err != nil {
			return nil, fmt.Errorf("the rank's cgroup: %w", err)
		}
	}
	spec := &r.Job.Spec
	return l.make(name, cgroup.Limits{CPUs: spec.CPUs, MemoryMB: spec.MemoryMB, PIDs: l.PIDs})
}

// make makes a group of that name.
func (l *laid) make(name string, limits cgroup.Limits) (*cgroup.Group, error) {
	g, err := cgroup.Tree{Path: l.Groups}.Make(name, limits)
	if errors.Is(err, fs.ErrNotExist) { // the last supervisor of an earlier agent has just removed the folder
		if layout, lookErr := cgroup.Look("/"); lookErr == nil {
			_, _ = layout.Claim(filepath.Base(l.Groups)) // if the group cannot be made, the next line reports that
		}
		g, err = cgroup.Tree{Path: l.Groups}.Make(name, limits)
	}
	if err != nil {
		return nil, fmt.Errorf("the rank's cgroup: %w", err)
	}
	return g, nil
}
