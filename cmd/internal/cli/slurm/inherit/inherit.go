// Package inherit is what a process passes on to a job that it submits, as to a child: the mask of file modes, and the soft limits of resources.
package inherit

import (
	"cmp"
	"fmt"
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

// Word is the argument by which berth starts a program with other limits than its own: the limits, the path and the arguments come after it.
const Word = "limits"

// resource is a limit that Slurm passes on.
type resource struct {
	name   string // in Slurm's words, in lower case
	number int    // of setrlimit(2)
	usual  []uint64
}

const (
	unlimited     = ^uint64(0)
	unlimitedWord = "unlimited"

	rss, nproc, memlock = 5, 6, 8
)

// resources returns all that Slurm passes on, with the values that Linux gives to every process: no user has chosen these.
func resources() []resource {
	none := []uint64{unlimited}
	return []resource{
		{"as", syscall.RLIMIT_AS, none},
		{"core", syscall.RLIMIT_CORE, []uint64{0}},
		{"cpu", syscall.RLIMIT_CPU, none},
		{"data", syscall.RLIMIT_DATA, none},
		{"fsize", syscall.RLIMIT_FSIZE, none},
		{"memlock", memlock, []uint64{64 << 10, 8 << 20}},
		{"nofile", syscall.RLIMIT_NOFILE, []uint64{1024}},
		{"nproc", nproc, nil},
		{"rss", rss, none},
		{"stack", syscall.RLIMIT_STACK, []uint64{8 << 20}},
	}
}

// Which selects limits.
type Which struct {
	All   bool     // also those that have the value which Linux gives to every process
	Names []string // only these; empty: all
}

// ParseWhich reads the value of --propagate: empty, ALL, NONE, or names that commas join, with or without RLIMIT_ ahead. none reports whether
// nothing is passed on.
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
		has, ok := soft(&r)
		if ok && (w.All || !r.isUsual(has)) {
			list = append(list, r.name+"="+write(has.Cur))
		}
	}
	return strings.Join(list, ",")
}

// isUsual reports whether no user has chosen a limit. That of processes follows from the memory of the host.
func (r *resource) isUsual(has syscall.Rlimit) bool {
	return slices.Contains(r.usual, has.Cur) || r.number == nproc && has.Cur == has.Max
}

// soft returns a limit as programs that this one starts have it. That of open files is raised in each program in Go, and only there.
func soft(r *resource) (has syscall.Rlimit, ok bool) {
	if syscall.Getrlimit(r.number, &has) != nil {
		return has, false
	}
	if r.number != syscall.RLIMIT_NOFILE {
		return has, true
	}
	out, err := exec.Command("/bin/sh", "-c", "ulimit -S -n").Output()
	if err != nil {
		return has, false
	}
	has.Cur, err = read(strings.TrimSpace(string(out)))
	return has, err == nil
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

// Parse reads what Limits has written.
func Parse(text string) (list []Limit, err error) {
	for word := range strings.SplitSeq(text, ",") {
		if word == "" {
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		i := slices.IndexFunc(resources(), func(r resource) bool { return r.name == name })
		n, failed := read(value)
		if err := cmp.Or(failed, unknown(i, name)); err != nil {
			return nil, fmt.Errorf("the limit %q: %w", word, err)
		}
		list = append(list, Limit{resources()[i].number, n})
	}
	return list, nil
}

func unknown(i int, name string) error {
	if i < 0 {
		return fmt.Errorf("there is no limit %q", name)
	}
	return nil
}

// Set gives this process soft limits, each at most its hard limit on this host, and returns those that had to be lower. The hard limits stay.
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

// Differ reports whether programs that this one starts have other limits than the given ones would set.
func Differ(list []Limit) bool {
	return slices.ContainsFunc(list, func(l Limit) bool {
		has, ok := soft(&resource{number: l.Number})
		return ok && has.Cur != min(l.Value, has.Max)
	})
}
