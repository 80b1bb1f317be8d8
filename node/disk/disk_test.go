package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The text about a shortage stays the same while the shortage does, which is over only when there is clearly
// enough again.
func TestShort(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, c := range map[string]struct {
		room   Room
		before bool
		want   string // part of the answer; empty: nothing is lacking
	}{
		"enough":              {Room{Free: 2 * gib, Total: 1000 * gib}, false, ""},
		"little":              {Room{Free: gib - 1, Total: 1000 * gib}, false, "less than 1.0 GiB of 1000 GiB"},
		"little of a small":   {Room{Free: 4 << 20, Total: 96 << 20}, false, "less than 4 MiB of 96 MiB"},
		"enough of a small":   {Room{Free: 5 << 20, Total: 96 << 20}, false, ""},
		"not enough again":    {Room{Free: gib + 1, Total: 1000 * gib}, true, "is full"},
		"enough again":        {Room{Free: 2 * gib, Total: 1000 * gib}, true, ""},
		"inodes":              {Room{Free: 9 * gib, Total: 10 * gib, Inodes: 9_999, AllInodes: 10_000_000}, false, "less than 10000 of 10000000 inodes"},
		"inodes not again":    {Room{Free: 9 * gib, Total: 10 * gib, Inodes: 19_999, AllInodes: 10_000_000}, true, "inodes"},
		"inodes not counted":  {Room{Free: 9 * gib, Total: 10 * gib}, false, ""},
		"read-only":           {Room{Free: 9 * gib, Total: 10 * gib, ReadOnly: true}, false, "read-only"},
		"nothing is no lack":  {Room{}, false, ""},
		"few inodes in all":   {Room{Free: 9 * gib, Total: 10 * gib, Inodes: 2, AllInodes: 100}, false, ""},
		"no inodes of so few": {Room{Free: 9 * gib, Total: 10 * gib, Inodes: 0, AllInodes: 100}, false, "inodes"},
	} {
		got := c.room.Short(c.before)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The ballast takes real blocks, is not put where it would leave too little, and is given back.
func TestBallast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := Room{Free: 1 << 30, Total: 64 << 20}
	if err := Load(dir, Room{Free: 2 * r.Reserve(), Total: r.Total}); err != nil || Release(dir) {
		t.Errorf("loaded where there is no room for it: %v", err)
	}
	if err := errors.Join(Load(dir, r), Load(dir, r)); err != nil {
		t.Fatal(err)
	}
	var use Use
	use.Folder(dir)
	if use.Bytes() < r.Ballast() || r.Ballast() != 1<<20 {
		t.Errorf("the ballast of %d bytes takes %d", r.Ballast(), use.Bytes())
	}
	if !Release(dir) || Release(dir) {
		t.Error("it is not released once")
	}
}

// A file under two names counts once, and so does one that has no name any more.
func TestUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := errors.Join(Allocate(path, 1<<20), os.Link(path, filepath.Join(dir, "b")), os.Symlink("/", filepath.Join(dir, "c"))); err != nil {
		t.Fatal(err)
	}
	var use Use
	use.Folder(dir)
	if n := use.Bytes(); n < 1<<20 || n > 1<<20+64<<10 {
		t.Errorf("two names of a file of 1 MiB take %d bytes", n)
	}
	use = Use{}
	use.Folder(filepath.Join(dir, "missing"))
	gone := unix.Stat_t{Blocks: 8, Ino: 7, Mode: unix.S_IFREG}
	use.File(&gone)
	use.File(&gone)
	if use.Bytes() != 4096 {
		t.Errorf("a file without a name takes %d bytes", use.Bytes())
	}
}

// A full, read-only or broken file system is distinguished from a mistake.
func TestFault(t *testing.T) {
	t.Parallel()
	if err := Probe(t.TempDir()); err != nil {
		t.Error(err)
	}
	for err, want := range map[error]bool{
		unix.ENOSPC: true, unix.EDQUOT: true, unix.EROFS: true, unix.EIO: true, unix.ENOENT: false, unix.EACCES: false, unix.EEXIST: false,
	} {
		if wrapped := fmt.Errorf("writing: %w", &os.PathError{Err: err}); Fault(wrapped) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

// Several programs may look at one folder at once.
func TestProbesAtOnce(t *testing.T) {
	dir, errs := t.TempDir(), make(chan error)
	const many = 50
	for range many {
		go func() { errs <- Probe(dir) }()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
