package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folderLock holds a data folder for this process. The folder itself is locked, since the file may be removed
// while the process lives; the file names the process.
type folderLock struct{ folder, file *os.File }

// Close unlocks the folder. The kernel does so, too, when the process ends, however it ends.
func (l *folderLock) Close() error { return errors.Join(l.file.Close(), l.folder.Close()) }

func lockFolder(dir string) (*folderLock, error) {
	folder, err := os.Open(dir) //nolint:gosec // the operator's data folder
	if err != nil {
		return nil, unusable(dir, err)
	}
	path := filepath.Join(dir, "lock")
	err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s: another agent uses this data folder%s: stop it, or give this one a folder "+
			"of its own with agent.data_dir (--data-dir)", dir, holder(path)), folder.Close())
	}
	if err != nil {
		return nil, errors.Join(unusable(dir, err), folder.Close())
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600) //nolint:gosec // the operator's data folder
	if err != nil {
		return nil, errors.Join(unusable(dir, err), folder.Close())
	}
	l := &folderLock{folder: folder, file: file}
	if err := errors.Join(file.Truncate(0), writePID(file)); err != nil {
		return nil, errors.Join(unusable(dir, err), l.Close())
	}
	return l, nil
}

func writePID(f *os.File) error {
	_, err := fmt.Fprintln(f, os.Getpid())
	return err
}

// holder names the process that wrote the lock file, as far as known.
func holder(path string) string {
	b, err := os.ReadFile(path) //nolint:gosec // the operator's data folder
	if pid := strings.TrimSpace(string(b)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}
