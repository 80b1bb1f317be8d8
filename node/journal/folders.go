package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// remember adds a folder to the index; the caller holds the lock, or is the only user of the journal.
func (j *Journal) remember(name string) {
	if r, ok := rankOf(name); ok {
		j.names[r] = append(j.names[r], name)
	}
}

// Create makes a folder, filled by fill, under a name that was never given before, and returns the folder's
// path; fs.ErrExist: the name was given.
func (j *Journal) Create(name string, fill func(dir string) error) (string, error) {
	if j.Has(name) {
		return "", fs.ErrExist
	}
	path := filepath.Join(j.dir, attemptsDir, name)
	making := filepath.Join(j.dir, attemptsDir, newPrefix+name)
	if err := makeFolder(making); err != nil {
		return "", err
	}
	err := fill(making)
	if err == nil {
		err = os.Rename(making, path) // fails if there is one: no folder is ever empty
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(making))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.remember(name)
	return path, nil
}

// makeFolder makes a folder, and the one that it is in if that was removed.
func makeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Mkdir(filepath.Dir(path), 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = os.Mkdir(path, 0o700)
		}
	}
	return err
}

// Has reports whether a folder of that name exists.
func (j *Journal) Has(name string) bool {
	r, ok := rankOf(name)
	j.mu.Lock()
	defer j.mu.Unlock()
	return ok && slices.Contains(j.names[r], name)
}

// Open returns the paths of the folders whose end the cluster has not confirmed.
func (j *Journal) Open() ([]string, error) {
	dir := filepath.Join(j.dir, attemptsDir)
	names, err := list(dir)
	slices.Sort(names)
	var out []string
	for _, name := range names {
		if _, ok := rankOf(name); ok && !strings.HasPrefix(name, newPrefix) {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out, err
}

// Ended returns the paths of the newest folders whose end the cluster has confirmed, at most n.
func (j *Journal) Ended(n int) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, name := range j.ended[max(0, len(j.ended)-n):] {
		out = append(out, filepath.Join(j.dir, endedDir, name))
	}
	return out
}

// Path returns the current path of the folder of that name.
func (j *Journal) Path(name string) (string, bool) {
	for _, sub := range []string{attemptsDir, endedDir, attemptsDir} { // it may move meanwhile, one way
		path := filepath.Join(j.dir, sub, name)
		if _, err := os.Lstat(path); err == nil {
			return path, true
		}
	}
	return "", false
}

// Find returns the path of the folder of a rank, the newest if the name came again after a restore.
func (j *Journal) Find(r model.RankKey) (string, bool) {
	j.mu.Lock()
	names := slices.Clone(j.names[r])
	j.mu.Unlock()
	for _, name := range slices.Backward(names) {
		if path, ok := j.Path(name); ok {
			return path, true
		}
	}
	return "", false
}

// Confirm moves a folder to those whose end the cluster has confirmed. A removed folder needs nothing more;
// its name stays taken.
func (j *Journal) Confirm(name string) error {
	from, to := filepath.Join(j.dir, attemptsDir, name), filepath.Join(j.dir, endedDir, name)
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	now := time.Now()
	if err := os.Chtimes(to, now, now); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = append(j.ended, name)
	return nil
}

// Prune removes folders that ended too long ago, and the oldest of too many, and returns their names.
func (j *Journal) Prune(now time.Time) ([]string, error) {
	var gone []string
	for {
		name, ok := j.oldest(now)
		if !ok {
			return gone, nil
		}
		if err := os.RemoveAll(filepath.Join(j.dir, endedDir, name)); err != nil {
			return gone, err
		}
		j.forget(name)
		gone = append(gone, name)
	}
}

// oldest returns the next folder to remove.
func (j *Journal) oldest(now time.Time) (string, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.ended) <= keepLeast {
		return "", false
	}
	name := j.ended[0]
	if len(j.ended) > keepMost {
		return name, true
	}
	info, err := os.Lstat(filepath.Join(j.dir, endedDir, name))
	return name, err != nil || now.Sub(info.ModTime()) > keepFor
}

func (j *Journal) forget(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = slices.DeleteFunc(j.ended, func(n string) bool { return n == name })
	j.weights.forget(name)
	if r, ok := rankOf(name); ok {
		j.names[r] = slices.DeleteFunc(j.names[r], func(n string) bool { return n == name })
		if len(j.names[r]) == 0 {
			delete(j.names, r)
		}
	}
}
