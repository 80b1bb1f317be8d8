// Package childtest builds a program for the program's own tests, and runs the program as a child process, for whose lines on
// standard error a test waits.
package childtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience bounds each wait for a child process; a busy machine is slow.
const Patience = time.Minute

// programVariable is the environment variable that names the program under test.
const programVariable = "BERTH_TEST_PROGRAM"

// Main builds the program in the present folder, with the race detector if the tests are, runs the tests, and returns their exit code.
// A test that runs its own program again has the program of the first one.
func Main(m *testing.M, name string) int {
	if Program() != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "berth-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, name)
	args := append(append([]string{"build"}, buildFlags()...), "-o", program, ".")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building %s: %v\n%s", name, err, out)
		return 1
	}
	if err := os.Setenv(programVariable, program); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Program returns the path of the program that Main has built.
func Program() string { return os.Getenv(programVariable) }

// Child is a running program and the lines that it has written to standard error.
type Child struct {
	Cmd *exec.Cmd

	mu     sync.Mutex
	lines  []string
	more   chan struct{} // closed and replaced with each line
	exited chan struct{}
}

// Start starts the program; it is killed at the end of the test at the latest.
func Start(t testing.TB, args ...string) *Child {
	t.Helper()
	return StartCommand(t, exec.Command(Program(), args...))
}

// StartCommand is Start of a command that was prepared.
func StartCommand(t testing.TB, cmd *exec.Cmd) *Child {
	t.Helper()
	c := &Child{Cmd: cmd, more: make(chan struct{}), exited: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go c.read(stderr)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-c.exited
		if t.Failed() {
			t.Logf("%v:\n%s", cmd.Args[1:], strings.Join(c.Lines(), "\n"))
		}
	})
	return c
}

func (c *Child) read(from io.Reader) {
	in := bufio.NewScanner(from)
	for in.Scan() {
		c.mu.Lock()
		c.lines = append(c.lines, in.Text())
		close(c.more)
		c.more = make(chan struct{})
		c.mu.Unlock()
	}
	_ = c.Cmd.Wait() // the exit code is read from the process state
	close(c.exited)
}

// Lines returns the lines so far.
func (c *Child) Lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// Line waits for a line with the text in it, or for one that is there already.
func (c *Child) Line(t testing.TB, text string) {
	t.Helper()
	limit := time.After(Patience)
	for {
		c.mu.Lock()
		more, lines := c.more, c.lines
		c.mu.Unlock()
		if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, text) }) {
			return
		}
		select {
		case <-more:
		case <-c.exited:
			t.Fatalf("the process ended without a line %q", text)
		case <-limit:
			t.Fatalf("no line %q in %s", text, Patience)
		}
	}
}

// Exit waits for the end of the process and returns its exit code.
func (c *Child) Exit(t testing.TB) int {
	t.Helper()
	select {
	case <-c.exited:
	case <-time.After(Patience):
		t.Fatalf("the process did not end in %s", Patience)
	}
	return c.Cmd.ProcessState.ExitCode()
}

// Signal sends a signal to the process.
func (c *Child) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := c.Cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
