package process

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// received opens a file as a starter of this process would have left it open.
func received(t *testing.T) (fd int, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "secret")
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd, path
}

// has reports whether a process has a file open.
func has(pid int, path string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, l := range links {
		if target, _ := os.Readlink(l); target == path {
			return true
		}
	}
	return false
}

// What is open in the process that starts a supervisor, a library's files as well, is
// open neither in the supervisor nor in the job or a hook.
func TestFilesOfTheStarter(t *testing.T) {
	_, path := received(t)
	list := "ls -l /proc/self/fd"
	b := under(t, Rules{Hooks: Hooks{Prolog: program(t, list), Epilog: program(t, list)}})
	k := b.rank(list+"; cat go", plain)
	work := filepath.Join(k.f.Path(), runner.WorkFolder)
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(work, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.start()
	waitFor(t, "the job", func() bool {
		return exists(t, filepath.Join(k.f.Path(), runner.StdoutFile)) && k.output(runner.StdoutFile) != ""
	})
	if has(k.phase(model.RankRunning).PID, path) {
		t.Error("the supervisor has it")
	}
	k.letGo()
	k.exit()
	for _, name := range []string{runner.StdoutFile, prologFile, epilogFile} {
		if out := k.output(name); !strings.Contains(out, "0 -> ") || strings.Contains(out, path) {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

// The files that an agent was started with stay open in it and in nothing that it starts.
func TestFilesOfTheAgent(t *testing.T) {
	fd, _ := received(t)
	isolate.KeepFromChildren()
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %d, %v", flags, err)
	}
}

// ownSignals clears the signals 32 and 33 in the masks that /proc shows: they are the C library's own.
func ownSignals(t *testing.T, text string) string {
	t.Helper()
	return regexp.MustCompile(`[0-9a-f]{16}`).ReplaceAllStringFunc(text, func(mask string) string {
		set, err := strconv.ParseUint(mask, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%016x", set&^(3<<31))
	})
}

// Neither blocked nor ignored signals nor a mask of file modes of whatever started the
// agent reach jobs and hooks.
func TestSignalsOfTheStarter(t *testing.T) {
	runtime.LockOSThread() // the mask is this thread's
	defer runtime.UnlockOSThread()
	var blocked, before unix.Sigset_t
	blocked.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGUSR1-1) | 1<<(unix.SIGINT-1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, &before); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	ignored := []os.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGUSR2, unix.SIGINT, unix.SIGHUP}
	signal.Ignore(ignored...)
	defer signal.Reset(ignored...)
	defer unix.Umask(unix.Umask(0o077))

	show := "umask; grep -E '^Sig(Blk|Ign)' /proc/self/status"
	k := under(t, Rules{Hooks: Hooks{Prolog: program(t, show)}}).rank(show, plain).start()
	k.exit()
	const want = "0022\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
	for _, name := range []string{runner.StdoutFile, prologFile} {
		if out := ownSignals(t, k.output(name)); out != want {
			t.Errorf("%s: %q, want %q", name, out, want)
		}
	}
}
