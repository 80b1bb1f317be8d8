package lock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-gpu/berth/image/lock"
)

// folder returns a folder with a file "lock" in it, whose time is long ago.
func folder(t *testing.T) (root *os.Root, path string) {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	path = filepath.Join(root.Name(), "lock")
	old := time.Unix(1e9, 0)
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	return root, path
}

func closed(t *testing.T, f *os.File, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Several users share a lock, and nothing is removed as long as one has it.
func TestHold(t *testing.T) {
	t.Parallel()
	root, path := folder(t)
	one, err := lock.Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := lock.Hold(path)
	closed(t, two, err)
	if _, err := lock.Try(root, "lock"); !errors.Is(err, lock.ErrBusy) {
		t.Errorf("a lock in use can be had: %v", err)
	}
	if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the use is not noted: %v, %v", info.ModTime(), err)
	}
	closed(t, one, nil)
	alone, err := lock.Try(root, "lock")
	closed(t, alone, err)
}

// A lock of an image that was removed in the meantime is no lock.
func TestRemoved(t *testing.T) {
	t.Parallel()
	root, path := folder(t)
	alone, err := lock.Try(root, "lock")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := lock.Hold(path) // waits, or comes too late: both must see that the file is gone
		got <- err
	}()
	if err := lock.Remove(root, "lock", alone); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, lock.ErrGone) {
		t.Errorf("the lock of a removed file: %v", err)
	}
	if _, err := lock.Try(root, "lock"); !errors.Is(err, lock.ErrGone) {
		t.Error(err)
	}
}

// A link in place of the lock is not followed.
func TestLink(t *testing.T) {
	t.Parallel()
	root, path := folder(t)
	if err := errors.Join(os.Rename(path, path+".elsewhere"), os.Symlink("lock.elsewhere", path)); err != nil {
		t.Fatal(err)
	}
	if f, err := lock.Hold(path); err == nil {
		t.Error("a link was taken for a lock", f.Close())
	}
	if f, err := lock.Try(root, "lock"); err == nil {
		t.Error("a link was taken for a lock", f.Close())
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	root, _ := folder(t)
	first, err := lock.Wait(t.Context(), root, "pull", func() { t.Error("waits for nothing") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lock.Wait(ctx, root, "pull", cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait ends with its context: %v", err)
	}
	waits, got := make(chan struct{}), make(chan error, 1)
	go func() {
		second, err := lock.Wait(t.Context(), root, "pull", func() { close(waits) })
		if err == nil {
			err = lock.Remove(root, "pull", second)
		}
		got <- err
	}()
	<-waits
	if err := lock.Remove(root, "pull", first); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}
