package trust_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/trust"
)

// The socket for root takes the place of one that a killed process has left, is closed to other accounts, and says if its
// path is too long.
func TestLocalSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sock") //nolint:usetesting // the path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, trust.LocalSocket)
	left := must(net.Listen("unix", path))
	if u, is := left.(*net.UnixListener); is {
		u.SetUnlinkOnClose(false)
	}
	_ = left.Close()
	l := must(trust.ListenLocal(path))
	t.Cleanup(func() { _ = l.Close() })
	if info := must(os.Stat(path)); info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has the mode %v", info.Mode())
	}
	go func() {
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
		}
	}()
	conn := must(l.Accept())
	if _, is := conn.(*trust.LocalConn); !is {
		t.Errorf("the connection is a %T", conn)
	}
	_ = conn.Close()
	if _, err := trust.ListenLocal(filepath.Join(dir, strings.Repeat("x", 100), trust.LocalSocket)); err == nil ||
		!strings.Contains(err.Error(), "choose a shorter data folder") {
		t.Errorf("a long path: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.ListenLocal(filepath.Join(dir, "file")); err == nil {
		t.Error("a file was replaced by a socket")
	}
}
