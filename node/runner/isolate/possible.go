package isolate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Possible returns why this process cannot isolate jobs; nil: it can.
func Possible() error {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if text, is := strings.CutPrefix(line, "CapEff:"); is {
			return suffices(strings.TrimSpace(text))
		}
	}
	return errors.New("/proc/self/status does not tell this process's capabilities")
}

// suffices returns an error that names the first needed capability that is missing in a set, in hexadecimal.
func suffices(set string) error {
	bits, err := strconv.ParseUint(set, 16, 64)
	if err != nil {
		return err
	}
	for _, need := range []struct {
		name string
		bit  int
	}{
		{"SYS_ADMIN", unix.CAP_SYS_ADMIN},
		{"SETUID", unix.CAP_SETUID},
		{"SETGID", unix.CAP_SETGID},
		{"SETPCAP", unix.CAP_SETPCAP},
		{"CHOWN", unix.CAP_CHOWN},
		{"KILL", unix.CAP_KILL},
		{"DAC_OVERRIDE", unix.CAP_DAC_OVERRIDE},
		{"SYS_PTRACE", unix.CAP_SYS_PTRACE},
	} {
		if bits&(1<<need.bit) == 0 {
			return fmt.Errorf("this agent has no capability CAP_%s: run it as root, on the host itself", need.name)
		}
	}
	return nil
}

// Reachable returns an error that names the folder on the way to a path that keeps jobs' users from it; nil:
// none does. The path itself may be closed: jobs see a view of it, see [View].
func Reachable(path string) error {
	for dir := filepath.Dir(filepath.Clean(path)); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if private(dir) {
			return nil
		}
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("%s is closed to the users of jobs, which must pass through it to %s: allow this by chmod o+x", dir, path)
		}
	}
	return nil
}

// private reports whether a job has a folder of its own in that place.
func private(dir string) bool {
	return dir == "/tmp" || dir == "/dev/shm" || strings.HasPrefix(dir, "/tmp/") || strings.HasPrefix(dir, "/dev/shm/")
}
