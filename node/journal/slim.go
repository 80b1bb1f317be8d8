package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Slim removes the heavy parts, which are named, from the oldest ended folders, until
// all of them together take no more of the disk than most bytes. What is left of them
// still tells how their ranks ended. It returns the names of those that lost something.
func (j *Journal) Slim(most int64, heavy []string) (slimmed []string, err error) {
	j.mu.Lock()
	names := slices.Clone(j.ended)
	j.mu.Unlock()
	var sum int64
	for _, name := range slices.Backward(names) {
		dir := filepath.Join(j.dir, endedDir, name)
		size := j.size(name, dir)
		if sum += size; sum <= most || size == 0 {
			continue
		}
		removed, failed := lighten(dir, heavy)
		if removed {
			slimmed = append(slimmed, name)
		}
		err = errors.Join(err, failed)
		j.setSize(name, 0)
		sum -= size
	}
	return slimmed, err
}

// size is what an ended folder takes, found out once.
func (j *Journal) size(name, dir string) int64 {
	j.mu.Lock()
	size, known := j.sizes[name]
	j.mu.Unlock()
	if !known {
		size = diskUse(dir)
		j.setSize(name, size)
	}
	return size
}

func (j *Journal) setSize(name string, size int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sizes[name] = size
}

// diskUse is what lies below a folder takes of the disk; what cannot be seen counts
// nothing. No link is followed.
func diskUse(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // the rest counts
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it has just gone
		}
		if stat, is := info.Sys().(*syscall.Stat_t); is {
			sum += stat.Blocks * 512
		}
		return nil
	})
	return sum
}

func lighten(dir string, heavy []string) (removed bool, err error) {
	for _, part := range heavy {
		path := filepath.Join(dir, part)
		if _, missing := os.Lstat(path); missing != nil {
			continue
		}
		removed = true
		err = errors.Join(err, os.RemoveAll(path))
	}
	return removed, err
}
