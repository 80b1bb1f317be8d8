package private_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/files/private"
)

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func made(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFolder(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ before, was, after fs.FileMode }{
		{0o755, 0o755, 0o700}, {0o711, 0o711, 0o700}, {0o770, 0o770, 0o700}, {0o700, 0, 0o700}, {0o500, 0, 0o500},
	} {
		dir := made(t, v.before)
		if was, err := private.Folder(dir); was != v.was || err != nil || mode(t, dir) != v.after {
			t.Errorf("%o: was %o, is %o, %v; want %o and %o", v.before, was, mode(t, dir), err, v.was, v.after)
		}
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	if was, err := private.Folder(dir); was != 0 || err != nil || mode(t, dir) != 0o700 {
		t.Errorf("a new folder: was %o, is %o, %v", was, mode(t, dir), err)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ before, was, after fs.FileMode }{
		{0o755, 0o755, 0o711},
		{0o711, 0, 0o711},
		{0o777, 0o777, 0o711},
		{0o700, 0, 0o700},
	} {
		dir := made(t, v.before)
		if was, err := private.Limit(dir, 0o711); was != v.was || err != nil || mode(t, dir) != v.after {
			t.Errorf("%o: was %o, is %o, %v; want %o and %o", v.before, was, mode(t, dir), err, v.was, v.after)
		}
	}
}

// What belongs to others is refused; a link that is one's own leads to the folder.
func TestFoldersOfOthers(t *testing.T) {
	t.Parallel()
	dir := made(t, 0o755)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if was, err := private.Folder(link); was != 0o755 || err != nil || mode(t, dir) != 0o700 {
		t.Errorf("through a link: was %o, is %o, %v", was, mode(t, dir), err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := private.Folder(file); err == nil {
		t.Error("a file is taken for a folder")
	}
	const other = 12345
	if os.Lchown(link, other, other) != nil {
		t.Skip("needs root, to give a file to another user")
	}
	if _, err := private.Folder(link); err == nil || !strings.Contains(err.Error(), "is a link that belongs to user id 12345") {
		t.Errorf("a link of another user: %v", err)
	}
	if err := os.Chown(dir, other, other); err != nil {
		t.Fatal(err)
	}
	if _, err := private.Folder(dir); err == nil || !strings.Contains(err.Error(), "belongs to user id 12345, and this process runs as user id 0") {
		t.Errorf("a folder of another user: %v", err)
	}
}
