package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// install makes links for all programs, moves those to a former place of the program, and changes nothing the next time.
func TestInstall(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	for _, program := range []string{"/opt/1/berth", "/opt/1/berth", "/opt/2/berth"} {
		var out strings.Builder
		if err := install(&out, program, folder); err != nil || !strings.Contains(out.String(), program) {
			t.Fatalf("%s: %v, %s", program, err, out.String())
		}
		for _, name := range Names() {
			if target, err := os.Readlink(filepath.Join(folder, name)); err != nil || target != program {
				t.Errorf("%s leads to %q, %v; want %s", name, target, err, program)
			}
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != len(Names()) {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// A file that is no link to berth stays, and no link is made then.
func TestInstallKeepsFiles(t *testing.T) {
	t.Parallel()
	for what, place := range map[string]func(path string) error{
		"a file":          func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"a folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"another program": func(path string) error { return os.Symlink("/usr/bin/squeue.real", path) },
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "squeue")
		if err := place(path); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := install(&out, "/opt/berth", folder)
		if err == nil || !strings.Contains(err.Error(), path+" is no link to berth: remove it, or choose another folder") {
			t.Errorf("%s: %v", what, err)
		}
		if files, _ := os.ReadDir(folder); len(files) != 1 {
			t.Errorf("%s: %d files", what, len(files))
		}
	}
}

// Only Slurm's names are programs.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]bool{"squeue": true, "sinfo": true, "sacct": true, "scancel": true, "scontrol": true, "sacctmgr": true, "sshare": true, "berth": false, "": false, "queue": false} {
		if (Find(name) != nil) != found {
			t.Errorf("%q: %t", name, !found)
		}
	}
}
