package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/disk"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
)

// Intervals of looking at the node's disks.
const (
	spaceEvery = 5 * time.Second
	spaceSoon  = time.Second      // while something is wrong
	spaceHangs = 10 * time.Second // a look that takes longer
	shedSoon   = 5 * time.Second  // between two removals of ended ranks' folders
	clearSoon  = 20 * time.Second // between two calls of Config.Clear while a disk is short of space
	clearRare  = time.Hour        // else
	clockJump  = time.Minute      // by how much the wall clock may run ahead of the time that has passed, or behind
)

// runRoom is the least space that the run folder needs, in bytes.
const runSpace = 16 << 20

// space watches whether the node's disks, and the unit that holds the groups of ranks, let jobs start. While they do not,
// the node reports the reason and gets no new work; ranks that wait to start are returned to the queue.
type space struct {
	*core
	trouble string          // why no job can start; "": jobs can
	lacking map[string]bool // folders whose disks were short at the last look
	begun   time.Time       // of the look under way; zero: none
	next    time.Time
	changed func()        // the trouble has changed
	freeing time.Time     // when the removal under way began; zero: none
	shed    time.Time     // when folders of ended ranks were last looked through
	cleared time.Time     // when Config.Clear was last called
	steady  fence.Reading // since when the wall clock has run evenly, as far as the removals have noticed
}

func newSpace(c *core, changed func()) *space {
	return &space{core: c, changed: changed, steady: c.Clock()}
}

// sight is what a look has found.
type sight struct {
	trouble string          // why no job can start; "": jobs can
	space   bool            // the trouble is a disk without space, which a removal may free
	lacking map[string]bool // folders whose disks are short
}

// watch looks at the disks when that is due.
func (r *space) watch() {
	if !r.begun.IsZero() {
		if time.Since(r.begun) > spaceHangs {
			r.set("the disk of " + r.Journal.Dir() + " does not answer")
		}
		return
	}
	if !due(r.next) {
		return
	}
	r.begun = time.Now()
	lacking := r.lacking
	r.background(func() func() {
		seen := r.look(lacking)
		return func() { r.judge(&seen) }
	})
}

// judge takes what a look has found. A disk without space is no trouble yet while a removal has just begun.
func (r *space) judge(seen *sight) {
	r.begun, r.lacking, r.next = time.Time{}, seen.lacking, later(spaceEvery)
	if seen.trouble != "" {
		r.next = later(spaceSoon)
	}
	r.free()
	if !seen.space || r.freeing.IsZero() || time.Since(r.freeing) > spaceHangs {
		r.set(seen.trouble)
	}
}

// set sets the trouble; "": none.
func (r *space) set(trouble string) {
	if trouble == r.trouble {
		return
	}
	r.trouble = trouble
	if trouble == "" {
		r.Log.Info("jobs can start on this node again")
	} else {
		r.Log.Error("no job can start on this node", "why", trouble)
	}
	r.changed()
}

// failed takes an error of a write to the data folder, and reports whether its disk is to blame.
func (r *space) failed(err error) bool {
	if !disk.Fault(err) {
		return false
	}
	if r.trouble == "" {
		r.set(fmt.Sprintf("the disk of %s cannot be written: %s", r.Journal.Dir(), cause(err)))
	}
	return true
}

// unready takes the error of a start, and notes if no rank can start on this host for now.
func (r *space) unready(err error) {
	if e, is := errors.AsType[*runner.NotReadyError](err); is && r.trouble == "" {
		r.set(e.Error())
	}
}

// why returns the reason for the users whose jobs cannot start because of the trouble.
func (r *space) why(err error) string {
	if r.trouble != "" {
		return "this node cannot start jobs: " + r.trouble
	}
	return "this node cannot start jobs: " + cause(err)
}

// cause returns the system's text of an error, without paths.
func cause(err error) string {
	if errno, is := errors.AsType[syscall.Errno](err); is {
		return errno.Error()
	}
	return err.Error()
}

// look returns what there is to see of the disks.
func (r *space) look(before map[string]bool) sight {
	dir := r.Journal.Dir()
	seen := sight{lacking: map[string]bool{}}
	note := func(space bool, format string, args ...any) {
		if seen.trouble == "" {
			seen.trouble, seen.space = fmt.Sprintf(format, args...), space
		}
	}
	for _, path := range append([]string{dir}, r.Disks...) {
		at, err := disk.RoomOf(path)
		if errors.Is(err, os.ErrNotExist) && path != dir {
			continue // nothing has been written there yet
		}
		switch lack := at.Short(before[path]); {
		case err != nil:
			note(false, "the disk of %s cannot be looked at: %s", path, cause(err))
		case lack != "":
			seen.lacking[path] = true
			note(true, "the disk of %s %s", path, lack)
		case path == dir:
			if err := errors.Join(disk.Probe(dir), disk.Load(dir, at)); err != nil {
				note(false, "the disk of %s cannot be written: %s", dir, cause(err))
			}
		}
	}
	if memory, err := disk.RoomOf(r.Run.Path); err != nil {
		note(false, "the run folder %s cannot be looked at: %s", r.Run.Path, cause(err))
	} else if need := min(memory.Total/20, runSpace); memory.Free < need || before[r.Run.Path] && memory.Free < 2*need {
		seen.lacking[r.Run.Path] = true
		note(false, "the file system of the run folder %s is full", r.Run.Path)
	}
	if r.Ready != nil {
		if err := r.Ready(); err != nil {
			note(false, "%s", err.Error())
		}
	}
	return seen
}

// free begins to remove what ranks keep beyond their end, when that is due: what is old, and while a disk is short of space, as much as the
// disk needs. A removal takes as long as its files take, and no look waits for it.
func (r *space) free() {
	if !r.freeing.IsZero() {
		return
	}
	short := r.lacking[r.Journal.Dir()]
	pause := clearRare
	if short || slices.ContainsFunc(r.Disks, func(path string) bool { return r.lacking[path] }) {
		pause = clearSoon
	}
	clears := r.Clear != nil && (r.cleared.IsZero() || time.Since(r.cleared) >= pause)
	sheds := short && (r.shed.IsZero() || time.Since(r.shed) >= shedSoon)
	if !clears && !sheds {
		return
	}
	now := r.Clock()
	if jump := now.Real.Sub(r.steady.Real) - now.Boot.Sub(r.steady.Boot); jump.Abs() > clockJump { // the clock was set
		r.steady = now
	}
	aged := now.Boot.Sub(r.steady.Boot) >= clearRare
	r.freeing = time.Now()
	r.background(func() func() {
		if clears {
			r.Clear(r.lives, aged)
		}
		if sheds {
			r.shedEnded()
		}
		return func() {
			r.freeing, r.next = time.Time{}, time.Time{}
			if clears {
				r.cleared = time.Now()
			}
			if sheds {
				r.shed = time.Now()
			}
		}
	})
}

// lives reports whether a task has a rank here. The error is that of the folder in which ranks are listed.
func (r *space) lives(task model.TaskKey) (bool, error) {
	paths, err := r.Journal.Open()
	return err != nil || slices.ContainsFunc(paths, func(path string) bool {
		rank, _, is := journal.RankOf(filepath.Base(path))
		return is && rank.Attempt().TaskKey() == task
	}), err
}

// userOf returns the user of a rank, by its folder; empty: not known.
func userOf(dir string) string {
	if record, _, _, err := readFolder(dir); err == nil && record != nil {
		return record.Job.Spec.User
	}
	return ""
}

// shedEnded removes the remains of ended ranks until there is enough space, those of the user whose remains take most before those of
// others, and the oldest first: first their working folders, then their output.
func (r *space) shedEnded() {
	dir := r.Journal.Dir()
	enough := func() bool {
		at, err := disk.RoomOf(dir)
		return err != nil || at.Short(true) == ""
	}
	var count int
	for _, parts := range [][]string{{runner.TmpFolder, runner.WorkFolder}, heavy()} {
		names, err := r.Journal.Shed(parts, userOf, enough)
		if count += len(names); err != nil {
			r.Log.Error("cannot remove the folders of ended ranks", "err", err)
		}
	}
	if count > 0 {
		r.Log.Warn("disk full: removed the folders of ended ranks", "ranks", count)
	}
}
