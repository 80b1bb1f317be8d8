package systemd

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// listen returns the socket of a service manager at an address; empty: at a path.
func listen(t *testing.T, address string) *net.UnixConn {
	t.Helper()
	if address == "" {
		dir, err := os.MkdirTemp("", "sd") // the path of a socket is short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		address = filepath.Join(dir, "notify")
	}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// waiting returns the messages that wait in a socket.
func waiting(t *testing.T, l *net.UnixConn) (out []string) {
	t.Helper()
	raw, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 1<<16)
	err = raw.Read(func(fd uintptr) bool {
		for {
			n, _, err := unix.Recvfrom(int(fd), buffer, unix.MSG_DONTWAIT)
			if err != nil {
				return true
			}
			out = append(out, string(buffer[:n]))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// started returns the manager of an environment.
func started(t *testing.T, socket, interval, process string) (*Manager, error) {
	t.Helper()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", interval)
	t.Setenv("WATCHDOG_PID", process)
	return FromEnvironment()
}

// A service is started, reloaded and ended; the manager gets each step, at a path and at an abstract address.
func TestTheLifeOfAService(t *testing.T) {
	for _, address := range []string{"", "@berth-test-" + strconv.Itoa(os.Getpid())} {
		l := listen(t, address)
		m, err := started(t, l.LocalAddr().String(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		m.Reload(func() {}) // while it starts
		m.Status("opens\nfiles")
		m.Ready()
		read := false
		m.Reload(func() { read = true })
		m.Stopping("the disk is gone")
		m.Reload(func() {})
		got := strings.Join(waiting(t, l), "|")
		want := regexp.MustCompile(`^STATUS=opens files\|READY=1\|RELOADING=1\nMONOTONIC_USEC=[1-9]\d+\|READY=1\|STOPPING=1\nSTATUS=the disk is gone$`)
		if !read || !want.MatchString(got) {
			t.Errorf("%q: the messages are %q", address, got)
		}
	}
}

// The sign of life comes at half the interval of the watchdog, and a line of status when there is another one.
func TestSignsOfLife(t *testing.T) {
	l := listen(t, "")
	m, err := started(t, l.LocalAddr().String(), "30000000", strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var leads atomic.Bool
		stop := m.Follow(func() string {
			if leads.Load() {
				return "leader"
			}
			return "waits"
		})
		var got []string
		for second := range 46 {
			synctest.Wait()
			for _, message := range waiting(t, l) {
				got = append(got, strconv.Itoa(second)+" "+strings.ReplaceAll(message, "\n", " "))
			}
			if second == 21 {
				leads.Store(true)
			}
			time.Sleep(time.Second)
		}
		stop()
		if all := strings.Join(got, ", "); all != "0 WATCHDOG=1 STATUS=waits, 15 WATCHDOG=1, 25 STATUS=leader, 30 WATCHDOG=1, 45 WATCHDOG=1" {
			t.Errorf("the messages are %s", all)
		}
	})
}

// A program that does not answer sends no sign of life, logs its stacks once, and goes on when it answers.
func TestNoSignOfLife(t *testing.T) {
	l := listen(t, "")
	m, err := started(t, l.LocalAddr().String(), "30000000", "")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	m.Log = slog.New(slog.NewTextHandler(&log, nil))
	synctest.Test(t, func(t *testing.T) {
		free := make(chan string)
		stop := m.Follow(func() string { return <-free })
		time.Sleep(40 * time.Second)
		synctest.Wait()
		if got := waiting(t, l); len(got) != 0 {
			t.Errorf("sent without an answer: %q", got)
		}
		if text := log.String(); strings.Count(text, "not_alive for=") != 1 || !strings.Contains(text, "not_alive for=5s watchdog=30s") || !strings.Contains(text, "TestNoSignOfLife") {
			t.Errorf("the log is %s", text)
		}
		free <- "late"
		synctest.Wait()
		if got := waiting(t, l); strings.Join(got, "|") != "WATCHDOG=1\nSTATUS=late" {
			t.Errorf("after the answer: %q", got)
		}
		close(free)
		stop()
	})
}

// Children do not inherit what the manager has set for this process, and wrong values are named.
func TestVariables(t *testing.T) {
	for name, c := range map[string]struct {
		socket, interval, process, says string
		watched                         time.Duration
	}{
		"none":            {"", "30000000", "", "", 0},
		"another process": {"/x", "30000000", "1", "", 0},
		"this process":    {"/x", "30000000", strconv.Itoa(os.Getpid()), "", 30 * time.Second},
		"any process":     {"@x", "1000000", "", "", time.Second},
		"no number":       {"/x", "soon", "", `WATCHDOG_USEC is "soon"`, 0},
		"negative":        {"/x", "-5", "", `WATCHDOG_USEC is "-5"`, 0},
		"too long":        {"/x", "9223372036854775807", "", "WATCHDOG_USEC", 0},
		"a machine":       {"vsock:2:1234", "", "", `NOTIFY_SOCKET is "vsock:2:1234"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := started(t, c.socket, c.interval, c.process)
			if m.interval != c.watched || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("interval %s, want %s; %v", m.interval, c.watched, err)
			}
			out, err := exec.Command("env").Output()
			if err != nil || strings.Contains(string(out), "NOTIFY_SOCKET") || strings.Contains(string(out), "WATCHDOG_") {
				t.Errorf("a child inherits %s: %v", out, err)
			}
		})
	}
}

// A manager that is gone is logged, and does no harm; without one nothing is sent.
func TestAManagerThatIsGone(t *testing.T) {
	m, err := started(t, filepath.Join(t.TempDir(), "none"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	m.Log = slog.New(slog.NewTextHandler(&log, nil))
	m.Ready()
	if !strings.Contains(log.String(), "not_notified") || !strings.Contains(log.String(), "READY=1") {
		t.Errorf("the log is %q", log.String())
	}
	log.Reset()
	m.socket = ""
	m.Ready()
	m.Follow(func() string { return "up" })()
	if log.Len() > 0 {
		t.Errorf("without a manager: %s", log.String())
	}
}
