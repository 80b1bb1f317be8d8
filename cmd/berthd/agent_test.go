package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/test/childtest"
	"github.com/berth-gpu/berth/trust"
)

// agentOf is a command line of an agent whose peers are not there.
func agentOf(t *testing.T, more ...string) []string {
	t.Helper()
	return append([]string{
		"agent", "--node", "n1", "--data-dir", certify(t, filepath.Join(t.TempDir(), "a"), trust.RoleNode, "n1"), "--run-dir", t.TempDir(),
		"--peers", address(9), "--simulate-gpus", "2",
	}, more...)
}

// oneLineOf waits for a process's end and holds its exit code and its only line
// against what is expected.
func oneLineOf(t *testing.T, c *childtest.Child, code int, says string) {
	t.Helper()
	if got := c.Exit(t); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	if said := strings.Join(c.Lines(), "\n"); !strings.Contains(said, says) || strings.Count(said, "\n") > 0 {
		t.Errorf("it said %q, want one line with %q", said, says)
	}
}

func TestAgentCommandLines(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no folder":        {[]string{"agent", "--node", "n1", "--peers", address(9)}, cmdline.ExitUsage, "--data-dir"},
		"no name":          {[]string{"agent", "--data-dir", "x", "--peers", address(9)}, cmdline.ExitUsage, "--node"},
		"no peers":         {[]string{"agent", "--data-dir", "x", "--node", "n1"}, cmdline.ExitUsage, "--peers"},
		"a peer's host":    {agentOf(t, "--peers", "10.0.0.1"), cmdline.ExitUsage, "is not host:port"},
		"another's folder": {agentOf(t, "--node", "n2"), cmdline.ExitFailure, "is the folder of node \"n1\""},
		"no certificate":   {agentOf(t, "--data-dir", filepath.Join(t.TempDir(), "none")), cmdline.ExitUsage, "has no certificate"},
		"no address":       {agentOf(t, "--listen", "here"), cmdline.ExitUsage, "--listen"},
		"too many GPUs":    {agentOf(t, "--simulate-gpus", "65"), cmdline.ExitUsage, "--simulate-gpus"},
		"an unknown level": {agentOf(t, "--log-level", "loud"), cmdline.ExitUsage, "loud"},
		"no such source":   {agentOf(t, "--gpus", "amd"), cmdline.ExitUsage, "--gpus"},
		"no number":        {agentOf(t, "--gpus", "sim:0"), cmdline.ExitUsage, "--gpus sim:N"},
		"both sources":     {agentOf(t, "--gpus", "nvml"), cmdline.ExitUsage, "contradict"},
		"no class":         {agentOf(t, "--xid", "63=odd"), cmdline.ExitUsage, "--xid 63=odd"},
		"no temperature":   {agentOf(t, "--gpu-hot", "0"), cmdline.ExitUsage, "--gpu-hot"},
	} {
		t.Run(name, func(t *testing.T) { oneLineOf(t, childtest.Start(t, c.args...), c.code, c.says) })
	}
}

// A folder has one agent at a time, and is another's after it.
func TestAgentLocksItsFolder(t *testing.T) {
	args := agentOf(t)
	first := childtest.Start(t, args...)
	first.Line(t, "agent started")
	oneLineOf(t, childtest.Start(t, args...), cmdline.ExitFailure, "another agent uses this data folder")
	first.Signal(t, syscall.SIGTERM)
	if code := first.Exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	childtest.Start(t, args...).Line(t, "agent started")
}

func TestAgentCannotListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	oneLineOf(t, childtest.Start(t, agentOf(t, "--listen", l.Addr().String())...), cmdline.ExitFailure, "another process listens")
}

func TestAgentFolderIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	oneLineOf(t, childtest.Start(t, agentOf(t, "--data-dir", path)...), cmdline.ExitFailure, "cannot be used")
}

// An agent that may ask for it goes last when memory runs out.
func TestAgentIsSpared(t *testing.T) {
	const own = "/proc/self/oom_score_adj"
	before, err := os.ReadFile(own)
	if err != nil || os.WriteFile(own, []byte("-900"), 0) != nil {
		t.Skip("needs CAP_SYS_RESOURCE, which root has, to lower oom_score_adj")
	}
	if err := os.WriteFile(own, before, 0); err != nil {
		t.Fatal(err)
	}
	c := childtest.Start(t, agentOf(t)...)
	c.Line(t, "agent started")
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", c.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(data)); got != "-900" {
		t.Errorf("its score is %s", got)
	}
}

func TestAnAgentTakesNoLabelAway(t *testing.T) {
	if _, err := nodeLabels([]string{"zone-"}); cmdline.ExitCode(err) != cmdline.ExitUsage {
		t.Errorf("taken: %v", err)
	}
}
