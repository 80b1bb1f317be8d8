package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Checkpoints stay for 30 days, and longer while their task has a rank here; a time in the future keeps nothing.
func TestOldCheckpointsGo(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	put := func(task string, at time.Time) {
		path := filepath.Join(dir, task, "1")
		if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, doneFile), nil, 0o600), os.Chtimes(filepath.Join(path, doneFile), at, at),
			os.Chtimes(path, at, at), os.Chtimes(filepath.Dir(path), at, at)); err != nil {
			t.Fatal(err)
		}
	}
	put("1", now.Add(-keepCheckpoints-time.Hour))
	put("2", now.Add(-keepCheckpoints+time.Hour))
	put("3", now.Add(-keepCheckpoints-time.Hour))
	put("4", now.Add(1000*time.Hour))
	removed, err := ClearCheckpoints(dir, map[string]bool{"3": true}, now)
	if slices.Sort(removed); err != nil || strings.Join(removed, " ") != "1 4" {
		t.Errorf("removed %v, %v", removed, err)
	}
	for name, want := range map[string]bool{"1": false, "2": true, "3": true, "4": false} {
		if exists(t, filepath.Join(dir, name)) != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
	if removed, err := ClearCheckpoints(filepath.Join(dir, "none"), nil, now); removed != nil || err != nil {
		t.Error(removed, err)
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
	put := func(task string, uid int, size int, ago time.Duration) {
		path, at := filepath.Join(dir, task, "1"), now.Add(-ago)
		if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, "data"), make([]byte, size), 0o600), os.Chown(filepath.Join(dir, task), uid, uid),
			os.Chtimes(path, at, at), os.Chtimes(filepath.Join(dir, task), at, at)); err != nil {
			t.Fatal(err)
		}
	}
	put("1", 4001, 1<<20, 9*time.Hour)
	put("2", 4002, 6<<20, 2*time.Hour)
	put("3", 4002, 4<<20, 3*time.Hour)
	put("4", 4002, 4<<20, 8*time.Hour)
	put("5", 4003, 900<<10, time.Hour)
	removed, err := ClearCheckpoints(dir, map[string]bool{"4": true}, now)
	if err != nil || strings.Join(removed, " ") != "3" {
		t.Errorf("removed %v, %v", removed, err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "2")), os.WriteFile(filepath.Join(dir, "4", "fill"), make([]byte, 9<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	if removed, err := ClearCheckpoints(dir, map[string]bool{"4": true}, now); removed != nil || err != nil {
		t.Errorf("of accounts that take less than a tenth of the disk, removed %v, %v", removed, err)
	}
}
