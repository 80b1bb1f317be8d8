package daemon

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/berth-gpu/berth/cmd/internal/build"
)

// versionVariable is the environment variable in which berth passes its version on to berthd. The child processes of berthd
// do not get it.
const versionVariable = "BERTH_CALLER"

// Name is the name under which berth calls berthd, so that messages of berthd name the command that was called.
const Name = "berth"

// Become replaces this program with berthd, which carries out the command line. It returns only if that fails.
func Become(args []string) error {
	self, err := os.Executable() // on Linux without symbolic links
	if err != nil {
		return fmt.Errorf("the path of this program cannot be determined, and %s is looked for next to it: %w", Program, err)
	}
	version := build.Version()
	path, err := find(self, os.Getenv("PATH"), version)
	if err != nil {
		return err
	}
	environ := append(os.Environ(), versionVariable+"="+version)
	if err := syscall.Exec(path, append([]string{Name}, args...), environ); err != nil { //nolint:gosec // a program that is installed with this one
		return fmt.Errorf("%s cannot be started: %w", path, err)
	}
	return nil
}

// CheckCaller returns an error if berth, of another version, has replaced itself with this program. berthd calls it before all
// else.
func CheckCaller() error {
	caller, called := os.LookupEnv(versionVariable)
	if !called {
		return nil
	}
	if err := os.Unsetenv(versionVariable); err != nil {
		return err
	}
	return sameVersion(caller, build.Version())
}

// sameVersion returns an error if berth and berthd are of different versions.
func sameVersion(caller, own string) error {
	if caller == own {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		self = Program
	}
	return fmt.Errorf("berth is of version %.100q and %s of version %.100q: install both programs of one version", strings.ToValidUTF8(caller, "?"), self, own)
}
