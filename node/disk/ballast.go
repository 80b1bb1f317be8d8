package disk

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ballastFile is a file whose content does not matter: it only takes space.
const ballastFile = "ballast"

// Bounds of the ballast: a part of the file system, at most 64 MiB.
const (
	mostBallast  = 64 << 20
	ballastShare = 64
)

// Ballast returns the size of the ballast of a file system of this size, in bytes.
func (r Room) Ballast() int64 {
	return int64(min(r.Total/ballastShare, mostBallast))
}

// Load puts the ballast into a folder, unless it is there or would leave the file system short of space.
func Load(dir string, r Room) error {
	path, size := filepath.Join(dir, ballastFile), r.Ballast()
	if info, err := os.Lstat(path); err == nil && info.Size() >= size {
		return nil
	}
	if r.Free < 2*r.Reserve()+uint64(size) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW, 0o600) //nolint:gosec // in the caller's own folder
	if err != nil {
		return err
	}
	if err := errors.Join(allocate(f, size), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// Release removes the ballast from a folder, and reports whether there was any.
func Release(dir string) bool { return os.Remove(filepath.Join(dir, ballastFile)) == nil }

// Allocate makes a file whose blocks are reserved, so that writing into it needs no further space.
func Allocate(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // in the caller's own folder
	if err != nil {
		return err
	}
	return errors.Join(allocate(f, size), f.Close())
}

// allocate reserves blocks of a file, by writing where the file system cannot reserve them.
func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	zeros := make([]byte, min(size, 1<<20))
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}
