// Package proc reads the kernel's data about processes under /proc: parents, use of resources, users and
// environments.
//
// A process may end, and another get its number, between any two calls. So nothing here is an error: a
// process that cannot be read counts as gone.
package proc

import (
	"bytes"
	"encoding/binary"
	"iter"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the kernel's unit of processor time: USER_HZ is 100 on every architecture that Linux has.
const tick = 10 * time.Millisecond

// maxDepth bounds a walk from child to parent: a process may get a new parent
// meanwhile.
const maxDepth = 1 << 12

// ID identifies a process, not only its number.
type ID struct {
	PID  int
	Born uint64 // start time, in clock ticks since the boot
}

// Stat is a process at an instant.
type Stat struct {
	ID
	Parent   int
	Group    int // process group
	Session  int
	State    byte          // as ps shows it: R, S, D, T, Z, ...
	CPU      time.Duration // used by all its threads
	Resident uint64        // memory, in bytes
}

// Gone reports whether the process has ended, and only waits to be reaped.
func (s Stat) Gone() bool { return s.State == 'Z' || s.State == 'X' }

// All yields the number of every process.
func All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for pid := range Listed() {
			if !yield(pid) {
				return
			}
		}
	}
}

// Listed yields the number of every process, and the inode of its folder: as long as both are the same, so is the process, while it may
// have gone on as another program.
func Listed() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		dir, err := openFile("/proc")
		if err != nil {
			return
		}
		defer dir.close()
		buf := make([]byte, 1<<13)
		for {
			n, err := syscall.ReadDirent(int(dir), buf)
			if err == syscall.EINTR {
				continue
			}
			if err != nil || n <= 0 { // what was read before an error counts
				return
			}
			for entry := buf[:n]; len(entry) >= direntName; entry = entry[min(int(binary.NativeEndian.Uint16(entry[16:])), len(entry)):] {
				if pid, is := number(entry[direntName:]); is && !yield(pid, binary.NativeEndian.Uint64(entry)) {
					return
				}
			}
		}
	}
}

// direntName is where an entry of getdents64(2) has its name, which NUL ends; the inode comes first, the length of the entry at 16.
const direntName = 19

// number reads the number that a NUL ends.
func number(text []byte) (n int, is bool) {
	for i, c := range text {
		switch {
		case c == 0:
			return n, i > 0
		case c < '0' || c > '9':
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return 0, false
}

// Look reads one process.
func Look(pid int) (Stat, bool) {
	data, ok := read(pid, "stat")
	if !ok {
		return Stat{}, false
	}
	return parse(pid, data)
}

// fields returns the fields of a stat line from the third on: those after the name, which may contain any
// character.
func fields(stat []byte) [][]byte {
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	return bytes.Fields(rest)
}

// parse reads a stat line.
func parse(pid int, data []byte) (Stat, bool) {
	f := fields(data)
	if len(f) < 22 {
		return Stat{}, false
	}
	fits := true
	number := func(i int) uint64 {
		n, err := strconv.ParseUint(string(f[i]), 10, 63)
		fits = fits && err == nil
		return n
	}
	s := Stat{
		ID: ID{PID: pid, Born: number(19)}, State: f[0][0],
		Parent: int(number(1)), Group: int(number(2)), Session: int(number(3)),
		CPU:      time.Duration(number(11)+number(12)) * tick,
		Resident: number(21) * uint64(os.Getpagesize()),
	}
	return s, fits
}

// Environ returns a process's environment as it was started with, "NAME=value" texts ended by NUL. It is
// empty for a process that has ended, for the kernel's own, and for one that this process may not read. In
// the middle of an exec the kernel shows none, though there may be one; then it is not known.
func Environ(pid int) (env []byte, known bool) {
	for range 2 {
		env, readable := environ(pid)
		if len(env) > 0 || !readable {
			return env, true
		}
		stat, _ := read(pid, "stat")
		if where := laid(stat); where != somewhere {
			return nil, where == nowhere
		}
	}
	return nil, false
}

// environ reads an environment with one call: between two the process may have gone on as another program,
// and the rest would be missing.
func environ(pid int) (env []byte, readable bool) {
	f, err := openFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil, false
	}
	defer f.close()
	for size := 1 << 12; ; size *= 4 {
		env = make([]byte, size)
		n, err := f.readAt(env, 0)
		if n < size {
			return env[:n], err == nil
		}
	}
}

// placed is where the kernel places an environment.
type placed uint8

const (
	nowhere   placed = iota // there is none
	unsettled               // not set yet
	somewhere
)

// laid reads from a stat line where the environment is: proc_pid_stat(5), fields 23 (the size of its memory),
// 26 (where its code begins: an exec sets that after the place of the environment), 50 and 51 (where the
// environment begins and ends).
func laid(stat []byte) placed {
	f := fields(stat)
	switch {
	case len(f) < 49 || string(f[20]) == "0":
		return nowhere // it has ended, or has no memory of its own, as the kernel's have none
	case string(f[23]) == "0":
		return unsettled
	case string(f[47]) == string(f[48]):
		return nowhere
	}
	return somewhere
}

// Variable returns the value of a variable in an environment; the last one counts, as in most programs. "":
// there is none.
func Variable(env []byte, name string) string {
	value := ""
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if key, v, ok := bytes.Cut(entry, []byte("=")); ok && string(key) == name {
			value = string(v)
		}
	}
	return value
}

// Name returns a process's own name, at most 64 bytes that print; "": unknown.
func Name(pid int) string {
	data, _ := read(pid, "comm")
	return printable(strings.TrimSuffix(string(data), "\n"))
}

// printable makes a text of unknown origin safe for a terminal.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return '?'
		}
		return r
	}, s)
	for i := range s {
		if i > 60 {
			return s[:i]
		}
	}
	return s
}

// User returns the account that a process runs as: its name, otherwise its number; "": unknown.
func User(pid int) string {
	data, _ := read(pid, "status")
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
			return account(f[1])
		}
	}
	return ""
}

func account(id string) string {
	if id == "0" {
		return "root"
	}
	if known, err := user.LookupId(id); err == nil {
		return printable(known.Username)
	}
	return id
}

// Below reports whether a process is one of the roots, or descends from one.
func Below(pid int, roots func(int) bool) bool {
	for range maxDepth {
		if roots(pid) {
			return true
		}
		s, ok := Look(pid)
		if !ok || s.Parent <= 0 {
			return false
		}
		pid = s.Parent
	}
	return false
}

// read returns a whole file of a process.
func read(pid int, file string) ([]byte, bool) {
	f, err := openFile("/proc/" + strconv.Itoa(pid) + "/" + file)
	if err != nil {
		return nil, false
	}
	defer f.close()
	data := make([]byte, 0, 1<<10)
	for {
		n, err := f.readAt(data[len(data):cap(data)], int64(len(data)))
		data = data[:len(data)+n]
		if n == 0 || err != nil {
			return data, err == nil
		}
		data = slices.Grow(data, 1)
	}
}

// file is an open file of the kernel's. An os.File asks the kernel six times more for each that is opened, to learn
// whether reads of it may wait; here none do.
type file int

func openFile(path string) (file, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return file(fd), err
		}
	}
}

func (f file) close() { _ = syscall.Close(int(f)) }

// readAt returns 0 at the end of the file.
func (f file) readAt(b []byte, at int64) (int, error) {
	for {
		n, err := syscall.Pread(int(f), b, at)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
