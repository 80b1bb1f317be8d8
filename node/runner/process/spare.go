package process

import (
	"os"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/node/runner/isolate"
)

// spared is how reluctant the kernel is to kill agents and supervisors when memory runs out: -1000 is never,
// 0 is neutral. A job that takes all memory should be killed first, and its supervisor has to survive to
// report that.
const spared = -900

// Spare makes the kernel kill this process late when memory runs out. That takes CAP_SYS_RESOURCE, as root
// has: without it the process stays as it is.
func Spare() { own().spare() }

// exposed starts a process that is not spared and cannot spare itself: for that moment this process is not
// spared either. No signal is blocked in the new process, though one may be in the process that started the
// agent. The thread must be the goroutine's own.
func exposed(start func() error) error {
	isolate.UnblockSignals()
	return own().expose(start)
}

// mercy is the file in which a process reads and sets how reluctant the kernel is.
type mercy string

func own() mercy { return "/proc/self/oom_score_adj" }

func (m mercy) spare() {
	if now, err := m.get(); err == nil && now > spared {
		_ = m.set(spared)
	}
}

func (m mercy) expose(start func() error) error {
	before, err := m.get()
	if err != nil || before >= 0 || m.set(0) != nil {
		return start()
	}
	defer func() { _ = m.set(before) }() // a process that could go there before can again
	return start()
}

func (m mercy) get() (int, error) {
	data, err := os.ReadFile(string(m))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

func (m mercy) set(n int) error { return os.WriteFile(string(m), []byte(strconv.Itoa(n)), 0o600) }
