package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// entry is a process as /proc/PID/stat tells of it.
type entry struct {
	pid, parent, session int
	state                byte
	born                 uint64 // start time in clock ticks since the boot
}

// gone says that it runs no more, and waits only to be reaped.
func (e entry) gone() bool { return e.state == 'Z' || e.state == 'X' }

// look reads one process; false: there is none of that id.
func look(pid int) (entry, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") //nolint:gosec // of a process
	if err != nil {
		return entry{}, false
	}
	return parseStat(pid, data)
}

// parseStat reads what follows the name, which may hold anything.
func parseStat(pid int, data []byte) (entry, bool) {
	_, rest, found := bytes.Cut(data[max(0, bytes.LastIndexByte(data, ')')):], []byte(") "))
	fields := bytes.Fields(rest)
	if !found || len(fields) < 20 {
		return entry{}, false
	}
	e := entry{pid: pid, state: fields[0][0]}
	var errs [3]error
	e.parent, errs[0] = strconv.Atoi(string(fields[1]))
	e.session, errs[1] = strconv.Atoi(string(fields[3]))
	e.born, errs[2] = strconv.ParseUint(string(fields[19]), 10, 64)
	return e, errs == [3]error{}
}

// all lists the processes that run.
func all() (out []entry) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if e, ok := look(pid); ok && !e.gone() {
			out = append(out, e)
		}
	}
	return out
}

// below lists those of the processes that descend from one of the roots.
func below(list []entry, roots map[int]bool) (out []entry) {
	for more := true; more; {
		more = false
		for _, e := range list {
			if roots[e.parent] && !roots[e.pid] {
				roots[e.pid], more = true, true
				out = append(out, e)
			}
		}
	}
	return out
}

// marked says that a process has the rank's nonce in its environment.
func marked(pid int, nonce string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && nonce != "" && bytes.Contains(env, []byte(nonceName+"="+nonce))
}

// catches says that a process has a handler for a signal: others would die of it,
// or ignore it.
func catches(pid int, s unix.Signal) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if mask, is := strings.CutPrefix(line, "SigCgt:"); is {
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && bits&(1<<(uint(s)-1)) != 0
		}
	}
	return false
}

// BootID is the kernel's: random, and new with each boot.
func BootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data)), err
}
