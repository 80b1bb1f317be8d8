package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

// The oldest folders lose their heavy parts first, keep what tells how their ranks
// ended, and are looked at once.
func TestSlim(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 5 {
		name := Name(model.Incarnation{1}, model.RankKey{Job: model.JobID(i + 1), N: 1})
		_, err := j.Create(name, func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "exit.json"), []byte("{}"), 0o600); err != nil {
				return err
			}
			if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "work", "data"), make([]byte, 1<<20), 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Confirm(name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	heavy := []string{"stdout", "work"}
	if gone, err := j.Slim(100<<20, heavy); len(gone) != 0 || err != nil {
		t.Errorf("with room for all %v lost something: %v", gone, err)
	}
	gone, err := j.Slim(3<<20, heavy)
	if err != nil || len(gone) != 3 || gone[0] != names[2] {
		t.Fatalf("%v lost something: %v", gone, err)
	}
	for i, name := range names {
		_, exit := os.Stat(filepath.Join(dir, "ended", name, "exit.json"))
		_, work := os.Stat(filepath.Join(dir, "ended", name, "work"))
		if exit != nil || (work == nil) != (i > 2) {
			t.Errorf("folder %d: exit.json %v, work %v", i, exit, work)
		}
	}
	if gone, err := j.Slim(3<<20, heavy); len(gone) != 0 || err != nil {
		t.Errorf("again %v: %v", gone, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// On a full disk the user whose folders take most loses theirs first, the oldest first; no other user loses any while that makes enough
// room.
func TestShed(t *testing.T) {
	t.Parallel()
	j, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	var names []string
	for i, user := range []string{"ann", "eve", "eve", "ann", "bob"} {
		name := Name(model.Incarnation{1}, model.RankKey{Job: model.JobID(i + 1), N: 1})
		_, err := j.Create(name, func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "user"), []byte(user), 0o600),
				os.WriteFile(filepath.Join(dir, "data"), make([]byte, map[string]int{"ann": 1, "eve": 2, "bob": 1}[user]<<20), 0o600))
		})
		if err := errors.Join(err, j.Confirm(name)); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	asked := 0
	user := func(dir string) string {
		asked++
		text, _ := os.ReadFile(filepath.Join(dir, "user"))
		return string(text)
	}
	left := 3
	gone, err := j.Shed([]string{"data"}, user, func() bool { left--; return left < 0 })
	if want := []string{names[1], names[2]}; err != nil || !slices.Equal(gone, want) {
		t.Errorf("%v lost something, should be %v: %v", gone, want, err)
	}
	gone, err = j.Shed([]string{"data"}, user, func() bool { return false })
	if want := []string{names[0], names[3], names[4]}; err != nil || !slices.Equal(gone, want) {
		t.Errorf("then %v lost something, should be %v: %v", gone, want, err)
	}
	if asked != len(names) {
		t.Errorf("%d users were asked for, of %d folders", asked, len(names))
	}
}
