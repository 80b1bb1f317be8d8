package node

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestDialOwned checks that only a socket of the folder's own account is connected to, whatever the account puts there.
func TestDialOwned(t *testing.T) {
	t.Parallel()
	folder, elsewhere := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(folder, "own"), filepath.Join(elsewhere, "other")} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
	}
	if err := errors.Join(os.Symlink(filepath.Join(elsewhere, "other"), filepath.Join(folder, "link")),
		os.WriteFile(filepath.Join(folder, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	conn, err := dialOwned(t.Context(), folder, "own")
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for _, name := range []string{"link", "file", "none"} {
		if conn, err := dialOwned(t.Context(), folder, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v", name, conn, err)
		}
	}
	if err := os.Symlink(folder, filepath.Join(elsewhere, "folder")); err != nil {
		t.Fatal(err)
	}
	if conn, err := dialOwned(t.Context(), filepath.Join(elsewhere, "folder"), "own"); err == nil {
		t.Errorf("a link in place of the folder: %v", conn)
	}
	if os.Getuid() != 0 {
		t.Skip("needs root, to give a socket to another account")
	}
	if err := os.Lchown(filepath.Join(folder, "own"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if conn, err := dialOwned(t.Context(), folder, "own"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket of another account: %v, %v", conn, err)
	}
}
