package devcluster

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Delays before a child that died starts again.
const (
	firstPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
	longLife   = 10 * time.Second // of a child whose next death counts as its first
)

// member is one child process, which may be restarted.
type member struct {
	Member

	args []string
	c    *Cluster

	mu      sync.Mutex
	cmd     *exec.Cmd // nil: it does not run
	stopped bool      // it must not be restarted
	fault   string    // its last line, if it ended by itself
	gone    chan struct{}
	pauses  time.Duration
}

// start starts the process and restarts it when it ends.
func (m *member) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = false
	return m.launch()
}

// launch starts the process. The lock is held.
func (m *member) launch() error {
	log, err := os.OpenFile(m.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(m.c.conf.Binary, m.args...) //nolint:gosec // this program itself
	cmd.Stdout, cmd.Stderr = log, log
	// A file with this machine's settings does not concern this cluster.
	cmd.Env = append(append(os.Environ(), "BERTH_CONFIG="+os.DevNull), m.c.conf.Env...)
	if err := m.c.spawn.start(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", m.Name, errors.Join(err, log.Close()))
	}
	m.cmd, m.gone, m.PID, m.fault = cmd, make(chan struct{}), cmd.Process.Pid, ""
	m.c.work.Go(func() { m.watch(cmd, log, m.gone, time.Now()) })
	return nil
}

// watch waits for the process's end, and starts the next one if that is configured.
func (m *member) watch(cmd *exec.Cmd, log *os.File, gone chan struct{}, began time.Time) {
	err := cmd.Wait()
	_ = log.Close()
	m.mu.Lock()
	m.cmd, m.PID = nil, 0
	back := m.c.conf.Restart && !m.stopped
	if code := cmd.ProcessState.ExitCode(); code > 0 && !m.stopped {
		m.fault = lastLine(m.Log)
	}
	if m.pauses = min(max(m.pauses*2, firstPause), mostPause); time.Since(began) > longLife {
		m.pauses = firstPause
	}
	pause := m.pauses
	m.mu.Unlock()
	close(gone)
	m.c.note()
	if !back {
		return
	}
	m.c.say("%s (pid %d) ended: %v; it comes back in %s", m.Name, cmd.Process.Pid, err, pause)
	select {
	case <-time.After(pause):
		m.again()
	case <-m.c.ending:
	}
}

// again starts the process once more, unless it was stopped meanwhile.
func (m *member) again() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped || m.cmd != nil {
		return
	}
	if err := m.launch(); err != nil {
		m.c.say("%s does not start: %v", m.Name, err)
		return
	}
	m.c.say("%s is back as pid %d", m.Name, m.PID)
	m.c.work.Go(m.c.note)
}

// signal sends a signal to the process, and returns a channel that is closed once the process has
// ended; nil if it does not run. last: it must not be restarted.
func (m *member) signal(sig syscall.Signal, last bool) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = m.stopped || last
	if m.cmd == nil {
		return nil
	}
	_ = m.cmd.Process.Signal(sig)
	return m.gone
}

func (m *member) info() (Member, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Member, m.fault
}

// lastLine returns the last line of a file of output.
func lastLine(path string) string {
	f, err := os.Open(path) //nolint:gosec // a log of ours
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	last := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			last = line
		}
	}
	return last
}
