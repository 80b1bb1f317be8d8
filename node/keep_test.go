package node

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// Output is copied as it is, holes and all, and by itself: no link is followed.
func TestCopyOut(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	out := filepath.Join(from, runner.StdoutFile)
	data := bytes.Repeat([]byte("output\n"), 1<<17)
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, 64 << 20} {
		if _, err := f.WriteAt(data, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, runner.StderrFile)); err != nil {
		t.Fatal(err)
	}
	k := Keep{Dir: to}
	if err := k.copyOut(from, model.RankKey{Job: 7, N: 2, Rank: 1}); err == nil {
		t.Error("a link is copied without a word")
	}
	name := filepath.Join(to, "7", "attempt-2.rank-1.stdout")
	got, err := os.ReadFile(name)
	want, _ := os.ReadFile(out)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("copied %d of %d bytes: %v", len(got), len(want), err)
	}
	var stat unix.Stat_t
	if err := unix.Stat(name, &stat); err != nil || stat.Blocks*512 > 16<<20 {
		t.Errorf("the copy takes %d bytes of the disk: %v", stat.Blocks*512, err)
	}
	if left, _ := filepath.Glob(filepath.Join(to, "7", "*")); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
	if err := (Keep{}).copyOut(from, model.RankKey{}); err != nil {
		t.Error(err)
	}
}

// A place that cannot be written to is an error, and leaves nothing.
func TestCopyOutFails(t *testing.T) {
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, runner.StdoutFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Keep{Dir: file}).copyOut(from, model.RankKey{Job: 1}); err == nil {
		t.Error("copied below a file")
	}
	fifo := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(fifo, runner.StdoutFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Keep{Dir: t.TempDir()}).copyOut(fifo, model.RankKey{Job: 1}); err != nil {
		t.Errorf("a pipe is no output: %v", err)
	}
}

// The output of one user's job is not readable for other users.
func TestCopiesArePrivate(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(from, runner.StdoutFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Keep{Dir: to}).copyOut(from, model.RankKey{Job: 7, N: 1}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{"7": 0o700, "7/attempt-1.rank-0.stdout": 0o600} {
		if info, err := os.Stat(filepath.Join(to, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}
