package link

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/jobfile"
)

// inFolder calls use with a short path of a socket in a folder: the address of a socket has 107 bytes at most, so the way goes by an
// open file of the folder.
func inFolder(folder, name string, use func(path string) error) error {
	fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: folder, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	return use(filepath.Join("/proc/self/fd", strconv.Itoa(fd), name))
}

// ListenLocal listens at a socket in a folder, for processes of the own account only.
func ListenLocal(folder, name string) (*net.UnixListener, error) {
	var listener *net.UnixListener
	err := inFolder(folder, name, func(path string) error {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		var err error
		if listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
			return err
		}
		listener.SetUnlinkOnClose(false) // its path is valid for a moment only, and the folder goes with the attempt
		return os.Chmod(path, 0o600)
	})
	return listener, err
}

// DialLocal connects to the server of steps whose socket is in a folder.
func DialLocal(folder string) (*Conn, error) {
	var conn *net.UnixConn
	err := inFolder(folder, jobfile.Socket, func(path string) (err error) {
		conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	return Own(conn)
}

// Own returns a connection whose other side has the same account, or is root.
func Own(conn *net.UnixConn) (*Conn, error) {
	if err := CheckOwn(conn); err != nil {
		return nil, err
	}
	return New(conn), nil
}

// CheckOwn closes a connection whose other side has another account and is not root; then the error is not nil.
func CheckOwn(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		_ = conn.Close()
		return err
	}
	var cred *unix.Ucred
	var failure error
	if err := raw.Control(func(fd uintptr) { cred, failure = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		failure = err
	}
	if failure == nil && cred.Uid != 0 && int(cred.Uid) != os.Getuid() {
		failure = fmt.Errorf("a process of the account %d connected to a step of the account %d", cred.Uid, os.Getuid())
	}
	if failure != nil {
		_ = conn.Close()
	}
	return failure
}

// Pair returns the two ends of a connection inside of a process. They need no file numbers, of which there may be none. Send waits until
// the other end receives.
func Pair() (a, b *Conn) {
	one, other := net.Pipe()
	return New(one), New(other)
}
