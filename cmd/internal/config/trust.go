package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Modes of files that a program reads by default, without --config, which make a file unsafe.
const (
	writtenByOthers fs.FileMode = 0o022 // in the folder where the program starts
	writtenByAll    fs.FileMode = 0o002 // in the home of its user, where a group may have write permission
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
		reader := Own()
		if l.source.Program&(OfServer|OfAgent) != 0 {
			reader = OfMember()
		}
		if err := privateFile(name, reader); err != nil {
			return fmt.Errorf("%s: %w", g.where, err)
		}
		return nil
	}
	return nil
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
