package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// said is what a command printed and how it ended.
type said struct {
	out, err string
	code     int
}

// berth runs a command against the cluster, by way of a peer that does not exist
// and one that does.
func (c *cluster) berth(args ...string) said {
	c.t.Helper()
	cmd := exec.Command(program(), args...)
	cmd.Env = append(os.Environ(), "BERTH_ADDRESS=127.0.0.1:1,"+c.http)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	s := said{out: out.String(), err: errs.String()}
	if e, is := errors.AsType[*exec.ExitError](err); is {
		s.code = e.ExitCode()
	} else if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// ok runs a command that must succeed.
func (c *cluster) ok(args ...string) string {
	c.t.Helper()
	s := c.berth(args...)
	if s.code != 0 {
		c.t.Fatalf("berth %s: exit code %d\n%s%s", strings.Join(args, " "), s.code, s.out, s.err)
	}
	return s.out
}

// has insists on texts in an output.
func has(t *testing.T, out string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %q:\n%s", want, out)
		}
	}
}

// The commands as a user meets them, on one cluster.
func TestTheCommandLine(t *testing.T) {
	c := start(t, "--nodes", "1", "--gpus", "2")
	for name, try := range map[string]func(*testing.T, *cluster){
		"submit and follow": followAJob, "a script with options": submitAScript, "waiting": waitExplainCancel,
		"the fleet": showTheFleet, "exit codes": exitCodes, "run": runAJob, "run on cores": runOnCores, "control": controlJobs, "drain": drainAGPU,
		"a sweep and what waits for it": sweepAndWait,
	} {
		t.Run(name, func(t *testing.T) { try(t, c) })
	}
}

func followAJob(t *testing.T, c *cluster) {
	s := c.berth("submit", "-f", "-J", "hello", "--", "sh", "-c", `echo "gpus $CUDA_VISIBLE_DEVICES"; echo oops >&2; exit 3`)
	has(t, s.err, "Submitted job ", "oops\n")
	has(t, s.out, "gpus 0\n")
	if s.code != 3 {
		t.Errorf("exit code %d, want the job's 3: %s", s.code, s.err)
	}
	if s := c.berth("submit", "--wait", "--parsable", "--", "true"); s.code != 0 || len(strings.Fields(s.out)) != 1 {
		t.Errorf("exit code %d, said %q", s.code, s.out)
	}
}

func submitAScript(t *testing.T, c *cluster) {
	script := filepath.Join(t.TempDir(), "train.sh")
	text := "#!/bin/sh\n#BERTH --gpus 2 --priority high -J llama\n#SBATCH --gres=gpu:1\necho \"$# $1\"\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := c.berth("submit", "--wait", "-o", "json", script, "a b")
	var answer struct {
		JobID string `json:"job_id"`
	}
	if err := json.Unmarshal([]byte(s.out), &answer); err != nil || s.code != 0 {
		t.Fatalf("exit code %d, %v: %s%s", s.code, err, s.out, s.err)
	}
	has(t, c.ok("show", answer.JobID), "llama", "high", "completed", "Timeline", "Attempts")
	has(t, c.ok("logs", answer.JobID), "1 a b\n")
}

func waitExplainCancel(t *testing.T, c *cluster) {
	first := strings.TrimSpace(c.ok("submit", "--parsable", "-g", "2", "--", "sleep", "600"))
	c.running(first)
	second := strings.TrimSpace(c.ok("submit", "--parsable", "-g", "1", "-J", "waits", "--", "true"))
	has(t, c.ok("queue"), "ID", "waits", "running", "queued", "node1:0-1")
	has(t, c.ok("explain", second), "Blocked by", "job "+first)
	has(t, c.ok("queue", "-o", "yaml"), "queued:")
	has(t, c.ok("cancel", first, second), "Canceled 2 of 2 jobs")
	c.ended(first)
}

func showTheFleet(t *testing.T, c *cluster) {
	has(t, c.ok("nodes"), "node1", "up", "H100")
	has(t, c.ok("nodes", "--gpus"), "node1", "H100")
	has(t, c.ok("peers"), "leader", "follower", "p3")
	has(t, c.ok("version"), "berth ")
	has(t, c.ok("completion", "bash"), "berth")
}

func exitCodes(t *testing.T, c *cluster) {
	for _, x := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"show", "4711"}, 3, "4711"},
		{[]string{"submit"}, 2, "nothing to run"},
		{[]string{"queue", "-o", "xml"}, 2, "xml"},
		{[]string{"submit", "-g", "17", "--", "true"}, 1, "17"},
		{[]string{"submit", "-g", "9000", "--", "true"}, 1, "gpu"},
		{[]string{"queue", "--address", "127.0.0.1:1"}, 5, "127.0.0.1:1"},
	} {
		s := c.berth(x.args...)
		if s.code != x.code || !strings.Contains(s.err, x.says) || strings.Count(s.err, "\n") != 1 {
			t.Errorf("berth %s: exit code %d, want %d; said %q, want one line with %q", strings.Join(x.args, " "), s.code, x.code, s.err, x.says)
		}
	}
}
