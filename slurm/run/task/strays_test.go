package task

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestStraysThatBeginOtherPrograms checks that processes are found that are in the middle of an exec, when the kernel shows no
// environment of theirs.
func TestStraysThatBeginOtherPrograms(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho up\nexec \"$0\" again\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	mark := "BERTH_TEST_STRAYS=" + script
	var ends []<-chan struct{}
	for range 8 {
		cmd := exec.Command(script)
		cmd.Env = append(os.Environ(), mark)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if _, err := lines.ReadString('\n'); err != nil { // the program runs
			t.Fatal(err)
		}
		end := make(chan struct{})
		ends = append(ends, end)
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		go func() {
			_, _ = lines.WriteTo(io.Discard)
			_ = cmd.Wait() // it is killed
			close(end)
		}()
	}
	killMarked(mark)
	limit := time.After(patience)
	for i, end := range ends {
		select {
		case <-end:
		case <-limit:
			t.Fatalf("program %d is left", i)
		}
	}
}
