package process

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// trim releases those pages of the program that only its start needed: there is a supervisor for each rank,
// and most of the program is not for supervisors. Nothing is lost, since the pages are read-only and the
// file's: a touched page comes back. The memory of earlier ranks is released, too.
func trim() {
	debug.FreeOSMemory()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range clean(maps, exe) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED) // if it fails the pages stay
	}
}

// mapping is a part of the address space.
type mapping struct{ from, to uintptr }

// clean returns the read-only mappings of a file that hold nothing but the file's own pages, from a process's
// smaps: a header for each mapping, followed by its counts.
func clean(smaps []byte, path string) (out []mapping) {
	var m mapping
	candidate := false
	for line := range bytes.Lines(smaps) {
		f := strings.Fields(string(line))
		if len(f) == 0 {
			continue
		}
		if name, count := strings.CutSuffix(f[0], ":"); count {
			if candidate && name == "Anonymous" && len(f) > 1 && f[1] == "0" {
				out = append(out, m)
			}
			continue
		}
		m, candidate = parseMapping(f[0])
		candidate = candidate && len(f) == 6 && f[5] == path && f[1][0] == 'r' && f[1][1] == '-'
	}
	return out
}

func parseMapping(text string) (m mapping, ok bool) {
	low, high, _ := strings.Cut(text, "-")
	from, errFrom := strconv.ParseUint(low, 16, 64)
	to, errTo := strconv.ParseUint(high, 16, 64)
	return mapping{uintptr(from), uintptr(to)}, errFrom == nil && errTo == nil && from < to
}
