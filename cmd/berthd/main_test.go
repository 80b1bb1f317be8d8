package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	"github.com/berth-gpu/berth/trust"
)

// patience bounds each wait for a child process; a busy machine is slow.
const patience = time.Minute

// TestMain builds the program once, with the race detector if the tests are.
func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "berth-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := append(append([]string{"build"}, buildFlags()...), "-o", filepath.Join(dir, "berthd"), ".")
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "building berthd: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv("BERTH_TEST_PROGRAM", filepath.Join(dir, "berthd")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// address is a loopback address that no other test process uses: all of 127/8 is
// this machine.
func address(n int) string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d:7000", 64+n, pid>>8&0xff, pid&0xff)
}

// certify makes the certificate of the only member of a new cluster, in its data folder, and returns that folder.
func certify(t *testing.T, data string, role trust.Role, name string) string {
	t.Helper()
	m, err := trust.Found(trust.Member{Name: "first"}, time.Now())
	if err == nil {
		m, err = m.Certify(trust.Member{Role: role, Name: name}, time.Now())
	}
	if err == nil {
		err = errors.Join(os.MkdirAll(data, 0o700), trust.Save(filepath.Join(data, trust.Subfolder), m))
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// onePeer returns the data folder of a peer p1 of a new cluster.
func onePeer(t *testing.T) string {
	t.Helper()
	return certify(t, filepath.Join(t.TempDir(), "p1"), trust.RolePeer, "p1")
}

// certifyPeers makes the certificates of peers of one cluster, each in the folder of its name below dir. Those that
// have one keep it.
func certifyPeers(t *testing.T, dir string, ids ...string) {
	t.Helper()
	var all []devcluster.Member
	for _, id := range ids {
		all = append(all, devcluster.Member{Name: id, Role: devcluster.RoleServer})
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), devcluster.Certify(dir, all...)); err != nil {
		t.Fatal(err)
	}
}

// child is a running berthd and the lines that it has written to standard error.
type child struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	lines  []string
	more   chan struct{} // closed and replaced with each line
	exited chan struct{}
}

// spawn starts berthd; it is killed at the end of the test at the latest.
func spawn(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Getenv("BERTH_TEST_PROGRAM"), args...), more: make(chan struct{}), exited: make(chan struct{})} //nolint:gosec // the binary that this test built
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go c.read(stderr)
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.exited
		if t.Failed() {
			t.Logf("%v:\n%s", args, strings.Join(c.said(), "\n"))
		}
	})
	return c
}

func (c *child) read(from io.Reader) {
	in := bufio.NewScanner(from)
	for in.Scan() {
		c.mu.Lock()
		c.lines = append(c.lines, in.Text())
		close(c.more)
		c.more = make(chan struct{})
		c.mu.Unlock()
	}
	_ = c.cmd.Wait() // the exit code is read from the process state
	close(c.exited)
}

func (c *child) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lines...)
}

// line waits for a line with the text in it, or for one that is there already.
func (c *child) line(t *testing.T, text string) {
	t.Helper()
	limit := time.After(patience)
	for {
		c.mu.Lock()
		more, lines := c.more, c.lines
		c.mu.Unlock()
		for _, l := range lines {
			if strings.Contains(l, text) {
				return
			}
		}
		select {
		case <-more:
		case <-c.exited:
			t.Fatalf("the process ended without a line %q", text)
		case <-limit:
			t.Fatalf("no line %q in %s", text, patience)
		}
	}
}

// exit waits for the end of the process and returns its exit code.
func (c *child) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-c.exited:
	case <-time.After(patience):
		t.Fatalf("the process did not end in %s", patience)
	}
	return c.cmd.ProcessState.ExitCode()
}

func (c *child) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
