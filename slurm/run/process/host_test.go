package process

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds each wait for a process; a busy machine is slow.
const patience = time.Minute

// command returns a command without input and output.
func command(t *testing.T, argv ...string) *Command {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	return &Command{Argv: argv, Env: []string{"PATH=/bin:/usr/bin"}, Dir: "/", Files: [3]*os.File{null, null, null}, Umask: -1, Tidy: true}
}

// TestHangingStart checks that processes get signals and are collected while the start of another one hangs.
func TestHangingStart(t *testing.T) {
	t.Parallel()
	h := NewHost()
	first, err := h.Run(command(t, "sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	hangs, goes := make(chan struct{}), make(chan struct{})
	h.starts <- func(bool) {
		h.fork = func(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
			close(hangs)
			<-goes
			return syscall.ForkExec(path, argv, attr)
		}
	}
	second := command(t, "true")
	ended := make(chan error, 1)
	go func() {
		p, err := h.Run(second)
		if err == nil {
			<-p.Done
		}
		ended <- err
	}()
	<-hangs
	first.Signal(unix.SIGINT, true)
	select {
	case <-first.Done:
	case <-time.After(patience):
		t.Fatal("a process is not collected while another one starts")
	}
	if !first.Status.Signaled() || first.Status.Signal() != unix.SIGINT {
		t.Errorf("the first process ended with %v", first.Status)
	}
	close(goes)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestShortProcess checks that processes are collected that end at once.
func TestShortProcess(t *testing.T) {
	t.Parallel()
	h := NewHost()
	c := command(t, "true")
	for range 100 {
		p, err := h.Run(c)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Done:
		case <-time.After(patience):
			t.Fatal("a process that has ended is not collected")
		}
	}
}

// TestFind checks which program a name stands for.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"runs": 0o755, "text": 0o644} { // order-free: two files
		if err := os.WriteFile(dir+"/"+name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=/nonexistent:" + dir}
	for _, c := range []struct {
		program, want string
		err           error
	}{
		{"runs", dir + "/runs", nil},
		{"text", "", unix.EACCES},
		{"missing", "", unix.ENOENT},
		{"./x", "./x", nil},
	} {
		if got, err := Find(c.program, env, "/"); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", c.program, got, err)
		}
	}
}
