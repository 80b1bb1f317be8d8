package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// Use sums the space that folders and files take of a file system, each file once.
type Use struct {
	seen  map[file]bool // files that may come again, under another name or descriptor
	bytes int64
}

// file identifies a file, whatever its name.
type file struct{ device, inode uint64 }

// batch is how many names of a folder are read at once.
const batch = 1024

// Bytes returns the sum so far.
func (u *Use) Bytes() int64 { return u.bytes }

// Folder adds a folder and its content, however deep. Links are not followed; what cannot be read counts
// nothing.
func (u *Use) Folder(dir string) { u.below(unix.AT_FDCWD, dir) }

// below adds the folder of that name in an open folder.
func (u *Use) below(in int, name string) {
	fd, err := unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	d := os.NewFile(uintptr(fd), name)
	defer func() { _ = d.Close() }() // nothing was written
	var self unix.Stat_t
	if unix.Fstat(fd, &self) == nil {
		u.File(&self)
	}
	for {
		names, err := d.Readdirnames(batch)
		for _, n := range names {
			var stat unix.Stat_t
			switch {
			case unix.Fstatat(fd, n, &stat, unix.AT_SYMLINK_NOFOLLOW) != nil: // it has just gone
			case stat.Mode&unix.S_IFMT == unix.S_IFDIR:
				u.below(fd, n)
			default:
				u.File(&stat)
			}
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}

// File adds one file.
func (u *Use) File(stat *unix.Stat_t) {
	if stat.Nlink != 1 && stat.Mode&unix.S_IFMT == unix.S_IFREG {
		id := file{stat.Dev, stat.Ino}
		if u.seen[id] {
			return
		}
		if u.seen == nil {
			u.seen = map[file]bool{}
		}
		u.seen[id] = true
	}
	u.bytes += stat.Blocks * 512
}
