package process

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/disk"
)

// Bounds of the checkpoints in the node's own place, of tasks without a rank on the node.
const (
	// keepCheckpoints is how long they stay after their last change.
	keepCheckpoints = 30 * 24 * time.Hour
	// checkpointShare is the part of the file system that an account's checkpoints may take while the disk is short of space.
	checkpointShare = 10
	// aheadAtMost is how far in the future a change may be: the times of files are their user's to set.
	aheadAtMost = time.Hour
)

// leftover are the checkpoints of a task that has no rank here.
type leftover struct {
	name    string
	uid     uint32
	bytes   int64
	changed time.Time
}

// ClearCheckpoints removes checkpoints from the node's own place, but for tasks that have a rank on the node, and returns the names of the tasks. Those
// go that have not changed for 30 days. While the disk is short of space, the oldest of the account that takes most go, as long as that is
// more than a tenth of the file system: no account loses checkpoints because another fills the disk.
func ClearCheckpoints(folder string, live map[string]bool, now time.Time) (removed []string, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || folder == "" {
		return nil, nil
	}
	var list []leftover
	for _, e := range entries {
		if one, is := checkpointsOf(folder, e.Name(), now); is && !live[e.Name()] {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b leftover) int { return cmp.Or(a.changed.Compare(b.changed), cmp.Compare(a.name, b.name)) })
	drop := func(i int) {
		one := list[i]
		list = slices.Delete(list, i, i+1)
		if failed := os.RemoveAll(filepath.Join(folder, one.name)); failed != nil {
			err = errors.Join(err, failed)
			return
		}
		removed = append(removed, one.name)
	}
	for len(list) > 0 && now.Sub(list[0].changed) > keepCheckpoints {
		drop(0)
	}
	for len(list) > 0 {
		room, roomErr := disk.RoomOf(folder)
		if roomErr != nil || room.Short(true) == "" {
			return removed, errors.Join(err, roomErr)
		}
		most, bytes := heaviest(folder, list)
		if bytes <= int64(room.Total/checkpointShare) {
			return removed, err
		}
		drop(slices.IndexFunc(list, func(o leftover) bool { return o.uid == most }))
	}
	return removed, err
}

// checkpointsOf returns the checkpoints of a task, and whether there are any.
func checkpointsOf(folder, name string, now time.Time) (one leftover, is bool) {
	dir := filepath.Join(folder, name)
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return one, false
	}
	one = leftover{name: name, uid: st.Uid, changed: changeOf(&st, now)}
	attempts, _ := os.ReadDir(dir) // without them the folder's own time counts
	for _, e := range attempts {
		for _, path := range []string{filepath.Join(dir, e.Name()), filepath.Join(dir, e.Name(), doneFile)} {
			if unix.Lstat(path, &st) == nil {
				if at := changeOf(&st, now); at.After(one.changed) {
					one.changed = at
				}
			}
		}
	}
	return one, true
}

// changeOf returns when a file was last changed; the zero time if that is in the future.
func changeOf(st *unix.Stat_t, now time.Time) time.Time {
	if at := time.Unix(st.Mtim.Unix()); at.Before(now.Add(aheadAtMost)) {
		return at
	}
	return time.Time{}
}

// heaviest returns the account, among those that could lose checkpoints, whose checkpoints take most, and how many bytes.
func heaviest(folder string, list []leftover) (uid uint32, bytes int64) {
	sums := map[uint32]int64{}
	for i := range list {
		one := &list[i]
		if one.bytes == 0 {
			one.bytes = max(1, folderUse(filepath.Join(folder, one.name)))
		}
		sums[one.uid] += one.bytes
	}
	for _, one := range list { // in order
		if sums[one.uid] > bytes {
			uid, bytes = one.uid, sums[one.uid]
		}
	}
	return uid, bytes
}
