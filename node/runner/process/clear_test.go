package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
)

// liveTasks returns a function for ClearCheckpoints by which tasks are live.
func liveTasks(tasks ...string) func(model.TaskKey) (bool, error) {
	return func(k model.TaskKey) (bool, error) { return slices.Contains(tasks, k.String()), nil }
}

// Checkpoints that have not changed for 30 days go, but for those of tasks that are live, and only where the clock can be trusted. What is
// not named as a task is not touched, however old.
func TestOldCheckpointsGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"1", "3", "4.17", "01", "4.0", "+5", "models", "4.x", "4.", "18446744073709551616", ".removed-2"} {
		path := filepath.Join(dir, name, "1")
		if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, doneFile), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "6"), nil, 0o600), os.Symlink(dir, filepath.Join(dir, "7"))); err != nil {
		t.Fatal(err)
	}
	left := func() string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	before := strings.Replace(left(), ".removed-2 ", "", 1)
	month := time.Now().Add(keepCheckpoints)
	for _, v := range []struct {
		aged bool
		now  time.Time
		// in the last case all changes are in the future
	}{{false, month.Add(time.Hour)}, {true, month.Add(-time.Hour)}, {true, time.Now().Add(-10 * keepCheckpoints)}} {
		if removed, err := ClearCheckpoints(dir, liveTasks("3"), v.aged, v.now); removed != nil || err != nil || left() != before {
			t.Errorf("%+v: removed %v, %v; left %s, want %s", v, removed, err, left(), before)
		}
	}
	removed, err := ClearCheckpoints(dir, liveTasks("3"), true, month.Add(time.Hour))
	if err != nil || strings.Join(removed, " ") != "1 4.17" {
		t.Errorf("removed %v, %v", removed, err)
	}
	if want := "+5 01 18446744073709551616 3 4. 4.0 4.x 6 7 models"; left() != want {
		t.Errorf("left: %s, want %s", left(), want)
	}
	if removed, err := ClearCheckpoints(filepath.Join(dir, "none"), liveTasks(), true, month); removed != nil || err != nil {
		t.Error(removed, err)
	}
}

// A rank that comes while a removal is under way keeps its checkpoints.
func TestClearAsksAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"1", "2"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	asked := map[string]int{}
	live := func(k model.TaskKey) (bool, error) {
		asked[k.String()]++
		return k.Job == 2 && asked["2"] == 2, nil
	}
	removed, err := ClearCheckpoints(dir, live, true, time.Now().Add(keepCheckpoints+time.Hour))
	if err != nil || strings.Join(removed, " ") != "1" || !exists(t, filepath.Join(dir, "2", "1")) {
		t.Errorf("removed %v, %v", removed, err)
	}
	unknown := func(model.TaskKey) (bool, error) { return false, fs.ErrInvalid }
	if removed, err := ClearCheckpoints(dir, unknown, true, time.Now().Add(keepCheckpoints+time.Hour)); removed != nil ||
		!errors.Is(err, fs.ErrInvalid) {
		t.Errorf("without knowledge of ranks: removed %v, %v", removed, err)
	}
}

// On a full disk the account that takes most loses its oldest checkpoints, and no other account loses any.
func TestCheckpointsThatFillTheDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	now := time.Now()
	put := func(task string, uid int, size int) { // the later, the newer
		path := filepath.Join(dir, task, "1")
		if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, "data"), make([]byte, size), 0o600),
			os.Chown(filepath.Join(dir, task), uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	put("1", 4001, 1<<20)
	put("4", 4002, 4<<20)
	put("3", 4002, 4<<20)
	put("2", 4002, 6<<20)
	put("5", 4003, 900<<10)
	removed, err := ClearCheckpoints(dir, liveTasks("4"), false, now)
	if err != nil || strings.Join(removed, " ") != "3" {
		t.Errorf("removed %v, %v", removed, err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "2")), os.WriteFile(filepath.Join(dir, "4", "fill"), make([]byte, 9<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	if removed, err := ClearCheckpoints(dir, liveTasks("4"), false, now); removed != nil || err != nil {
		t.Errorf("of accounts that take less than a tenth of the disk, removed %v, %v", removed, err)
	}
}
