package journal

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

func open(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func fill(dir string) error { return os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600) }

func TestNames(t *testing.T) {
	for _, r := range []model.RankKey{
		{Job: 1, N: 1},
		{Job: math.MaxUint64, Task: math.MaxUint32, N: math.MaxUint32, Rank: math.MaxUint32},
	} {
		name := Name(model.Incarnation{0xab, 0, 1, 2}, r)
		if got, ok := rankOf(name); got != r || !ok || !strings.HasPrefix(name, "ab000102-") {
			t.Errorf("%s is read as %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "x", "ab-1-2-3", "ab-1-2-3-r", "ab-01-2-3-r4", "ab-1-2-3-r4x", "ab--1-2-3-r4", "lost+found", "ab-99999999999999999999-0-1-r0"} {
		if r, ok := rankOf(name); ok {
			t.Errorf("%q is taken for %v", name, r)
		}
	}
}

// A lineage whose file and copy are both damaged is not replaced by a new one: the ranks of living
// supervisors would be given up. The refusal names both files and the way on, and supervisors that
// still carry the lineage restore it.
func TestADamagedLineage(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	lineage := j.Lineage()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, lineageFile)
	damage := func(path string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damage(path)
	one := open(t, dir)
	if one.Lineage() != lineage || !strings.Contains(one.Restored(), path) {
		t.Errorf("with one damaged file the lineage is %q of %q, restored: %q", one.Lineage(), lineage, one.Restored())
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	damage(path)
	damage(path + ".copy")
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "remove "+path+" and "+path+".copy") {
		t.Errorf("with both files damaged: %v", err)
	}
	both, err := OpenWith(dir, Options{Lineage: func(string) string { return lineage }})
	if err != nil || both.Lineage() != lineage {
		t.Fatalf("with both files damaged and a living supervisor: %v", err)
	}
	_ = both.Close()
	if again := open(t, dir); again.Lineage() != lineage {
		t.Errorf("the restored lineage is not kept: %q of %q", again.Lineage(), lineage)
	}
}

// A second process that uses a folder is refused in one line with the remedy.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	_, err := Open(dir)
	if err == nil || !strings.Contains(err.Error(), "--data-dir") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the second one: %v", err)
	}
	lineage := j.Lineage()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if again := open(t, dir); again.Lineage() != lineage || len(lineage) != 32 {
		t.Errorf("lineage %q, then %q", lineage, again.Lineage())
	}
	if other := open(t, t.TempDir()); other.Lineage() == lineage {
		t.Error("two folders have one lineage")
	}
}

// A data folder that others could enter is closed to them, and so are the folders in it.
func TestOpenClosesTheFolder(t *testing.T) {
	dir := t.TempDir()
	ended := filepath.Join(dir, endedDir)
	if err := os.Mkdir(ended, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, ended} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	j := open(t, dir)
	if closed := j.Closed(); closed != dir+" (-rwxr-xr-x), "+ended+" (-rwxr-xr-x)" {
		t.Errorf("closed %q", closed)
	}
	for _, path := range []string{dir, ended, filepath.Join(dir, attemptsDir)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

func TestUnusableFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := fill(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file as folder: %v", err)
	}
}

// A name is given once, wherever its folder has gone meanwhile, and also over a
// restart; what broke off before it had a name leaves no trace.
func TestCreateOnce(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	r := model.RankKey{Job: 17, N: 1}
	name := Name(model.Incarnation{1}, r)
	broken := errors.New("broken")
	if _, err := j.Create(name, func(string) error { return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	path, err := j.Create(name, fill)
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := j.Find(r); found != path || !ok {
		t.Errorf("found %q", found)
	}
	again := func(j *Journal, when string) {
		t.Helper()
		if _, err := j.Create(name, fill); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", when, err)
		}
	}
	again(j, "at once")
	if err := j.Confirm(name); err != nil {
		t.Fatal(err)
	}
	again(j, "after its end")
	if list, err := j.Open(); len(list) != 0 || err != nil {
		t.Errorf("open: %v, %v", list, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "attempts", ".new-x"), 0o700); err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	j = open(t, dir)
	again(j, "after a restart")
	if found, ok := j.Find(r); !ok || filepath.Base(filepath.Dir(found)) != "ended" {
		t.Errorf("found %q", found)
	}
	if list, err := os.ReadDir(filepath.Join(dir, "attempts")); len(list) != 0 || err != nil {
		t.Errorf("left: %v, %v", list, err)
	}
}

// Even a process that does not know of a folder does not make it again.
func TestCreateOverAFolder(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	name := Name(model.Incarnation{1}, model.RankKey{Job: 1, N: 1})
	if _, err := j.Create(name, fill); err != nil {
		t.Fatal(err)
	}
	j.forget(name)
	if _, err := j.Create(name, fill); err == nil {
		t.Error("it was made twice")
	}
}

// Old ends go, but never the newest hundred.
func TestPrune(t *testing.T) {
	j := open(t, t.TempDir())
	var names []string
	for i := range keepLeast + 5 {
		name := Name(model.Incarnation{1}, model.RankKey{Job: model.JobID(i + 1), N: 1})
		if _, err := j.Create(name, fill); err != nil {
			t.Fatal(err)
		}
		if err := j.Confirm(name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if gone, err := j.Prune(time.Now()); len(gone) != 0 || err != nil {
		t.Fatal(gone, err)
	}
	gone, err := j.Prune(time.Now().Add(keepFor + time.Hour))
	if err != nil || len(gone) != 5 || gone[0] != names[0] {
		t.Fatal(gone, err)
	}
	if _, ok := j.Path(names[0]); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := j.Path(names[5]); !ok || len(j.Ended(1000)) != keepLeast {
		t.Error("too much is gone")
	}
}
