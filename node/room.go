package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/node/disk"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
)

// Intervals of looking at the node's disks.
const (
	roomEvery = 5 * time.Second
	roomSoon  = time.Second      // while something is wrong
	roomHangs = 10 * time.Second // a look that takes longer
	clearSoon = 20 * time.Second // between two calls of Config.Clear while a disk is short of space
	clearRare = time.Hour        // else
)

// runRoom is the least space that the run folder needs, in bytes.
const runRoom = 16 << 20

// room watches whether the node's disks, and the unit that holds the groups of ranks, let jobs start. While they do not,
// the node reports the reason and gets no new work; ranks that wait to start are returned to the queue.
type room struct {
	*core
	trouble string          // why no job can start; "": jobs can
	lacking map[string]bool // folders whose disks were short at the last look
	begun   time.Time       // of the look under way; zero: none
	next    time.Time
	changed func()    // the trouble has changed
	cleared time.Time // when Config.Clear was last called; only of the look under way
}

func newRoom(c *core, changed func()) *room { return &room{core: c, changed: changed} }

// watch looks at the disks when that is due.
func (r *room) watch() {
	if !r.begun.IsZero() {
		if time.Since(r.begun) > roomHangs {
			r.set("the disk of " + r.Journal.Dir() + " does not answer")
		}
		return
	}
	if !due(r.next) {
		return
	}
	r.begun = time.Now()
	lacking := r.lacking
	r.beside(func() func() {
		trouble, lacking := r.look(lacking)
		return func() {
			r.begun, r.lacking, r.next = time.Time{}, lacking, later(roomEvery)
			if trouble != "" {
				r.next = later(roomSoon)
			}
			r.set(trouble)
		}
	})
}

// set sets the trouble; "": none.
func (r *room) set(trouble string) {
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
func (r *room) failed(err error) bool {
	if !disk.Fault(err) {
		return false
	}
	if r.trouble == "" {
		r.set(fmt.Sprintf("the disk of %s cannot be written: %s", r.Journal.Dir(), cause(err)))
	}
	return true
}

// unready takes the error of a start, and notes if no rank can start on this host for now.
func (r *room) unready(err error) {
	if e, is := errors.AsType[*runner.NotReadyError](err); is && r.trouble == "" {
		r.set(e.Error())
	}
}

// why returns the reason for the users whose jobs cannot start because of the trouble.
func (r *room) why(err error) string {
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

// look returns the trouble with the disks, and the folders whose disks are short of space. It frees space on
// the data folder's disk as far as allowed.
func (r *room) look(before map[string]bool) (trouble string, lacking map[string]bool) {
	dir := r.Journal.Dir()
	lacking = map[string]bool{}
	note := func(format string, args ...any) {
		if trouble == "" {
			trouble = fmt.Sprintf(format, args...)
		}
	}
	for _, path := range append([]string{dir}, r.Disks...) {
		at, err := disk.RoomOf(path)
		if r.clear(err == nil && at.Short(before[path]) != "") {
			at, err = disk.RoomOf(path)
		}
		if errors.Is(err, os.ErrNotExist) && path != dir {
			continue // nothing has been written there yet
		}
		if err == nil && path == dir && at.Short(before[path]) != "" {
			at = r.shed(at)
		}
		switch lack := at.Short(before[path]); {
		case err != nil:
			note("the disk of %s cannot be looked at: %s", path, cause(err))
		case lack != "":
			lacking[path] = true
			note("the disk of %s %s", path, lack)
		case path == dir:
			if err := errors.Join(disk.Probe(dir), disk.Load(dir, at)); err != nil {
				note("the disk of %s cannot be written: %s", dir, cause(err))
			}
		}
	}
	if memory, err := disk.RoomOf(r.Run.Path); err != nil {
		note("the run folder %s cannot be looked at: %s", r.Run.Path, cause(err))
	} else if need := min(memory.Total/20, runRoom); memory.Free < need || before[r.Run.Path] && memory.Free < 2*need {
		lacking[r.Run.Path] = true
		note("the file system of the run folder %s is full", r.Run.Path)
	}
	if r.Ready != nil {
		if err := r.Ready(); err != nil {
			note("%s", err.Error())
		}
	}
	return trouble, lacking
}

// clear has what ranks keep beyond their end removed, and reports whether it has: what is old, and while a disk is short of space, as much as it takes.
func (r *room) clear(short bool) bool {
	pause := clearRare
	if short {
		pause = clearSoon
	}
	if r.Clear == nil || !r.cleared.IsZero() && time.Since(r.cleared) < pause {
		return false
	}
	r.cleared = time.Now()
	paths, err := r.Journal.Open()
	live := map[string]bool{}
	if err != nil { // a rank may need what would be removed
		r.Log.Warn("nothing of ended jobs is removed: the ranks' folders cannot be listed", "err", err)
		return false
	}
	for _, path := range paths {
		if rank, _, is := journal.RankOf(filepath.Base(path)); is {
			live[rank.Attempt().TaskKey().String()] = true
		}
	}
	r.Clear(live)
	return true
}

// userOf returns the user of a rank, by its folder; empty: not known.
func userOf(dir string) string {
	if record, _, _, err := readFolder(dir); err == nil && record != nil {
		return record.Job.Spec.User
	}
	return ""
}

// shed removes the remains of ended ranks until there is enough space, those of the user whose remains take most before those of others, and the oldest
// first: first their working folders, then their output.
func (r *room) shed(at disk.Room) disk.Room {
	dir := r.Journal.Dir()
	enough := func() bool {
		now, err := disk.RoomOf(dir)
		if err == nil {
			at = now
		}
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
	return at
}
