package process

import (
	"os"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/node/runner/isolate"
)

// spared is how reluctant the kernel is to end agents and supervisors when memory runs
// out: -1000 is never, 0 as any other. A job that takes all memory is to go first,
// and somebody has to be there to say so.
const spared = -900

// Spare has the kernel end this process late when memory runs out. Only who has
// CAP_SYS_RESOURCE may ask for that, as root does: others stay as they are.
func Spare() { own().spare() }

// exposed starts something that is not spared, nor can spare itself: this process is
// not either, for that moment. No signal is blocked in what is started, as one may be in
// whatever has started the agent. The thread must be the goroutine's own.
func exposed(start func() error) error {
	isolate.UnblockSignals()
	return own().expose(start)
}

// mercy is the file in which a process finds and sets how reluctant the kernel is.
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
	defer func() { _ = m.set(before) }() // who could go there before can again
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
