package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// LocalSocket is the name of the socket of a peer in its data folder, by which root administers the cluster.
const LocalSocket = "admin.sock"

// maxSocket bounds the path of a socket, in bytes (unix(7), sun_path).
const maxSocket = 107

// ListenLocal listens on a unix socket, which only this account and root may use. A socket that a former process left
// there is replaced.
func ListenLocal(path string) (net.Listener, error) {
	if len(path) > maxSocket {
		return nil, fmt.Errorf("the path %s has %d bytes, more than %d: choose a shorter data folder", path, len(path), maxSocket)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &localListener{l}, nil
}

// localListener accepts connections of root and of this process's own account.
type localListener struct{ net.Listener }

// Accept returns the next connection, which is a [LocalConn].
func (l *localListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := accountOf(conn); err == nil && (uid == 0 || uid == uint32(os.Geteuid())) {
			return &LocalConn{conn}, nil
		}
		_ = conn.Close() // of another account
	}
}

// LocalConn is a connection of root, or of the account of this process, on the same machine.
type LocalConn struct{ net.Conn }

// accountOf returns the account of the process at the other side of a unix socket (SO_PEERCRED, unix(7)).
func accountOf(conn net.Conn) (uid uint32, err error) {
	c, is := conn.(syscall.Conn)
	if !is {
		return 0, errors.New("not a socket")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	return cred.Uid, nil
}
