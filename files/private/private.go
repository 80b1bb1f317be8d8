// Package private makes folders that only their owner may enter.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Folder makes a folder with all its parents, unless it exists, and closes it to other users. It returns the
// mode that the folder had if others could enter it. A folder or a link to one that belongs to another user
// is refused, since that user could open it again or replace it; a link of root's is followed.
func Folder(path string) (was fs.FileMode, err error) { return Limit(path, 0o700) }

// Limit is like Folder, and leaves other users the rights in mode.
func Limit(path string, mode fs.FileMode) (was fs.FileMode, err error) {
	if err := os.MkdirAll(path, mode); err != nil {
		return 0, err
	}
	link, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	if uid, own := owner(link); link.Mode()&fs.ModeSymlink != 0 && uid != 0 && !own {
		return 0, fmt.Errorf("%s is a link that belongs to user id %d: that user could lead it elsewhere; name the folder itself", path, uid)
	}
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0) //nolint:gosec // the folder that the operator names
	if err != nil {
		return 0, err
	}
	was, err = limit(dir, path, mode)
	return was, errors.Join(err, dir.Close())
}

// limit removes other users' rights beyond mode from an open folder.
func limit(dir *os.File, path string, mode fs.FileMode) (was fs.FileMode, err error) {
	info, err := dir.Stat()
	if err != nil {
		return 0, err
	}
	if uid, own := owner(info); !own {
		return 0, fmt.Errorf("%s belongs to user id %d, and this process runs as user id %d: the owner of a folder can read and replace all "+
			"that is in it; run chown %d %s, or name another folder", path, uid, os.Geteuid(), os.Geteuid(), path)
	}
	has := info.Mode().Perm()
	if has&0o077&^mode == 0 {
		return 0, nil
	}
	return has, dir.Chmod(has &^ (0o077 &^ mode))
}

// owner returns the user that owns a file, and whether that is the user of this process.
func owner(info fs.FileInfo) (uid int, own bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, false
	}
	return int(stat.Uid), int(stat.Uid) == os.Geteuid()
}
