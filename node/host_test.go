package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/nodeapi"
	"github.com/berth-gpu/berth/node/runner"
)

func openJournal(t *testing.T) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// The run folder is the same for as long as the kernel runs, and another data folder has a run folder of its
// own.
func TestOpenRun(t *testing.T) {
	j := openJournal(t)
	dir, other := t.TempDir(), t.TempDir()
	run, warning, err := OpenRun(j, "boot-1", dir)
	if err != nil || warning != "" || filepath.Dir(run.Path) != dir || !strings.Contains(run.Path, j.Lineage()) {
		t.Fatal(run, warning, err)
	}
	if err := run.SetLease(runner.Lease{Start: 7}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(run.Path, 0o755); err != nil { // supervisors read their lease there: it is closed, and used on
		t.Fatal(err)
	}
	again, _, err := OpenRun(j, "boot-1", other)
	if info, statErr := os.Stat(run.Path); statErr != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the run folder has mode %v, %v", info.Mode(), statErr)
	}
	if err != nil || again != run || again.Lease().Start != 7 {
		t.Errorf("in the same life: %+v with lease %d, %v", again, again.Lease().Start, err)
	}
	next, _, err := OpenRun(j, "boot-2", dir)
	if err != nil || next.Lease().Start != 0 {
		t.Errorf("in the next life: lease %d, %v", next.Lease().Start, err)
	}
	if moved, _, err := OpenRun(j, "boot-3", other); err != nil || filepath.Dir(moved.Path) != other {
		t.Errorf("elsewhere: %+v, %v", moved, err)
	}
}

// A folder of another user is not used, and a warning says so.
func TestOpenRunElsewhere(t *testing.T) {
	j := openJournal(t)
	dir := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "berth-"+j.Lineage())); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, filepath.Join(dir, "missing")} {
		run, warning, err := OpenRun(j, "boot-"+at, at)
		if err != nil || warning == "" || !strings.HasPrefix(run.Path, j.Dir()) {
			t.Errorf("%s: %+v, %q, %v", at, run, warning, err)
		}
	}
}

// The lease's file never goes back, and what was written under another kernel or cut
// off counts for nothing.
func TestLeaseFile(t *testing.T) {
	run := runner.RunFolder{Path: t.TempDir(), Boot: "boot-1"}
	for _, start := range []int64{5, 9, 3} {
		if err := run.SetLease(runner.Lease{Start: time.Duration(start), Ranks: []string{"x"}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := run.LeaseOf("x"); got != 9 || run.LeaseOf("y") != 0 {
		t.Errorf("lease %d", got)
	}
	if err := os.WriteFile(filepath.Join(run.Path, "lease"), []byte(`{"Boot":"boot-1","Sta`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run.LeaseOf("x"); got != 0 {
		t.Errorf("lease %d of a torn file", got)
	}
}

func TestCloseRun(t *testing.T) {
	j := openJournal(t)
	run, _, err := OpenRun(j, "boot-1", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := run.SetStatus("a", runner.Status{PID: 1}); err != nil {
		t.Fatal(err)
	}
	CloseRun(run, 0)
	if _, err := run.Status("a"); err != nil {
		t.Errorf("a folder in use was removed: %v", err)
	}
	if err := run.SetStatus("a", runner.Status{}); err != nil {
		t.Fatal(err)
	}
	CloseRun(run, 1)
	if _, err := os.Stat(run.Path); err != nil {
		t.Errorf("a folder was removed from under a living supervisor: %v", err)
	}
	CloseRun(run, 0)
	if _, err := os.Stat(run.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// Output is a file in the rank's own folder, whatever the job puts in its place.
func TestLogsStayInside(t *testing.T) {
	j := openJournal(t)
	rank := model.RankKey{Job: 3, N: 1}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := j.Create(journal.Name(model.Incarnation{1}, rank), func(dir string) error {
		return errors.Join(runner.Fill(dir, &runner.Record{Rank: rank}, runner.Content{}), os.Symlink(secret, filepath.Join(dir, "stdout")),
			os.WriteFile(filepath.Join(dir, "stderr"), []byte("fine"), 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
	logs := Logs{j}
	if f, err := logs.Open(rank, nodeapi.Stdout); err == nil {
		_ = f.Close()
		t.Error("a link was followed")
	}
	f, err := logs.Open(rank, nodeapi.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := logs.Open(model.RankKey{Job: 4, N: 1}, nodeapi.Stdout); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of another rank: %v", err)
	}
	if logs.Ended(rank) {
		t.Error("it has not ended")
	}
	if err := os.Symlink(runner.LatchNever, filepath.Join(path, "latch")); err != nil {
		t.Fatal(err)
	}
	if !logs.Ended(rank) || endOf(filepath.Join(path, "stdout")) != nil || string(endOf(filepath.Join(path, "stderr"))) != "fine" {
		t.Error("after its end")
	}
}
