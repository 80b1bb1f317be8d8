package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The terms of a module are those in the folders of the linked packages and above them, and each is listed once.
func TestLicences(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"LICENSE.txt", "NOTICE", "README.md", "license.go", "a/b/COPYING", "a/b/b.go", "other/LICENSE"} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := module{root: root, folders: []string{root, filepath.Join(root, "a", "b")}}
	files, err := m.licences()
	var names []string
	for _, file := range files {
		names = append(names, m.name(file))
	}
	if want := []string{"LICENSE.txt", "NOTICE", "a/b/COPYING"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the files are %q, want %q (%v)", names, want, err)
	}
	bare := module{path: "example.com/bare", root: filepath.Join(root, "a"), folders: []string{filepath.Join(root, "a")}}
	if files, err := bare.licences(); err == nil {
		t.Errorf("a module without a licence has %q", files)
	}
}
