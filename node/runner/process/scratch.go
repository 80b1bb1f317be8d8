package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/disk"
	"github.com/berth-gpu/berth/node/runner"
)

// Pace of measuring what a rank takes of its node's disk: often, but for no more than a twentieth of the
// time.
const (
	measureEvery = 2 * time.Second
	measureShare = 20
)

// Scratch is the limit of a rank's use of its node's disk, with its output, its private /tmp, its working
// folder, its checkpoints in the node's own place, and deleted files that it keeps open. The zero Scratch sets no limit.
//
// The folder for images does not count: all jobs of an account share it, so that one would be stopped for what another pulls. What
// it takes is bounded by eviction ([github.com/berth-gpu/berth/image/store.EvictUsers]).
type Scratch struct {
	Bytes   int64 // 0: Percent decides
	Percent int   // of the file system of the agent's data folder; 0: any amount
}

// limit returns the bound in bytes for a rank's folder; 0: no limit.
func (l Scratch) limit(folder string) int64 {
	if l.Bytes > 0 || l.Percent == 0 {
		return l.Bytes
	}
	room, err := disk.RoomOf(folder)
	if err != nil {
		return 0
	}
	return int64(room.Total / 100 * uint64(l.Percent))
}

// scratch measures a rank's use of the disk. The zero scratch measures nothing.
type scratch struct {
	limit   atomic.Int64 // bytes; 0: no limit
	used    atomic.Int64 // at the last measurement
	cancel  context.CancelFunc
	folders []string
	files   []string // of the rank's output
}

// begin measures from now on until end is called, in a goroutine of its own: the rank must obey its fence meanwhile, whatever its folders
// are like. Open descriptors are those of the processes that list returns.
func (c *scratch) begin(p *place, store *store, list func() []int) {
	dir, rule := p.folder.Path(), p.rules.Scratch
	c.folders = []string{filepath.Join(dir, runner.TmpFolder), filepath.Join(dir, runner.WorkFolder)}
	c.files = []string{filepath.Join(dir, runner.StdoutFile), filepath.Join(dir, runner.StderrFile)}
	if store != nil && store.own {
		c.folders = append(c.folders, store.base)
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	go func() {
		limit := rule.limit(dir)
		if limit == 0 {
			return
		}
		c.limit.Store(limit)
		for pause := measureEvery; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			begun := time.Now()
			c.measure(list())
			pause = max(measureEvery, measureShare*time.Since(begun))
		}
	}()
}

// measure sums the content of the rank's folders, its output, and its open files without a name.
func (c *scratch) measure(pids []int) {
	var use disk.Use
	for _, dir := range c.folders {
		use.Folder(dir)
	}
	for _, path := range c.files {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) == nil {
			use.File(&stat)
		}
	}
	var on unix.Stat_t
	if unix.Stat(filepath.Dir(c.folders[0]), &on) == nil {
		for _, pid := range pids {
			unnamed(&use, pid, on.Dev)
		}
	}
	c.used.Store(use.Bytes())
}

// folderUse returns what a folder takes of the disk.
func folderUse(path string) int64 {
	var use disk.Use
	use.Folder(path)
	return use.Bytes()
}

// unnamed adds the deleted files of a device that a process has open.
func unnamed(use *disk.Use, pid int, device uint64) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(dir) // a process that is gone has none
	for _, e := range entries {
		var stat unix.Stat_t
		if unix.Stat(filepath.Join(dir, e.Name()), &stat) == nil && stat.Nlink == 0 && stat.Dev == device &&
			stat.Mode&unix.S_IFMT == unix.S_IFREG {
			use.File(&stat)
		}
	}
}

// over reports whether the rank takes more than its limit, and far, whether more than twice as much: then it
// gets no grace.
func (c *scratch) over() (over, far bool) {
	used, limit := c.used.Load(), c.limit.Load()
	return limit > 0 && used > limit, limit > 0 && used/2 > limit
}

// end stops measuring, and writes the measured use into a rank's end if the rank was stopped for it.
func (c *scratch) end(e *model.Exit) {
	if c.cancel != nil {
		c.cancel()
	}
	if e.Delivered == model.ReasonDiskLimit {
		const mib = 1 << 20
		e.DiskMB, e.DiskMaxMB = uint64(max(c.used.Load()/mib, 1)), uint64(c.limit.Load()/mib)
	}
}
