package journal

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Slim removes the named heavy parts from the oldest ended folders until all ended folders together take at
// most most bytes of the disk, and returns the names of those that lost something. The rest of a folder still
// has its rank's end.
func (j *Journal) Slim(most int64, heavy []string) (slimmed []string, err error) {
	j.mu.Lock()
	names := slices.Clone(j.ended)
	j.mu.Unlock()
	var sum int64
	for _, name := range slices.Backward(names) {
		dir := filepath.Join(j.dir, endedDir, name)
		size := j.weights.of(name, dir)
		if sum += size; sum <= most || size == 0 {
			continue
		}
		removed, failed := lighten(dir, heavy)
		if removed {
			slimmed = append(slimmed, name)
		}
		err = errors.Join(err, failed)
		j.weights.set(name, 0)
		sum -= size
	}
	return slimmed, err
}

// Shed removes named parts from ended folders until there is enough space, and returns the names of those that lost something. The folders
// of the user whose folders take most come first, of each user the oldest.
func (j *Journal) Shed(parts []string, user func(dir string) string, enough func() bool) (shed []string, err error) {
	if enough() {
		return nil, nil
	}
	j.mu.Lock()
	names := slices.Clone(j.ended)
	j.mu.Unlock()
	of, sums := make(map[string]string, len(names)), map[string]int64{}
	for _, name := range names {
		dir := filepath.Join(j.dir, endedDir, name)
		of[name] = j.weights.user(name, dir, user)
		sums[of[name]] += j.weights.of(name, dir)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(sums[of[b]], sums[of[a]]), cmp.Compare(of[a], of[b])) })
	for _, name := range names {
		if enough() {
			break
		}
		dir := filepath.Join(j.dir, endedDir, name)
		removed, failed := lighten(dir, parts)
		if removed {
			shed = append(shed, name)
			j.weights.set(name, diskUse(dir))
		}
		err = errors.Join(err, failed)
	}
	return shed, err
}

// weights are the cached sizes and users of ended folders.
type weights struct {
	mu    sync.Mutex
	known map[string]int64  // by name, in bytes
	users map[string]string // by name
}

// user returns the user of a folder, which of returns at the first time.
func (w *weights) user(name, dir string, of func(dir string) string) string {
	w.mu.Lock()
	user, known := w.users[name]
	w.mu.Unlock()
	if known {
		return user
	}
	user = of(dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users == nil {
		w.users = map[string]string{}
	}
	w.users[name] = user
	return user
}

func (w *weights) of(name, dir string) int64 {
	w.mu.Lock()
	size, known := w.known[name]
	w.mu.Unlock()
	if !known {
		size = diskUse(dir)
		w.set(name, size)
	}
	return size
}

func (w *weights) set(name string, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[string]int64{}
	}
	w.known[name] = size
}

func (w *weights) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, name)
	delete(w.users, name)
}

// diskUse returns the disk space that a folder's content takes; what cannot be read counts nothing. No link
// is followed.
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
