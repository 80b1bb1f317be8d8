// Package systemd reports the state of a service to the service manager that started it, by the protocol of sd_notify(3).
package systemd

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// sendLimit bounds how long one message may wait for room in the manager's queue.
const sendLimit = 2 * time.Second

// variables returns the environment variables that a service manager sets for one process.
func variables() []string { return []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} }

// Manager is the service manager that started this process. The zero Manager stands for none, and takes every message.
type Manager struct {
	// Log receives messages that could not be sent, and the stacks of a program that does not answer, see [Manager.Follow].
	Log *slog.Logger

	socket   string        // path, or @ and an abstract name; empty: no manager waits for messages
	interval time.Duration // after which the manager ends a process without a sign of life; 0: never
	ready    atomic.Bool   // from Ready to Stopping
}

// FromEnvironment returns the manager that the environment names, and removes its variables: a child process must not report
// for this one. The error names a variable that is not valid.
func FromEnvironment() (*Manager, error) {
	m := &Manager{Log: slog.New(slog.DiscardHandler), socket: os.Getenv("NOTIFY_SOCKET")}
	interval, process := os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID")
	var err error
	for _, name := range variables() {
		err = errors.Join(err, os.Unsetenv(name))
	}
	if m.socket == "" {
		return m, err
	}
	if !strings.HasPrefix(m.socket, "/") && !strings.HasPrefix(m.socket, "@") {
		wrong := m.socket
		m.socket = ""
		return m, errors.Join(err, fmt.Errorf("NOTIFY_SOCKET is %q: the state of this process is reported to no service manager, since only a path and an abstract name (@NAME) can be used", wrong))
	}
	if interval == "" || process != "" && process != strconv.Itoa(os.Getpid()) {
		return m, err
	}
	us, wrong := strconv.ParseInt(interval, 10, 64)
	if wrong != nil || us <= 0 || us > int64(time.Hour/time.Microsecond)*24 {
		return m, errors.Join(err, fmt.Errorf("WATCHDOG_USEC is %q: no sign of life is sent, since it must be microseconds, from 1 to those of a day", interval))
	}
	m.interval = time.Duration(us) * time.Microsecond
	return m, err
}

// Ready reports that the service can be used.
func (m *Manager) Ready() {
	m.ready.Store(true)
	m.send("READY=1")
}

// Status reports in one line what the service does.
func (m *Manager) Status(line string) { m.send(statusOf(line)) }

// Reload runs the reading of new settings, and reports its begin and its end. Before Ready and after Stopping nothing is
// reported.
func (m *Manager) Reload(read func()) {
	if m.ready.Load() {
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // every Linux has it: the call cannot fail
		m.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", t.Nano()/1000))
	}
	read()
	if m.ready.Load() {
		m.send("READY=1")
	}
}

// Stopping reports that the service ends, and why; empty: because it was asked to.
func (m *Manager) Stopping(why string) {
	m.ready.Store(false)
	if why == "" {
		m.send("STOPPING=1")
		return
	}
	m.send("STOPPING=1\n" + statusOf(why))
}

// statusOf returns the message with a line of status.
func statusOf(line string) string { return "STATUS=" + strings.ReplaceAll(line, "\n", " ") }

// send sends one message. A service works without its manager, so that an error is logged only.
func (m *Manager) send(message string) {
	if m.socket == "" {
		return
	}
	if err := m.write(message); err != nil {
		m.Log.Warn("not_notified", "message", message, "socket", m.socket, "err", err, "why", "the service manager did not take a message about the state of this process")
	}
}

// write opens a connection for each message: the manager may have made another socket at the same path.
func (m *Manager) write(message string) error {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	_ = c.SetWriteDeadline(time.Now().Add(sendLimit)) // fails on a closed connection only
	_, err = c.Write([]byte(message))
	return errors.Join(err, c.Close())
}
