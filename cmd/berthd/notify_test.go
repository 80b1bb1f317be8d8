package main

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/node"
	"github.com/berth-gpu/berth/test/childtest"
)

// manager is a service manager that receives messages.
type manager struct {
	socket *net.UnixConn
	dir    string
	got    []string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &manager{socket: l, dir: dir}
}

// start starts a program as the manager of services does.
func (m *manager) start(t *testing.T, args ...string) *childtest.Child {
	t.Helper()
	cmd := exec.Command(childtest.Program(), args...)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+m.socket.LocalAddr().String(), "WATCHDOG_USEC=400000")
	return childtest.StartCommand(t, cmd)
}

// wait waits for a message that the pattern matches, and returns those that came before.
func (m *manager) wait(t *testing.T, pattern string) (before []string) {
	t.Helper()
	is, buffer := regexp.MustCompile(pattern), make([]byte, 1<<16)
	if err := m.socket.SetReadDeadline(time.Now().Add(childtest.Patience)); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := m.socket.Read(buffer)
		if err != nil {
			t.Fatalf("no message %s after %q: %v", pattern, m.got, err)
		}
		text := string(buffer[:n])
		if m.got = append(m.got, text); is.MatchString(text) {
			return before
		}
		before = append(before, text)
	}
}

// A peer reports to the service manager that it is ready as soon as it listens, what it does, each reload, signs of life
// and its end.
func TestAPeerNotifies(t *testing.T) {
	t.Parallel()
	m, path := newManager(t), writeFile(t, "log: {level: info}\n")
	p := m.start(t, "server", "--config", path, "--data-dir", onePeer(t), "--id", "p1", "--listen", address(81), "--http", apiAddress(81),
		"--bootstrap", "p1="+address(81))
	m.wait(t, `^STATUS=opens /`)
	m.wait(t, `^READY=1$`)
	m.wait(t, `STATUS=leader, term \d+, 0 jobs$`)
	if _, err := dial(t, apiAddress(81)).Submit(t.Context(), &wire.Submit{Command: "true", User: "username"}, "one"); err != nil {
		t.Fatal(err)
	}
	m.wait(t, `STATUS=leader, term \d+, 1 job$`)
	m.wait(t, `^WATCHDOG=1$`)
	p.Signal(t, syscall.SIGHUP)
	m.wait(t, `^RELOADING=1\nMONOTONIC_USEC=\d+$`)
	m.wait(t, `^READY=1$`)
	p.Line(t, "the configuration was read again")
	p.Signal(t, syscall.SIGTERM)
	m.wait(t, `^STOPPING=1$`)
	if code := p.Exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A peer is ready without the other founders, and its line says for which it waits.
func TestAPeerIsReadyWithoutOthers(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	m.start(t, "server", "--data-dir", onePeer(t), "--id", "p1", "--listen", address(82), "--http", apiAddress(82),
		"--bootstrap", "p1="+address(82)+",p2="+address(83)+",p3="+address(84))
	m.wait(t, `^READY=1$`)
	m.wait(t, `STATUS=waits: .*no answer yet of p2, p3$`)
}

// An agent is ready without its peers, and reports that it is out of contact, signs of life, and its end.
func TestAnAgentNotifies(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	a := m.start(t, agentOf(t)...)
	m.wait(t, `^READY=1$`)
	m.wait(t, `STATUS=up, 0 ranks$`)
	m.wait(t, `^WATCHDOG=1$`)
	m.wait(t, `STATUS=out of contact since \d\d:\d\d:\d\d, 0 ranks$`)
	a.Signal(t, syscall.SIGTERM)
	m.wait(t, `^STOPPING=1$`)
	if code := a.Exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestStandings(t *testing.T) {
	t.Parallel()
	follows := peer.Status{Role: peer.RoleFollower, Term: 3, Leader: peer.Server{ID: "p1"}, Lag: peer.Lag{Known: true}}
	behind, before, alone := follows, follows, follows
	behind.Lag.Entries, before.Lag.Known, alone.Leader = 1200, false, peer.Server{}
	for want, st := range map[string]*peer.Status{
		"leader, term 3, 120 jobs":                 {Role: peer.RoleLeader, Term: 3},
		"waits: no answer yet of p2":               {Role: peer.RoleFollower, Waiting: "no answer yet of p2"},
		"follower of p1, term 3, 120 jobs":         &follows,
		"catching up with p1, 1200 entries behind": &behind,
		"catching up with p1":                      &before,
		"no leader is known, term 3":               &alone,
	} {
		if got := peerStanding(st, 120); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	at := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for want, s := range map[string]node.Standing{
		"up, 2 ranks":                            {Ranks: 2, Left: time.Minute},
		"out of contact since 11:59:00, 0 ranks": {Silent: time.Minute},
		"out of contact since 11:59:00, 1 rank, whose lease ends at 12:04:00":          {Ranks: 1, Silent: time.Minute, Left: 4 * time.Minute},
		"out of contact since 11:59:00, 2 ranks, whose lease is over":                  {Ranks: 2, Silent: time.Minute},
		"out of contact since 11:59:00, 2 ranks; no peer leads, so that they continue": {Ranks: 2, Silent: time.Minute, Leaderless: true},
	} {
		if got := standingOf(s, at); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Every line of a program with a log of JSON is an object, the reason of its end included.
func TestLinesOfJSON(t *testing.T) {
	t.Parallel()
	first := agentOf(t, "--log-format", "json")
	a := childtest.Start(t, first...)
	a.Line(t, `"msg":"agent started","node":"n1"`)
	second := childtest.Start(t, first...)
	if code := second.Exit(t); code != cmdline.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	lines := append(a.Lines(), second.Lines()...)
	for _, line := range lines {
		var v struct {
			Time  time.Time
			Level string
			Msg   string
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil || v.Time.IsZero() || v.Level == "" || v.Msg == "" {
			t.Errorf("%s: %v", line, err)
		}
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, "another agent uses this data folder") {
		t.Errorf("the last line is %s", last)
	}
}
