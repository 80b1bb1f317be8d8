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

// AccountOfPeers is the account of the unit of peers.
const AccountOfPeers = "berth"

// ReadPrivate reads a file that holds secrets. It refuses one that other users may read or write,
// or that belongs to one of them; pipes pass, because their mode has no meaning.
func ReadPrivate(path string) ([]byte, error) { return Own().Read(path) }

// Reader is the account of a program: its user id, and the group to which root may lend files with secrets; 0: none.
type Reader struct{ UID, GID uint32 }

// Own returns the account of this process, to which root lends no file.
func Own() Reader { return Reader{UID: uint32(os.Geteuid())} }

// OfMember returns the account of this process as a peer or an agent. For root and for the account of peers, root may lend a file to
// the group of that account: /etc/berth/berth.yaml is one file for both programs.
func OfMember() Reader {
	r := Own()
	if uid, gid := LentTo(AccountOfPeers); r.UID == 0 || r.UID == uid {
		r.GID = gid
	}
	return r
}

// LentTo returns the user id of an account and the group to which root may lend files that the account reads: its main group, if that
// has the name of the account and is thus no group of several users; 0: none.
func LentTo(account string) (uid, gid uint32) {
	u, err := user.Lookup(account)
	if err != nil {
		return 0, 0
	}
	id, wrong := strconv.ParseUint(u.Uid, 10, 32)
	group, bad := strconv.ParseUint(u.Gid, 10, 32)
	if g, err := user.LookupGroupId(u.Gid); wrong != nil || bad != nil || err != nil || g.Name != account {
		return uint32(id), 0
	}
	return uint32(id), uint32(group)
}

// Read reads a file that holds secrets, which must be the reader's: see [Reader.Private].
func (r Reader) Read(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // a file that the operator names
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := r.check(f); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

// check returns why other users can access a file.
func (r Reader) check(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return r.Private(f.Name(), info)
}

// Private returns why other users than the reader and root can access a file. The file may be root's and readable by the
// group to which root may lend it, as one in /etc is for a program with an account of its own.
func (r Reader) Private(name string, info fs.FileInfo) error {
	st, known := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || !known {
		return nil
	}
	mode := info.Mode().Perm()
	lent := st.Uid == 0 && r.GID != 0 && st.Gid == r.GID && mode&^readByGroup&readByOthers == 0
	e := &Exposed{File: name, Remedy: r.Remedy(name, st.Uid)}
	switch {
	case mode&readByOthers != 0 && !lent:
		e.Why = fmt.Sprintf("holds secrets and is open to other users (mode %04o)", mode)
	case st.Uid != 0 && st.Uid != r.UID:
		e.Why = fmt.Sprintf("holds secrets and belongs to user id %d, not to user id %d or root", st.Uid, r.UID)
	default:
		return nil
	}
	return e
}

// Exposed is a file with secrets that others than its reader can access.
type Exposed struct{ File, Why, Remedy string }

// Error returns the file, what is wrong and what to do.
func (e *Exposed) Error() string { return e.File + " " + e.Why + ": " + e.Remedy }

// Remedy returns the command by which a file with secrets becomes the reader's.
func (r Reader) Remedy(name string, owner uint32) string {
	switch {
	case owner == r.UID && (r.UID != 0 || r.GID == 0):
		return "chmod 600 " + name
	case r.GID != 0:
		return fmt.Sprintf("chown root:%[2]s %[1]s && chmod 640 %[1]s", name, groupName(r.GID))
	}
	return fmt.Sprintf("chown %[2]s %[1]s && chmod 600 %[1]s", name, accountName(r.UID))
}

// accountName returns the name of an account, or its number if it has none.
func accountName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}

// groupName returns the name of a group, or its number if it has none.
func groupName(gid uint32) string {
	number := strconv.FormatUint(uint64(gid), 10)
	if g, err := user.LookupGroupId(number); err == nil {
		return g.Name
	}
	return number
}

// privateFile returns an error if a file can be read or written by others than its reader.
func privateFile(name string, r Reader) error {
	f, err := os.Open(name) //nolint:gosec // the operator's own file
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the file was only read
	return r.check(f)
}
