package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// A full disk is one message, whichever and however many files could not be written.
func TestAFullDiskWhileJoining(t *testing.T) {
	t.Parallel()
	full := errors.Join(&fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, fmt.Errorf("b: %w", syscall.ENOSPC))
	if got := unfinished(full).Error(); strings.Contains(got, "\n") || !strings.Contains(got, "with the same token") || strings.Count(got, "no space left") != 1 {
		t.Error(got)
	}
	if other := errors.New("x"); !errors.Is(unfinished(other), other) || unfinished(other).Error() != "x" || unfinished(nil) != nil {
		t.Error("another error has changed")
	}
}

// halfFile is a file on a disk that has room for some bytes.
type halfFile struct {
	text string
	room int
}

func (f *halfFile) WriteString(text string) (int, error) {
	n := min(len(text), f.room)
	if f.text += text[:n]; n < len(text) {
		return n, &fs.PathError{Op: "write", Path: "/etc/berth/berth.yaml", Err: syscall.ENOSPC}
	}
	return n, nil
}

func (f *halfFile) Truncate(size int64) error { f.text = f.text[:size]; return nil }
func (f *halfFile) Sync() error               { return nil }

// A section comes into the file of settings as a whole, or not at all.
func TestNoHalfSection(t *testing.T) {
	t.Parallel()
	for room, want := range map[int]string{0: "old\n", 3: "old\n", 100: "old\nagent: {}\n"} {
		f := &halfFile{text: "old\n", room: room}
		if err := appendAll(f, 4, "agent: {}\n"); f.text != want || (err == nil) != (room == 100) {
			t.Errorf("room for %d: %q, %v", room, f.text, err)
		}
	}
	got := roomy(&fs.PathError{Op: "write", Path: "/etc/berth/berth.yaml", Err: syscall.EDQUOT}, "repeat this command").Error()
	if !strings.HasPrefix(got, "the disk of /etc/berth is full") || !strings.Contains(got, "make room, and repeat this command") {
		t.Error(got)
	}
}

// A new cluster that could not be written as a whole is none: the same command makes it once there is room, and says nothing of
// settings that it has written itself.
func TestInitCanBeRepeated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := filepath.Join(dir, "p1", trust.Subfolder)
	args := []string{
		"init", "--id", "p1", "--advertise", "127.0.0.1", "--no-start", "--config", filepath.Join(dir, "berth.yaml"),
		"--data-dir", filepath.Dir(keys),
	}
	for _, name := range []string{"identity.pem", "revision", "authorities.pem", "generation", "authority.key"} {
		inTheWay := filepath.Join(keys, name+".new", "x") // as if there was no room for the file
		if err := os.MkdirAll(inTheWay, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := called("", args...); err == nil {
			t.Fatalf("without %s: %s", name, out)
		}
		if _, err := trust.Load(keys); !errors.Is(err, trust.ErrEmpty) {
			t.Errorf("without %s the machine is a member: %v", name, err)
		}
		if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := called("", args...)
	if err != nil || !strings.Contains(out, "is made, with peer p1") || strings.Contains(out, "stays as it is") {
		t.Errorf("again: %s, %v", out, err)
	}
}

// shortBackup is a backup that is restored, and then the disk is full.
type shortBackup struct{ Restorer }

func (shortBackup) Prepare(io.Reader, string) error { return nil }

func (shortBackup) Write(folder string, first trust.Member, _ string) (*trust.Material, *trust.Secrets, error) {
	if err := os.MkdirAll(filepath.Join(folder, trust.Subfolder, "identity.pem.new", "x"), 0o700); err != nil {
		return nil, nil, err
	}
	own, err := trust.Found(first, time.Now())
	return own, &trust.Secrets{}, err
}

// A restore that could not be finished leaves an empty folder, into which a backup can be restored.
func TestARestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &founder{machine: machine{name: "p1", data: filepath.Join(dir, "p1"), noConfig: true}, backup: shortBackup{}}
	for _, there := range []bool{false, true} {
		if there {
			if err := os.Mkdir(f.data, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.restoreData(strings.NewReader(""), io.Discard, place{host: "127.0.0.1"}, nil); err == nil {
			t.Fatal("a full disk is no error")
		}
		list, err := os.ReadDir(f.data)
		if len(list) > 0 || (err == nil) != there {
			t.Errorf("there before: %t, left: %v, %v", there, list, err)
		}
	}
}
