package config

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Modes of a file that holds secrets.
const (
	readByOthers fs.FileMode = 0o077
	readByGroup  fs.FileMode = 0o040
)

// ReadPrivate reads a file that holds secrets. It refuses one that other users may read or write,
// or that belongs to one of them; pipes pass, because their mode has no meaning.
func ReadPrivate(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // a file that the operator names
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := private(f); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

// private returns why other users can access a file.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return Reader{uint32(os.Geteuid()), uint32(os.Getegid())}.Private(f.Name(), info)
}

// Reader is the account of a program: its user id and its main group.
type Reader struct{ UID, GID uint32 }

// Private returns why other users than the reader and root can access a file. The file may be root's and readable by the
// group of the reader, as one in /etc is for a program with an account of its own.
func (r Reader) Private(name string, info fs.FileInfo) error {
	st, known := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || !known {
		return nil
	}
	mode := info.Mode().Perm()
	lent := st.Uid == 0 && mode&^readByGroup&readByOthers == 0 && (r.UID != 0 && st.Gid == r.GID || r.UID == 0 && st.Gid != 0)
	switch {
	case mode&readByOthers != 0 && !lent && st.Uid == 0 && r.UID != 0:
		return fmt.Errorf("%[1]s holds secrets and is open to other users (mode %04[2]o): chown root:%[3]s %[1]s && chmod 640 %[1]s", name, mode, groupName(r.GID))
	case mode&readByOthers != 0 && !lent:
		return fmt.Errorf("%s holds secrets and is open to other users (mode %04o): chmod 600 %s", name, mode, name)
	case st.Uid != 0 && st.Uid != r.UID:
		return fmt.Errorf("%s holds secrets and belongs to user id %d, not to this user (%d) or root: chown it", name, st.Uid, r.UID)
	}
	return nil
}

// groupName returns the name of a group, or its number if it has none.
func groupName(gid uint32) string {
	number := strconv.FormatUint(uint64(gid), 10)
	if g, err := user.LookupGroupId(number); err == nil {
		return g.Name
	}
	return number
}

// privateFile returns an error if a file can be read or written by other users.
func privateFile(name string) error {
	f, err := os.Open(name) //nolint:gosec // the operator's own file
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the file was only read
	return private(f)
}
