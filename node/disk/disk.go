// Package disk measures the free space of a file system, and holds some of it back for what must be written
// when the disk is full.
//
//berth:single
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Bounds below which a file system is short of space: a twentieth of it, but never more than 1 GiB; a
// hundredth of its inodes, but never more than 10,000.
const (
	enoughFree   = 1 << 30
	enoughInodes = 10_000
	freeShare    = 20
	inodeShare   = 100
)

// Room is the free space on the file system of a folder.
type Room struct {
	Free, Total       uint64 // bytes: what unprivileged users may still write, and the size of the file system
	Inodes, AllInodes uint64 // files that can still be made, and all; 0 of 0 where the file system does not count them
	ReadOnly          bool
}

// RoomOf returns the free space on the file system of a folder.
func RoomOf(path string) (Room, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return Room{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	block := uint64(st.Bsize)
	return Room{
		Free: st.Bavail * block, Total: st.Blocks * block, Inodes: st.Ffree, AllInodes: st.Files,
		ReadOnly: st.Flags&unix.ST_RDONLY != 0,
	}, nil
}

// Reserve returns how many bytes should stay free.
func (r Room) Reserve() uint64 { return min(r.Total/freeShare, enoughFree) }

// reserveInodes returns how many inodes should stay free.
func (r Room) reserveInodes() uint64 { return min(r.AllInodes/inodeShare, enoughInodes) }

// Short returns what the file system lacks, in a text that stays the same while the lack does; "" if nothing.
// After a shortage twice the reserve has to be free, so that the answer does not flap.
func (r Room) Short(before bool) string {
	need, inodes := r.Reserve(), r.reserveInodes()
	if before {
		need, inodes = 2*need, 2*inodes
	}
	switch {
	case r.ReadOnly:
		return "is read-only"
	case r.Free < need:
		return fmt.Sprintf("is full: less than %s of %s are free", Size(r.Reserve()), Size(r.Total))
	case r.AllInodes > 0 && r.Inodes < inodes:
		return fmt.Sprintf("has no room for files: less than %d of %d inodes are free", r.reserveInodes(), r.AllInodes)
	}
	return ""
}

// Size formats a number of bytes, such as "12 MiB" or "1.5 GiB".
func Size(bytes uint64) string {
	switch {
	case bytes >= 10<<30:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

// Probe writes, syncs and removes a small file in a folder, and returns why that failed.
func Probe(dir string) error {
	path := filepath.Join(dir, "probe.tmp")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|unix.O_NOFOLLOW, 0o600) //nolint:gosec // in the caller's own folder
	if err != nil {
		return err
	}
	_, err = f.WriteString("probe\n")
	gone := os.Remove(path)
	if errors.Is(gone, os.ErrNotExist) { // another probe was faster
		gone = nil
	}
	return errors.Join(err, f.Sync(), f.Close(), gone)
}

// Fault reports whether an error is the fault of the file system and not of the request: the file system is
// full, over a quota, read-only or broken.
func Fault(err error) bool {
	for _, of := range []syscall.Errno{unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EIO, unix.EUCLEAN, unix.ESTALE} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}
