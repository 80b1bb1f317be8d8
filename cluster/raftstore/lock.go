package raftstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const lockName = "LOCK"

// lockFolder locks the folder for this process. The kernel releases the lock when the process ends, however
// it ends. The file also names the holder's process id, for the message that a second process prints.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the path is the operator's data folder
	if err != nil {
		return nil, unusable(dir, "cannot open its lock file", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(&Fault{
			Kind: ErrLocked, Path: dir, What: "another process uses this data folder" + holder(path),
			Do: "stop that process, or give this peer a folder of its own (server.data_dir, --data-dir)",
		}, f.Close())
	}
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		return nil, errors.Join(unusable(dir, "cannot lock it", err), f.Close())
	}
	return f, nil
}

// writePID replaces the lock file's content by this process's id.
func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintln(f, os.Getpid())
	return err
}

// holder names the process that wrote the lock file, as far as known.
func holder(path string) string {
	b, err := os.ReadFile(path) //nolint:gosec // the path is the operator's data folder
	if pid := strings.TrimSpace(string(b)); err == nil && pid != "" {
		return " (pid " + pid + ")"
	}
	return ""
}
