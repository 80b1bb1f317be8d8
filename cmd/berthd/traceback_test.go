package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"testing"
)

// A panic ends a server and an agent by a signal, and not with the code of wrong settings, after which systemd would leave
// them down.
func TestAPanicIsNoUsageError(t *testing.T) {
	t.Parallel()
	if os.Getenv("BERTH_TEST_PANIC") != "" {
		debug.SetTraceback(endBySignal)
		panic("a defect")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAPanicIsNoUsageError$") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), "BERTH_TEST_PANIC=1")
	err := cmd.Run()
	failed := (*exec.ExitError)(nil)
	if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if status, is := failed.Sys().(syscall.WaitStatus); !is || !status.Signaled() || status.Signal() != syscall.SIGABRT {
		t.Errorf("the program ended with %v", failed)
	}
}
