package store

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/image/lock"
)

const (
	// unpackedSize is how many bytes the pull of an image needs for each byte of its compressed layers: for the layer, and for
	// its files.
	unpackedSize = 3
	// keptFree is the part of a file system that stays free as long as unused images can be removed.
	keptFree = 0.10
	// grace is how long an image stays after its last use or its fetch: its user may be about to lock it.
	grace = 2 * time.Minute
)

// space returns the bytes that a user may still write to a folder's file system, and the bytes of all of it.
func space(folder string) (free, total int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: folder, Err: err}
	}
	return int64(s.Bavail) * s.Bsize, int64(s.Blocks) * s.Bsize, nil
}

// syncAll writes all that is changed on a folder's file system to its disk.
func syncAll(folder *os.File) error { return unix.Syncfs(int(folder.Fd())) }

// makeRoom removes images that no process uses until the file system has what a pull needs and a tenth of it is free. The
// error has both numbers if there is less than what the pull needs.
func (s *Store) makeRoom(need int64) error {
	var has, total int64
	enough := func() (ok bool, err error) {
		has, total, err = s.space(s.folder)
		return has >= need && float64(has) >= keptFree*float64(total), err
	}
	if _, err := evict(s.root, enough); err != nil {
		return err
	}
	if has < need {
		return failed(Full, remedyDisk, "the disk of %s has %s free, and the image needs %s; the images that are left are in use", s.folder, Size(has), Size(need))
	}
	return nil
}

// evict removes images, the least recently used first, until there is enough. What earlier removals have left is removed
// in any case.
func evict(root *os.Root, enough func() (bool, error)) (removed []string, err error) {
	if err := sweepGone(root); err != nil {
		return nil, err
	}
	if ok, err := enough(); ok || err != nil {
		return nil, err
	}
	keys, err := byUse(root)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		switch err := remove(root, key, grace); {
		case err == nil:
			removed = append(removed, key)
		case errors.Is(err, lock.ErrBusy), errors.Is(err, lock.ErrGone):
			continue
		default:
			return removed, err
		}
		if ok, err := enough(); ok || err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// keys returns the keys of all images.
func keys(root *os.Root) ([]string, error) {
	entries, err := list(root, ".")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(name string) bool { return !isKey(name) }), nil
}

// list returns the names in a folder in order; none if there is no such folder.
func list(root *os.Root, folder string) ([]string, error) {
	f, err := root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, f.Close())
}

// byUse returns the keys of all images, the least recently used first.
func byUse(root *os.Root) ([]string, error) {
	all, err := keys(root)
	if err != nil {
		return nil, err
	}
	used := make(map[string]time.Time, len(all))
	for _, key := range all {
		if info, err := root.Lstat(filepath.Join(key, lockName)); err == nil {
			used[key] = info.ModTime()
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(used[a].Compare(used[b]), cmp.Compare(a, b)) })
	return all, nil
}

// remove removes an image unless a process uses it (lock.ErrBusy) or has used it within a time.
func remove(root *os.Root, key string, within time.Duration) error {
	path := filepath.Join(key, lockName)
	f, err := lock.Try(root, path)
	switch {
	case errors.Is(err, lock.ErrGone):
		if _, bad := root.Lstat(key); errors.Is(bad, fs.ErrNotExist) {
			return err
		} // a folder without a lock is no image that could be used
	case err != nil:
		return err
	default:
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if since := time.Since(info.ModTime()); since < within && since > -within { // a time in the future is none of a use
			return lock.ErrBusy
		}
	}
	gone, err := discard(root, key)
	if err != nil {
		return err
	}
	return removeTree(root, gone)
}

// discard takes an image out of the store, and returns the folder that is left to be removed.
func discard(root *os.Root, key string) (gone string, err error) {
	if err := root.Mkdir(goneFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	gone = filepath.Join(goneFolder, key+"-"+rand.Text())
	if err := root.Rename(key, gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", lock.ErrGone
		}
		return "", err
	}
	return gone, nil
}

// sweepGone removes what removals have left that were cut short.
func sweepGone(root *os.Root) error {
	names, err := list(root, goneFolder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := removeTree(root, filepath.Join(goneFolder, name)); err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes a folder with all that is in it, also where its owner has no right to write.
func removeTree(root *os.Root, path string) error {
	err := root.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := openUp(root, path); err != nil {
		return err
	}
	return root.RemoveAll(path)
}

// openUp gives the owner of a tree all rights to its folders.
func openUp(root *os.Root, at string) error {
	info, err := root.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if err == nil {
		err = root.Chmod(at, 0o700)
	}
	if err != nil {
		return err
	}
	names, err := list(root, at)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := openUp(root, filepath.Join(at, name)); err != nil {
			return err
		}
	}
	return nil
}

// Size returns a number of bytes for messages, such as 3.1 GB.
func Size(n int64) string {
	for _, unit := range []struct {
		bytes float64
		name  string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if float64(n) >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
