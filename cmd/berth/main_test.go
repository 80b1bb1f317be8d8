package main

import (
	"bufio"
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

	"github.com/berth-gpu/berth/cmd/internal/cli"
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
	args := append(append([]string{"build"}, buildFlags()...), "-o", filepath.Join(dir, "berth"), ".")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building berth: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv("BERTH_TEST_PROGRAM", filepath.Join(dir, "berth")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// child is a running berth and the lines that it has written to standard error.
type child struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	lines  []string
	more   chan struct{} // closed and replaced with each line
	exited chan struct{}
}

// spawn starts berth; it is killed at the end of the test at the latest.
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

// install copies the program to a folder bin below a new folder, and returns both.
func install(t *testing.T) (folder, berth string) {
	t.Helper()
	text, err := os.ReadFile(os.Getenv("BERTH_TEST_PROGRAM"))
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	berth = filepath.Join(folder, "bin", "berth")
	write(t, berth, string(text))
	return folder, berth
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// berthd is a program in place of berthd, which prints where it is, its arguments and the version of its caller, and ends
// with exit code 7.
const berthd = "#!/bin/sh\necho \"$0 [$*] $BERTH_CALLER $OTHER\"\nexit 7\n"

// berth becomes the first berthd of its places, with its arguments, its environment and its version.
func TestBerthBecomesBerthd(t *testing.T) {
	t.Parallel()
	said, err := exec.Command(os.Getenv("BERTH_TEST_PROGRAM"), "version").Output() //nolint:gosec // the binary that this test built
	if err != nil || len(strings.Fields(string(said))) < 2 {
		t.Fatalf("%q: %v", said, err)
	}
	version := strings.Fields(string(said))[1]
	for _, place := range []string{"bin/berthd", "libexec/berth/berthd", "lib/berth/berthd", "elsewhere/berthd"} {
		folder, berth := install(t)
		path := filepath.Join(folder, place)
		write(t, path, berthd)
		link := filepath.Join(folder, "links", "berth")
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(berth, link); err != nil {
			t.Fatal(err)
		}
		for _, program := range []string{berth, link} {
			cmd := exec.Command(program, "server", "--http", "a b", "-x")
			cmd.Env = []string{"PATH=relative::" + filepath.Join(folder, "elsewhere"), "OTHER=here"}
			out, _ := cmd.CombinedOutput()
			want := path + " [server --http a b -x] " + version + " here\n"
			if string(out) != want || cmd.ProcessState.ExitCode() != 7 {
				t.Errorf("%s, %s: exit code %d, %q, want %q", place, program, cmd.ProcessState.ExitCode(), out, want)
			}
		}
	}
}

// Without berthd, its commands end with the places and the remedy; all others work.
func TestWithoutBerthd(t *testing.T) {
	t.Parallel()
	folder, berth := install(t)
	if err := os.WriteFile(filepath.Join(folder, "bin", "berthd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, int) {
		cmd := exec.Command(berth, args...)
		cmd.Env = []string{"PATH=relative:/none"}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := run("dev", "--peers", "1")
	for _, says := range []string{
		"berth: the program berthd, which carries out this command, is not installed: looked for " + folder + "/bin/berthd (a file without the right to be executed), ",
		folder + "/libexec/berth/berthd, ", folder + "/lib/berth/berthd, ", "/none/berthd; install berthd of version ", " next to " + berth + "\n",
	} {
		if code != cli.ExitFailure || !strings.Contains(out, says) {
			t.Errorf("exit code %d, %s\nwant %s", code, out, says)
		}
	}
	if strings.Contains(out, "relative") {
		t.Errorf("a relative folder of PATH is a place: %s", out)
	}
	if out, code := run("--help"); code != 0 || !strings.Contains(out, "Run one peer of a cluster") {
		t.Errorf("exit code %d, %s", code, out)
	}
}
