package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// start runs a program that waits.
func start(t *testing.T, env string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), env)
	return run(t, cmd)
}

// run runs a program until the test ends.
func run(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for began := time.Now(); ; runtime.Gosched() { // Start returns in the middle of the exec
		if _, known := Environ(cmd.Process.Pid); known {
			return cmd
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("its environment is not known")
		}
	}
}

func TestOfAChild(t *testing.T) {
	child := start(t, "MINE=own=value").Process.Pid
	s, ok := Look(child)
	if !ok || s.PID != child || s.Parent != os.Getpid() || s.Born == 0 {
		t.Errorf("%+v, %v", s, ok)
	}
	if !slices.Contains(slices.Collect(All()), child) {
		t.Error("it is not listed")
	}
	if env, _ := Environ(child); Variable(env, "MINE") != "own=value" {
		t.Errorf("its environment is %q", env)
	}
	if mine := User(os.Getpid()); User(child) != mine || mine == "" {
		t.Errorf("it is %q's, and this one is %q's", User(child), mine)
	}
	me := func(pid int) bool { return pid == os.Getpid() }
	if !Below(child, me) || !Below(os.Getpid(), me) || Below(1, me) {
		t.Error("wrong descendants")
	}
}

// A missing process has no data, and no call fails.
func TestOfNone(t *testing.T) {
	const none = 1<<30 + 7
	if env, known := Environ(none); len(env) > 0 || !known {
		t.Errorf("its environment is %q, known: %v", env, known)
	}
	if s, ok := Look(none); ok {
		t.Errorf("%+v", s)
	}
	if Name(none) != "" || User(none) != "" || Below(none, func(int) bool { return false }) {
		t.Error("something is known of it")
	}
}

// A program that goes on as itself again and again has its variable at any instant at
// which its environment is known.
func TestInTheMiddleOfAnExec(t *testing.T) {
	program := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "MINE=1")
	pid := run(t, cmd).Process.Pid
	for n := range 20_000 {
		if env, known := Environ(pid); known && Variable(env, "MINE") != "1" {
			t.Fatalf("look %d: its environment is said to be %q", n, env)
		}
	}
}

// A program without an environment is known to have none.
func TestNoEnvironment(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{}
	if env, _ := Environ(run(t, cmd).Process.Pid); len(env) > 0 {
		t.Errorf("its environment is %q", env)
	}
	line := func(size, code, begin, end int) string {
		return fmt.Sprintf("5 (a b) S 7 8 9 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 4242 %d 3 1 %d 1 1 1 1 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 1 1 1 1 %d %d 0",
			size, code, begin, end)
	}
	for stat, want := range map[string]placed{
		line(1000, 400, 70, 90): somewhere,
		line(1000, 400, 70, 70): nowhere,
		line(1000, 0, 70, 70):   unsettled,
		line(1000, 0, 0, 0):     unsettled,
		line(0, 0, 0, 0):        nowhere,
		"":                      nowhere,
	} {
		if got := laid([]byte(stat)); got != want {
			t.Errorf("%q: %d, want %d", stat, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	const rest = " S 7 8 9 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 4242 1000 3 18446744073709551615 1 1"
	for name, text := range map[string]string{"plain": "5 (sh)" + rest, "hostile": "5 (a) R 1 (\n) Z 2)" + rest} {
		s, ok := parse(5, []byte(text))
		if !ok || s.Parent != 7 || s.Group != 8 || s.Session != 9 || s.State != 'S' || s.Born != 4242 || s.CPU.Seconds() != 2 ||
			s.Resident != 3*uint64(os.Getpagesize()) {
			t.Errorf("%s: %+v, %v", name, s, ok)
		}
	}
	for _, text := range []string{"", "5", "5 (sh", "5 (sh)", "5 (sh) S 7", strings.Replace("5 (sh)"+rest, "4242", "x", 1), strings.Replace("5 (sh)"+rest, " 7 ", " -7 ", 1)} {
		if s, ok := parse(5, []byte(text)); ok {
			t.Errorf("%q: %+v", text, s)
		}
	}
}

func TestVariable(t *testing.T) {
	env := []byte("A=1\x00AB=2\x00A=3\x00odd\x00=4\x00")
	for name, want := range map[string]string{"A": "3", "AB": "2", "odd": "", "B": ""} {
		if got := Variable(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{"python3": "python3", "a\x1b[31mb": "a?[31mb", "\xff": "?", "größe": "größe"} {
		if got := printable(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := printable(strings.Repeat("ü", 100)); len(got) > 64 || !utf8.ValidString(got) {
		t.Errorf("long: %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("5 (sh) S 7 8 9 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 4242 1000 3 1 1 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, ok := parse(5, data); ok && s.PID != 5 {
			t.Errorf("%+v", s)
		}
	})
}
