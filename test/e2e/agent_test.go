package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// supervisors lists the processes that look after ranks of this cluster.
func supervisors(c *cluster) (out []int) {
	for _, pid := range allProcesses(c.t) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		words := bytes.Split(line, []byte{0})
		if err == nil && len(words) > 2 && string(words[1]) == "supervise" && strings.HasPrefix(string(words[2]), c.dir+"/") {
			out = append(out, pid)
		}
	}
	return out
}

// processesOf lists the processes of jobs that write to a file of marks.
func processesOf(t *testing.T, marks string) (out []int) {
	t.Helper()
	for _, pid := range allProcesses(t) {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(env, []byte("MARKS="+marks+"\x00")) {
			out = append(out, pid)
		}
	}
	return out
}

func allProcesses(t *testing.T) (out []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// The agent is killed while a job runs: the job goes on, and the true end of it is
// told by the agent that comes back.
func TestAnAgentDiesUnderARunningJob(t *testing.T) {
	c := start(t, "--nodes", "1", "--gpus", "2")
	marks := marksFile(t)
	id := c.submit(marked(marks, "3", 42))
	c.running(id)
	for _, pid := range supervisors(c) {
		if path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); path != program()+"-supervisor" || err != nil {
			t.Errorf("a supervisor is %s, not the program made for that: %v", path, err)
		}
	}
	c.kill("node1")
	d := c.ended(id)
	if d.State != "failed" || d.ExitCode == nil || *d.ExitCode != 42 || d.Attempts != 1 {
		t.Errorf("job is %s after %d attempts with exit code %v, want failed after one with 42", d.State, d.Attempts, d.ExitCode)
	}
	mustRunOnce(t, readMarks(t, marks), id)
}

// The agent is down when the job ends: the end waits on the disk for it.
func TestAJobEndsWhileItsAgentIsDown(t *testing.T) {
	c := start(t, "--nodes", "1", "--gpus", "2", "--restart=false")
	marks := marksFile(t)
	id := c.submit(marked(marks, "1", 7))
	c.running(id)
	c.shoot("node1")
	c.until("the job's processes are gone", func() bool { return len(supervisors(c)) == 0 })
	if d := c.job(id); !d.EndedAt.IsZero() {
		t.Fatalf("job ended as %s before its agent could say so", d.State)
	}
	resume(c, "node1", 2)
	d := c.ended(id)
	if d.State != "failed" || d.ExitCode == nil || *d.ExitCode != 7 {
		t.Errorf("job is %s with exit code %v, want failed with 7", d.State, d.ExitCode)
	}
	mustRunOnce(t, readMarks(t, marks), id)
}

// resume starts an agent by its own command line, as a service manager would.
func resume(c *cluster, name string, gpus int) {
	c.t.Helper()
	m := c.member(name)
	spawn(c, "agent", "--node", name, "--shared-account", "--data-dir", filepath.Join(c.dir, name), "--listen", m.Address,
		"--peers", strings.Join(c.addresses(), ","), "--simulate-gpus", strconv.Itoa(gpus))
}

// The supervisor is killed: nothing of the job is left running, the attempt ends,
// and the next one runs only then.
func TestASupervisorDies(t *testing.T) {
	for _, also := range []string{"", "node1"} {
		t.Run("with "+also, func(t *testing.T) {
			c := start(t, "--nodes", "1", "--gpus", "2")
			marks := marksFile(t)
			job := marked(marks, "600", 0)
			job.OnLost = "fail"
			id := c.submit(job)
			c.running(id)
			c.until("the job has begun", func() bool { return len(processesOf(t, marks)) > 0 })
			for _, pid := range supervisors(c) {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			if also != "" {
				c.kill(also)
			}
			d := c.ended(id)
			if d.State != "failed" || d.Attempts != 1 {
				t.Errorf("job is %s after %d attempts, want failed after one", d.State, d.Attempts)
			}
			if left := processesOf(t, marks); len(left) > 0 {
				t.Errorf("processes %v of the job are left", left)
			}
			next := c.submit(marked(marks, "0.1", 0))
			if d := c.ended(next); d.State != "completed" {
				t.Errorf("the next job is %s: %s", d.State, d.Reason)
			}
		})
	}
}

// A job that ignores the stop signal is killed after its grace, with all that it
// has started, and its GPU serves the next.
func TestCancelLeavesNoOrphan(t *testing.T) {
	c := start(t, "--nodes", "1", "--gpus", "1")
	marks := marksFile(t)
	job := marked(marks, "0", 0)
	job.Command = `trap '' TERM; (setsid sh -c "trap '' TERM; sleep 600" &) ; while :; do sleep 1; done`
	second := wireSeconds(1)
	job.Grace = &second
	id := c.submit(job)
	c.running(id)
	c.until("its processes are there", func() bool { return len(processesOf(t, marks)) >= 3 })
	if _, err := c.api.Cancel(t.Context(), id, "", "enough"); err != nil {
		t.Fatal(err)
	}
	if d := c.ended(id); d.State != "canceled" {
		t.Errorf("job is %s, want canceled", d.State)
	}
	if left := processesOf(t, marks); len(left) > 0 {
		t.Errorf("processes %v of the job are left", left)
	}
	if d := c.ended(c.submit(marked(marks, "0.1", 0))); d.State != "completed" {
		t.Errorf("the next job is %s", d.State)
	}
}
