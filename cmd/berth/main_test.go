package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/test/childtest"
)

// TestMain builds the program once.
func TestMain(m *testing.M) { os.Exit(childtest.Main(m, "berth")) }

// install copies the program to a folder bin below a new folder, and returns both.
func install(t *testing.T) (folder, berth string) {
	t.Helper()
	text, err := os.ReadFile(childtest.Program())
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
	said, err := exec.Command(childtest.Program(), "version").Output()
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
		if code != cmdline.ExitFailure || !strings.Contains(out, says) {
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
