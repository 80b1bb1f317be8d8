package process

import (
	"bytes"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// maxPath bounds a path that is sent over a link, in bytes.
const maxPath = 4096

// link is the connection on which a supervisor, once it has nothing left to do, takes further ranks from the
// agent that started it: a new process for each would cost more than many jobs do. Messages are the path of a
// folder in one direction and, in the other, the notice that its rank is done. When the agent ends, so does
// the link, and a supervisor without a rank ends with it.
type link struct{ file *os.File }

// newLink returns both ends. The second is for the supervisor.
func newLink() (mine *link, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(pair[0]), unix.Close(pair[1]))
	}
	return &link{os.NewFile(uintptr(pair[0]), "link")}, os.NewFile(uintptr(pair[1]), "link"), nil
}

// openLink returns the supervisor's end; nil if the supervisor was started without one.
func openLink(file *os.File) *link {
	kind, err := unix.GetsockoptInt(int(file.Fd()), unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_SEQPACKET {
		return nil
	}
	return &link{file}
}

// next reports that a rank is done and waits for the path of the next one's folder; empty: there is none.
func (l *link) next() string {
	if _, err := l.file.Write([]byte("done")); err != nil {
		return ""
	}
	path := make([]byte, maxPath)
	n, err := l.file.Read(path)
	if err != nil || bytes.IndexByte(path[:n], 0) >= 0 {
		return ""
	}
	return string(path[:n])
}

// give hands a rank over.
func (l *link) give(path string) error {
	if len(path) >= maxPath {
		return unix.ENAMETOOLONG
	}
	_, err := l.file.Write([]byte(path))
	return err
}

// done waits until the supervisor has nothing left to do; false: the link has ended.
func (l *link) done() bool {
	n, err := l.file.Read(make([]byte, maxPath))
	return err == nil && n > 0
}

func (l *link) close() { _ = l.file.Close() }
