package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/node/runner"
)

// all returns the running processes.
func all() (out []proc.Stat) {
	for pid := range proc.All() {
		if s, ok := proc.Look(pid); ok && !s.Gone() {
			out = append(out, s)
		}
	}
	return out
}

// below returns the processes that descend from one of the roots.
func below(list []proc.Stat, roots map[int]bool) (out []proc.Stat) {
	for more := true; more; {
		more = false
		for _, e := range list {
			if roots[e.Parent] && !roots[e.PID] {
				roots[e.PID], more = true, true
				out = append(out, e)
			}
		}
	}
	return out
}

// marked reports whether a process has the rank's nonce in its environment; known is false while that is not
// known.
func marked(pid int, nonce string) (is, known bool) {
	env, known := proc.Environ(pid)
	return nonce != "" && bytes.Contains(env, []byte(runner.NonceVariable+"="+nonce)), known
}

// catches reports whether a process has a handler for a signal: others would die of it, or ignore it.
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

// BootID returns the kernel's boot id: random, and new with each boot.
func BootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data)), err
}
