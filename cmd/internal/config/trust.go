package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Modes of files that a program reads by default, without --config, which make a file unsafe.
const (
	writtenByOthers fs.FileMode = 0o022 // in the folder where the program starts
	writtenByAll    fs.FileMode = 0o002 // in the home of its user, where a group may have write permission
	readByOthers    fs.FileMode = 0o077
	readByGroup     fs.FileMode = 0o040
)

// maxLinks bounds the symbolic links on the way to a file.
const maxLinks = 40

// errAsRoot refuses the file of the working folder: a folder in which root starts a program may
// belong to any user.
var errAsRoot = fmt.Errorf("%s of the folder where the program starts is not read by root: name it with --config %s, or start in another folder",
	defaultFile, defaultFile)

// trusted returns an error if a user other than the one with the id uid, or root, could have
// written a file: by its owner or mode, or by those of a folder or a symbolic link on the
// way to it. A folder with the sticky bit, such as /tmp, does not count as writable.
func trusted(path string, uid uint32, others fs.FileMode) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for range maxLinks {
		next, err := trustedStep(path, uid, others)
		if err != nil || next == "" {
			return err
		}
		path = next
	}
	return fmt.Errorf("%s: more than %d symbolic links lead to it", path, maxLinks)
}

// trustedStep checks a path from the root folder on. At the first symbolic link it returns
// the path with that link replaced; empty: there was none.
func trustedStep(path string, uid uint32, others fs.FileMode) (next string, err error) {
	at := string(filepath.Separator)
	rest := strings.Split(strings.TrimPrefix(path, at), at)
	for i, name := range append([]string{""}, rest...) {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		if owner, known := ownerOf(info); known && owner != 0 && owner != uid {
			return "", fmt.Errorf("%s belongs to user id %d, not to this user (%d) or root: chown it", at, owner, uid)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(at)
			if err != nil {
				return "", err
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			return filepath.Join(append([]string{to}, rest[i:]...)...), nil
		}
		if info.Mode().Perm()&others != 0 && info.Mode()&fs.ModeSticky == 0 {
			return "", fmt.Errorf("%s can be written by other users (mode %04o): chmod go-w %s", at, info.Mode().Perm(), at)
		}
	}
	return "", nil
}

func ownerOf(info fs.FileInfo) (uid uint32, known bool) {
	st, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return 0, false
	}
	return st.Uid, true
}

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
	return Reader{uint32(os.Geteuid()), uint32(os.Getegid())}.Private(f.Name(), info) //nolint:gosec // ids of the kernel
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

// SecretAt returns where the file of settings holds a secret itself; empty: nowhere.
func (l *Loaded) SecretAt() string {
	for i := range l.table.rows {
		row := &l.table.rows[i]
		if at := l.origins[row.Name]; row.Secret && at.Layer == FromFile {
			return at.Where
		}
	}
	return ""
}

// readAll reads the file of settings. A file that is read by default must be trusted; one that
// holds secrets is checked once it is known to hold them.
func (l *Loaded) readAll(name string, unnamed, users bool) ([]byte, error) {
	text, err := os.ReadFile(name) //nolint:gosec // the operator's own file
	if err != nil {
		return nil, err
	}
	uid := l.source.account()
	switch {
	case unnamed && uid == 0:
		err = errAsRoot
	case unnamed:
		err = trusted(name, uid, writtenByOthers)
	case users:
		err = trusted(name, uid, writtenByAll)
	}
	if err != nil && !errors.Is(err, errAsRoot) {
		err = fmt.Errorf("%s is not trusted: %w", name, err)
	}
	return text, err
}

// secretly refuses a file that holds secrets and is open to others. A file that is only checked
// (see [Source]) may be open.
func (l *Loaded) secretly(name string, list []given) error {
	for _, g := range list {
		row := l.table.row(g.name)
		if row == nil || !row.Secret || l.source.Program == 0 {
			continue
		}
		if err := privateFile(name); err != nil {
			return fmt.Errorf("%s: %w", g.where, err)
		}
		return nil
	}
	return nil
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

// spare returns the error of the user's file that was not read, unless all settings have an address
// from elsewhere.
func (l *Loaded) spare() error {
	if l.skipped == nil {
		return nil
	}
	if l.origins["client.address"].Layer < FromEnvironment {
		return fmt.Errorf("%w; or name the cluster's peers with --address or BERTH_ADDRESS", l.skipped)
	}
	l.Notes = append(l.Notes, l.skipped.Error())
	return nil
}

// Skipped returns why the user's own file was not read although the program continued; nil: the
// file was read, or does not exist.
func (l *Loaded) Skipped() error { return l.skipped }
