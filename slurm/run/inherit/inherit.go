// Package inherit is what a process passes on to a job that it submits, as to a child: the mask of file modes, and the soft limits of
// resources.
package inherit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Umask returns the mask of file modes of this process.
func Umask() int {
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	return mask
}

// Octal returns a mask as shells and Slurm write it.
func Octal(mask int) string { return fmt.Sprintf("%04o", mask) }

// Word is the argument by which berth starts a program with other limits than its own: the limits, the path and the arguments come after
// it.
const Word = "limits"

// resource is a limit that Slurm passes on.
type resource struct {
	name   string // in Slurm's words, in lower case
	number int    // of setrlimit(2)
	usual  uint64 // the value that Linux gives to every process: no user has chosen it
	ofHost bool   // distributions give it other values, mostly by the memory of the host: no value shows that a user has chosen it
}

const (
	unlimited     = ^uint64(0)
	unlimitedWord = "unlimited"

	rss, nproc, memlock = 5, 6, 8
)

// resources returns all that Slurm passes on.
func resources() []resource {
	return []resource{
		{name: "as", number: syscall.RLIMIT_AS, usual: unlimited},
		{name: "core", number: syscall.RLIMIT_CORE},
		{name: "cpu", number: syscall.RLIMIT_CPU, usual: unlimited},
		{name: "data", number: syscall.RLIMIT_DATA, usual: unlimited},
		{name: "fsize", number: syscall.RLIMIT_FSIZE, usual: unlimited},
		{name: "memlock", number: memlock, ofHost: true}, // with less than a node has, memory cannot be registered for RDMA
		{name: "nofile", number: syscall.RLIMIT_NOFILE, usual: 1024},
		{name: "nproc", number: nproc, ofHost: true},
		{name: "rss", number: rss, usual: unlimited},
		{name: "stack", number: syscall.RLIMIT_STACK, usual: 8 << 20},
	}
}

// Which selects limits.
type Which struct {
	All   bool     // also those of which nothing shows that a user has chosen them
	Names []string // only these; empty: all
}

// ParseWhich reads the value of --propagate: empty, ALL, NONE, or names that commas join, with or without RLIMIT_ ahead. none reports
// whether nothing is passed on.
func ParseWhich(value string) (w Which, none bool, err error) {
	w.All = true
	for word := range strings.SplitSeq(value, ",") {
		name := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(word)), "rlimit_")
		switch {
		case name == "" || name == "all":
			return Which{All: true}, false, nil
		case name == "none":
			return Which{}, true, nil
		case !slices.ContainsFunc(resources(), func(r resource) bool { return r.name == name }):
			return w, false, fmt.Errorf("there is no limit %q: give ALL, NONE, or names of AS, CORE, CPU, DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS, STACK", word)
		}
		w.Names = append(w.Names, name)
	}
	return w, false, nil
}

// Limits returns soft limits of this process as NAME=BYTES, joined by commas.
func Limits(w Which) string {
	var list []string
	for _, r := range resources() {
		if len(w.Names) > 0 && !slices.Contains(w.Names, r.name) {
			continue
		}
		has, err := soft(&r)
		if err == nil && (w.All || !r.isUsual(has)) {
			list = append(list, r.name+"="+write(has.Cur))
		}
	}
	return strings.Join(list, ",")
}

// isUsual reports whether nothing shows that a user has chosen a limit.
func (r *resource) isUsual(has syscall.Rlimit) bool { return r.ofHost || has.Cur == r.usual }

// soft returns a limit as programs that this one starts have it. That of open files is raised in each program in Go, and only there.
func soft(r *resource) (has syscall.Rlimit, err error) {
	if err := syscall.Getrlimit(r.number, &has); err != nil || r.number != syscall.RLIMIT_NOFILE {
		return has, err
	}
	out, err := exec.Command("/bin/sh", "-c", "ulimit -S -n").Output()
	if err != nil {
		return has, err
	}
	has.Cur, err = read(strings.TrimSpace(string(out)))
	return has, err
}

func write(n uint64) string {
	if n == unlimited {
		return unlimitedWord
	}
	return strconv.FormatUint(n, 10)
}

func read(text string) (uint64, error) {
	if text == unlimitedWord {
		return unlimited, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// Limit is a soft limit.
type Limit struct {
	Number int // of setrlimit(2)
	Value  uint64
}

// Parse reads what Limits has written. The error names the first part that cannot be read; the others are read all the same.
func Parse(text string) (list []Limit, err error) {
	for word := range strings.SplitSeq(text, ",") {
		if word == "" {
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		i := slices.IndexFunc(resources(), func(r resource) bool { return r.name == name })
		n, failed := read(value)
		if failed = cmp.Or(unknown(i, name), failed); failed != nil {
			err = cmp.Or(err, fmt.Errorf("the limit %q: %w", word, failed))
			continue
		}
		list = append(list, Limit{resources()[i].number, n})
	}
	return list, err
}

func unknown(i int, name string) error {
	if i < 0 {
		return fmt.Errorf("there is no limit %q", name)
	}
	return nil
}

// Set gives this process soft limits, each at most its hard limit on this host, and returns those that had to be lower. The hard limits
// stay.
func Set(list []Limit) (lowered []Limit) {
	for _, l := range list {
		var has syscall.Rlimit
		if syscall.Getrlimit(l.Number, &has) != nil {
			continue
		}
		if l.Value > has.Max {
			lowered = append(lowered, l)
		}
		has.Cur = min(l.Value, has.Max)
		_ = syscall.Setrlimit(l.Number, &has) // at most the hard limit: always allowed
	}
	return lowered
}

// Differ reports whether programs that this one starts have other limits than the given ones would set. In an image without a shell that of
// open files is not known, and may differ.
func Differ(list []Limit) bool {
	return slices.ContainsFunc(list, func(l Limit) bool {
		has, err := soft(&resource{number: l.Number})
		return errors.Is(err, fs.ErrNotExist) || err == nil && has.Cur != min(l.Value, has.Max)
	})
}
