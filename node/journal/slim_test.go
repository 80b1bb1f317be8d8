package journal

import (
	"os"
	"path/filepath"
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
