package process

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/cgroup"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// claim determines the isolation that this host allows, and prepares it for ranks. A guard that cannot work
// here is dropped.
func claim(o *Options) (tree cgroup.Tree, h runner.Host) {
	layout, err := cgroup.Look(cmp.Or(o.Kernel, "/"))
	h.Cgroup = layout.Kind
	if err != nil {
		h.Notes = append(h.Notes, err.Error())
	}
	tree, err = layout.Claim(filepath.Base(o.Run.Path))
	if err != nil {
		h.Notes = append(h.Notes, err.Error())
	}
	if tree.Path == "" {
		h.Notes = append(h.Notes, "ranks have no cgroup and are held together by descent: a rank whose supervisor is killed after a restart of the agent may not end by itself")
	}
	if o.Devices != nil {
		if err := possible(o.Devices, tree.Path); err != nil {
			h.Notes, o.Devices = append(h.Notes, "devices are not denied: "+err.Error()), nil
		}
	}
	if !o.Rules.Isolate.On {
		note := fmt.Sprintf("jobs run as user id %d", os.Geteuid())
		if o.Devices == nil {
			note += ", and reach the GPUs of others"
		}
		h.Notes = append(h.Notes, note)
	}
	if o.Rules.Isolate.On {
		if err := isolate.ShowsOthers(); err != nil {
			h.Notes = append(h.Notes, "jobs see the processes of others, for /proc cannot be mounted for them: "+err.Error())
		}
	}
	sweep(tree.Path, o.Run)
	sweepOthers(tree.Path)
	h.Controllers = tree.Controllers
	return tree, h
}

// sweep removes groups of this node's ranks that are no longer known. One that still has processes stays.
func sweep(groups string, run runner.RunFolder) {
	for _, name := range names(groups) {
		if _, err := run.Status(name); errors.Is(err, fs.ErrNotExist) {
			_ = unix.Rmdir(filepath.Join(groups, name))
		}
	}
}

// sweepOthers removes the groups of former nodes next to this one's: those that are empty and old. A node
// that still runs makes its folder again.
func sweepOthers(groups string) {
	if groups == "" {
		return
	}
	base, own := filepath.Split(groups)
	for _, node := range names(base) {
		if node == own || !strings.HasPrefix(node, runPrefix) {
			continue
		}
		for _, rank := range names(filepath.Join(base, node)) {
			dropOld(filepath.Join(base, node, rank))
		}
		dropOld(filepath.Join(base, node))
	}
}

// runPrefix begins the names of run folders, and so of nodes' groups.
const runPrefix = "berth-"

// oldGroup is the age from which an unused group counts as abandoned.
const oldGroup = time.Hour

func dropOld(group string) {
	if info, err := os.Lstat(group); err == nil && time.Since(info.ModTime()) > oldGroup {
		_ = unix.Rmdir(group) // one in use stays
	}
}

// names returns the names of the folders in a folder; none if it cannot be read.
func names(dir string) (out []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}
