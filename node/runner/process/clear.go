package process

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/disk"
)

// Bounds of the checkpoints in the node's own place, of tasks without a rank on the node.
const (
	// keepCheckpoints is how long they stay after their last change.
	keepCheckpoints = 30 * 24 * time.Hour
	// checkpointShare is the part of the file system that an account's checkpoints may take while the disk is short of space.
	checkpointShare = 10
	// removedPrefix begins the name of a task's folder that is being removed.
	removedPrefix = ".removed-"
)

// leftover are the checkpoints of a task that has no rank here.
type leftover struct {
	task    model.TaskKey
	uid     uint32
	bytes   int64
	changed time.Time
}

// leftovers are those of a node.
type leftovers struct {
	folder  string
	live    func(model.TaskKey) (bool, error)
	list    []leftover // the oldest first
	removed []string
}

// ClearCheckpoints removes checkpoints from the node's own place, but for tasks that are live, and returns the names of the tasks. If aged
// is true, those go that have not changed for 30 days. While the disk is short of space, the oldest of the account that takes most go, as
// long as that is more than a tenth of the file system: no account loses checkpoints because another fills the disk. What is not named as a
// task is not touched.
func ClearCheckpoints(folder string, live func(model.TaskKey) (bool, error), aged bool, now time.Time) (removed []string, err error) {
	l := leftovers{folder: folder, live: live}
	if err := l.read(); errors.Is(err, fs.ErrNotExist) || folder == "" {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for aged && len(l.list) > 0 && now.Sub(l.list[0].changed) > keepCheckpoints {
		err = errors.Join(err, l.drop(0))
	}
	for len(l.list) > 0 {
		room, roomErr := disk.RoomOf(folder)
		if roomErr != nil || room.Short(true) == "" {
			return l.removed, errors.Join(err, roomErr)
		}
		most, bytes := l.heaviest()
		if bytes <= int64(room.Total/checkpointShare) {
			break
		}
		err = errors.Join(err, l.drop(slices.IndexFunc(l.list, func(o leftover) bool { return o.uid == most })))
	}
	return l.removed, err
}

// read lists the folder, and removes what an earlier removal has left.
func (l *leftovers) read() (err error) {
	entries, err := os.ReadDir(l.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), removedPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(l.folder, e.Name())))
			continue
		}
		one, is := checkpointsOf(l.folder, e.Name())
		if !is {
			continue
		}
		live, liveErr := l.live(one.task)
		if liveErr != nil {
			return liveErr
		}
		if !live {
			l.list = append(l.list, one)
		}
	}
	slices.SortFunc(l.list, func(a, b leftover) int { return cmp.Or(a.changed.Compare(b.changed), a.task.Compare(b.task)) })
	return err
}

// drop removes the checkpoints of a task, unless a rank of the task has come here meanwhile. They get another name first, so that a rank
// which comes later finds all or nothing of them.
func (l *leftovers) drop(i int) error {
	name := l.list[i].task.String()
	live, err := l.live(l.list[i].task)
	l.list = slices.Delete(l.list, i, i+1)
	if live || err != nil {
		return err
	}
	gone := filepath.Join(l.folder, removedPrefix+name)
	if err := os.Rename(filepath.Join(l.folder, name), gone); err != nil {
		return err
	}
	l.removed = append(l.removed, name)
	return os.RemoveAll(gone)
}

// checkpointsOf returns the checkpoints of a task, by the name of a folder; false: the folder is none of a task. The time is that of the
// last change of inodes, which users cannot set.
func checkpointsOf(folder, name string) (one leftover, is bool) {
	var st unix.Stat_t
	dir := filepath.Join(folder, name)
	if one.task, is = taskNamed(name); !is || unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return one, false
	}
	one.uid, one.changed = st.Uid, time.Unix(st.Ctim.Unix())
	attempts, _ := os.ReadDir(dir) // without them the folder's own time counts
	for _, e := range attempts {
		for _, path := range []string{filepath.Join(dir, e.Name()), filepath.Join(dir, e.Name(), doneFile)} {
			if unix.Lstat(path, &st) == nil {
				if at := time.Unix(st.Ctim.Unix()); at.After(one.changed) {
					one.changed = at
				}
			}
		}
	}
	return one, true
}

// taskNamed returns the task that prints as name; false: none does.
func taskNamed(name string) (k model.TaskKey, is bool) {
	job, task, _ := strings.Cut(name, ".")
	id, err := strconv.ParseUint(job, 10, 64)
	index, _ := strconv.ParseUint(task, 10, 32)
	k = model.TaskKey{Job: model.JobID(id), Task: uint32(index)}
	return k, err == nil && k.String() == name
}

// heaviest returns the account, among those that could lose checkpoints, whose checkpoints take most, and how many bytes.
func (l *leftovers) heaviest() (uid uint32, bytes int64) {
	sums := map[uint32]int64{}
	for i := range l.list {
		one := &l.list[i]
		if one.bytes == 0 {
			one.bytes = max(1, folderUse(filepath.Join(l.folder, one.task.String())))
		}
		sums[one.uid] += one.bytes
	}
	for _, one := range l.list { // in order
		if sums[one.uid] > bytes {
			uid, bytes = one.uid, sums[one.uid]
		}
	}
	return uid, bytes
}
