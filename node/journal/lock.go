package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockFolder takes the folder for this process; the kernel gives it back when the
// process ends, however it ends. The file also tells who holds it.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator's data folder
	if err != nil {
		return nil, unusable(dir, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // a descriptor fits an int
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s: another agent uses this data folder%s: stop it, or give this one a folder "+
			"of its own with --data-dir", dir, holder(path)), f.Close())
	}
	if err == nil {
		err = errors.Join(f.Truncate(0), writePID(f))
	}
	if err != nil {
		return nil, errors.Join(unusable(dir, err), f.Close())
	}
	return f, nil
}

func writePID(f *os.File) error {
	_, err := fmt.Fprintln(f, os.Getpid())
	return err
}

// holder names the process that wrote the lock file, as far as it can be known.
func holder(path string) string {
	b, err := os.ReadFile(path) //nolint:gosec // the operator's data folder
	if pid := strings.TrimSpace(string(b)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}
