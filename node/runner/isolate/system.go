package isolate

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// system tells accounts of the system from those of persons.
type system struct {
	defs   string // settings of accounts, normally /etc/login.defs
	passwd string // the host's own accounts, normally /etc/passwd
}

func hostSystem() system { return system{defs: "/etc/login.defs", passwd: "/etc/passwd"} }

// firstUID is UID_MIN where login.defs does not set it, and noneUID is the account of what has no account.
const (
	firstUID = 1000
	noneUID  = 65534
)

// first returns the lowest number of a person's account.
func (s system) first() uint32 {
	data, _ := os.ReadFile(s.defs) // without the file the default holds
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "UID_MIN" {
			if n, err := strconv.ParseUint(f[1], 0, 32); err == nil && n > 0 {
				return uint32(n)
			}
		}
	}
	return firstUID
}

// why returns why an account is one of the system; empty: it is a person's. An account of the host's own file without a login is
// one of the system, whatever its number; accounts of a directory may have no shell on a GPU host and are persons' all the same.
func (s system) why(a *Account) string {
	if least := s.first(); a.UID < least {
		return "its uid " + strconv.FormatUint(uint64(a.UID), 10) + " is below UID_MIN, " + strconv.FormatUint(uint64(least), 10)
	}
	if a.UID == noneUID {
		return "its uid is that of processes without an account"
	}
	data, _ := os.ReadFile(s.passwd) // an account that is not there is one of a directory
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 7 || f[0] != a.Name {
			continue
		}
		if shell := filepath.Base(f[6]); shell == "nologin" || shell == "false" {
			return "it has no login (" + f[6] + ")"
		}
	}
	return ""
}

// Peers is how the peers of the cluster are found that run on this host. The zero value finds none.
type Peers struct {
	Account string   // of the unit of peers
	Folders []string // absolute paths of the data of the peer that this host's settings name
	Socket  string   // name of the socket in the data folder of a running peer
	Command []string // the names of the program, and then the command, of a running peer
}

// Folder is a folder of an owner.
type Folder struct {
	Path string
	UID  uint32
}

// folders returns the folders of the peers' data: those of the settings, and those in which a process listens on the socket of a peer.
func (p *Peers) folders() (out []Folder) {
	for _, dir := range p.Folders {
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil {
			out = append(out, Folder{dir, st.Uid})
		}
	}
	var socks []string
	data, _ := os.ReadFile("/proc/net/unix") // a kernel without such sockets has no such peer
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 8)
		path := strings.TrimSpace(f[len(f)-1])
		if p.Socket == "" || !filepath.IsAbs(path) || filepath.Base(path) != p.Socket {
			continue
		}
		socks = append(socks, path)
	}
	for i, st := range lookAt(socks, lookLimit) {
		if st != nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			out = append(out, Folder{filepath.Dir(socks[i]), st.Uid})
		}
	}
	return out
}

// lookLimit bounds a look at paths that any user of the host can name, some of which may be in a file system that hangs. What does
// not answer counts as gone: no job could read it either.
const lookLimit = 2 * time.Second

// lookAt returns what is at each of the paths; nil: nothing answers there within a limit.
func lookAt(paths []string, limit time.Duration) []*unix.Stat_t {
	type found struct {
		i  int
		st *unix.Stat_t
	}
	out, answers := make([]*unix.Stat_t, len(paths)), make(chan found, len(paths))
	for i, path := range paths {
		go func() {
			st := new(unix.Stat_t)
			if unix.Lstat(path, st) != nil {
				st = nil
			}
			answers <- found{i, st}
		}()
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for range paths {
		select {
		case f := <-answers:
			out[f.i] = f.st
		case <-timer.C:
			return out
		}
	}
	return out
}

// mostPeers bounds the folders of peers that a job's view covers.
const mostPeers = 64

// Covers returns the folders of peers on this host, which jobs do not see.
func (p *Peers) Covers() []Folder {
	all := p.folders()
	return all[:min(len(all), mostPeers)]
}

// runUnder reports whether a peer on this host runs under an account, or has its data there.
func (p *Peers) runUnder(a *Account) bool {
	if a.Name == p.Account && p.Account != "" {
		return true
	}
	for _, f := range p.folders() {
		if f.UID == a.UID {
			return true
		}
	}
	list, _ := os.ReadDir("/proc") // the host has /proc, or no rank can start
	for _, e := range list {
		var st unix.Stat_t
		dir := filepath.Join("/proc", e.Name())
		if _, err := strconv.Atoi(e.Name()); err != nil || unix.Stat(dir, &st) != nil || st.Uid != a.UID {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && p.is(line) { //nolint:gosec // of the kernel
			return true
		}
	}
	return false
}

// is reports whether a command line, as the kernel shows it, is that of a peer.
func (p *Peers) is(line []byte) bool {
	argv := bytes.Split(line, []byte{0})
	if len(argv) < 2 || len(p.Command) < 2 {
		return false
	}
	last := len(p.Command) - 1
	for _, name := range p.Command[:last] {
		if filepath.Base(string(argv[0])) == name && string(argv[1]) == p.Command[last] {
			return true
		}
	}
	return false
}

// cover hides a folder of a peer. The path may lead through folders that another user can change: it is followed without
// links, and covered only if the folder belongs to that user. A folder that cannot be opened gets no cover: it is gone, or
// a user has put a file system on the way that answers with an error, or not at all, and that must not keep the jobs of
// others from starting. Its mode keeps other accounts out anyway.
func (f Folder) cover() error {
	fd, found := f.open()
	if !found {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Uid != f.UID {
		return nil //nolint:nilerr // the same as if it could not be opened
	}
	return unix.Mount("tmpfs", "/proc/self/fd/"+strconv.Itoa(fd), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0711,size=4m")
}

// open opens the folder as a place to mount on.
func (f Folder) open() (fd int, found bool) {
	opened := make(chan int, 1)
	go func() {
		how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
		fd, err := unix.Openat2(unix.AT_FDCWD, f.Path, how)
		if err != nil {
			fd = -1
		}
		opened <- fd
	}()
	limit := time.NewTimer(lookLimit)
	defer limit.Stop()
	select {
	case fd = <-opened:
		return fd, fd >= 0
	case <-limit.C:
		return -1, false
	}
}
