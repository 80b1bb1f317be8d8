package raftstore

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

// helperEnv makes the test binary do one thing in a process of its own.
const helperEnv = "RAFTSTORE_TEST_HELPER"

func TestMain(m *testing.M) {
	switch what, dir, _ := strings.Cut(os.Getenv(helperEnv), " "); what {
	case "hold":
		helperHold(dir)
	case "bbolt":
		helperBolt(dir)
	default:
		goleak.VerifyTestMain(m)
	}
}

// helperHold opens a data folder and keeps it until its stdin ends.
func helperHold(dir string) {
	s, err := Open(small(dir))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = s.Close()
}

// helperBolt opens a file as raft-boltdb would, without our check before it.
func helperBolt(path string) {
	db, err := bbolt.Open(path, 0o600, boltOptions(0))
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(0)
	}
	fmt.Println("opened")
	_ = db.Close()
}

// helper returns the command that runs one of the helpers above.
func helper(t *testing.T, what, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:gosec // this very test binary
	cmd.Env = append(os.Environ(), helperEnv+"="+what+" "+path)
	return cmd
}

// holdInProcess has another process open dir until the test ends.
func holdInProcess(t *testing.T, dir string) {
	t.Helper()
	cmd := helper(t, "hold", dir)
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process could not hold %s: %s", dir, line)
	}
}

// small returns how the tests open a folder: without a 64 MiB ballast, on a disk
// that is always large enough.
func small(dir string) Options {
	return Options{Dir: dir, Ballast: -1, statfs: func(string) (Space, error) {
		return Space{Free: 10 << 30, Total: 20 << 30}, nil
	}}
}

func open(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	check(t, err)
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
