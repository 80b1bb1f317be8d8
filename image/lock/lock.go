// Package lock is the agreement between those that use an unpacked image, those that pull one and those that remove one:
// locks of files by flock, which the kernel releases when a process ends, however it ends.
//
// A user of an image holds a shared lock of the image's file "lock" for as long as processes may have the image as their
// root. Before an image is removed, the same lock is taken for one process alone. A file that is locked may have been
// removed in the meantime, together with its image; each function finds out by comparing the open file with the path.
package lock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrGone is the error of a lock whose file is not there, or was removed or replaced while the lock was taken: the image
// does not exist any more and has to be fetched again.
var ErrGone = errors.New("the image was removed: fetch it again")

// ErrBusy is the error of a lock that another process holds.
var ErrBusy = errors.New("another process holds the lock")

// poll is how often Wait looks for a lock that another process holds.
const poll = 200 * time.Millisecond

// flags opens a lock file that another user may have replaced: a link is not followed, a pipe does not block.
const flags = os.O_RDWR | syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// Hold takes a shared lock of an image that is in use, and notes the time as that of its last use. The lock lasts until
// the file is closed, or until the last process ends that has inherited the file. The error is ErrGone if the image
// was removed.
func Hold(path string) (*os.File, error) {
	f, err := take(anywhere{}, path, syscall.LOCK_SH, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	now := syscall.NsecToTimeval(time.Now().UnixNano())
	if err := syscall.Futimes(int(f.Fd()), []syscall.Timeval{now, now}); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "utimes", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// Try takes a lock of a file that exists, below root, for this process alone. The error is ErrBusy if another process
// holds a lock, shared or not, and ErrGone if the file does not exist.
func Try(root *os.Root, path string) (*os.File, error) {
	return take(root, path, syscall.LOCK_EX|syscall.LOCK_NB, os.O_RDWR)
}

// Wait takes a lock of a file below root for this process alone. The file is made if it does not exist. If another
// process holds a lock, Wait calls waiting once and waits until the lock is free or the context ends.
func Wait(ctx context.Context, root *os.Root, path string, waiting func()) (*os.File, error) {
	f, err := create(ctx, root, path)
	if !errors.Is(err, ErrBusy) {
		return f, err
	}
	waiting()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		if f, err = create(ctx, root, path); !errors.Is(err, ErrBusy) {
			return f, err
		}
	}
}

// create is Try for a file that is made if it does not exist.
func create(ctx context.Context, root *os.Root, path string) (*os.File, error) {
	for {
		f, err := take(root, path, syscall.LOCK_EX|syscall.LOCK_NB, os.O_RDWR|os.O_CREATE)
		if !errors.Is(err, ErrGone) { // removed by its last holder in between
			return f, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// Remove removes a lock file below root that this process holds alone, and releases the lock.
func Remove(root *os.Root, path string, f *os.File) error {
	return errors.Join(root.Remove(path), f.Close())
}

// files are the files below a folder, or all.
type files interface {
	OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error)
	Lstat(path string) (fs.FileInfo, error)
}

// anywhere are all files.
type anywhere struct{}

func (anywhere) OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flags, mode) //nolint:gosec // the lock that the caller names
}

func (anywhere) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// take opens and locks a file, and checks that the path still means it.
func take(in files, path string, how, open int) (*os.File, error) {
	f, err := in.OpenFile(path, flags|open, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	if err := lock(f, how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if there, err := in.Lstat(path); err != nil || !os.SameFile(mine, there) {
		return nil, errors.Join(ErrGone, f.Close())
	}
	return f, nil
}

func lock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrBusy
		case err != nil:
			return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
		default:
			return nil
		}
	}
}
