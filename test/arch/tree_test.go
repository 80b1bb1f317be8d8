package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestList checks which files the laws look at, with git and without.
func TestList(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.go", "gone.go", "bin/berth", ".hidden/x", ".ci/run", "test/b.go"} {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := list(root)
	if want := []string{".ci/run", "a.go", "bin/berth", "gone.go", "test/b.go"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("without git: %v, %v, want %v", got, err, want)
	}

	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte("/bin/\n/.hidden/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "a.go", "gone.go"}} {
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.Remove(filepath.Join(root, "gone.go")); err != nil {
		t.Fatal(err)
	}
	got, err = list(root)
	if want := []string{".ci/run", ".gitignore", "a.go", "test/b.go"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("with git: %v, %v, want %v", got, err, want)
	}
}
