package jobfile

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/environ"
)

// TestReadWrite checks that a file is read as it was written, only its owner can read it, and a damaged one is refused.
func TestReadWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "slurm.json")
	f := &File{
		Job:   environ.Job{ID: 7, Nodes: []environ.Node{{Name: "a", Tasks: 2, Cores: 4, GPUs: []int{0, 1}}, {Name: "b", Tasks: 2, Cores: 4}}},
		Ranks: []Rank{{"10.0.0.1", 4000}, {"10.0.0.2", 4001}}, Command: []string{"/bin/sh", "script"}, Secret: "00",
	}
	owner := [2]int{os.Getuid(), os.Getgid()}
	if owner[0] == 0 {
		owner = [2]int{12345, 12346}
	}
	if err := f.Write(path, &owner); err != nil {
		t.Fatal(err)
	}
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil || stat.Mode != unix.S_IFREG|0o600 || [2]int{int(stat.Uid), int(stat.Gid)} != owner {
		t.Errorf("the file has the mode %o and the owner %d, %d, %v", stat.Mode, stat.Uid, stat.Gid, err)
	}
	if back, err := Read(path); err != nil || !reflect.DeepEqual(back, f) {
		t.Errorf("the file is read as %+v, %v", back, err)
	}
	if err := f.Write(path, nil); err == nil {
		t.Error("a file was overwritten")
	}
	for _, text := range []string{"", "{}", `{"job":{"Nodes":[{}]},"ranks":[{}],"rank":1,"command":["x"]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err := Read(path); err == nil {
			t.Errorf("%q was read as %+v", text, f)
		}
	}
}
