package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// runAJob: the program's end is the job's, and the job's end follows the program's.
func runAJob(t *testing.T, c *cluster) {
	s := c.berth("run", "-g", "1", "--", "sh", "-c", `echo "gpus $CUDA_VISIBLE_DEVICES"; echo oops >&2; exit 7`)
	if s.code != 7 || s.out != "gpus 0\n" || s.err != "oops\n" {
		t.Errorf("exit code %d, said %q and %q", s.code, s.out, s.err)
	}
	for name, v := range map[string]struct {
		signal syscall.Signal
		code   int
	}{"Ctrl-C": {syscall.SIGINT, 130}, "a client that dies": {syscall.SIGKILL, -1}} {
		cmd := exec.Command(program(), "run", "-J", strings.Fields(name)[0], "--linger", "5s", "--", "sleep", "600")
		cmd.Env = append(os.Environ(), "BERTH_ADDRESS="+c.http)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		id := named(c, strings.Fields(name)[0])
		c.running(id)
		if err := cmd.Process.Signal(v.signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != v.code {
			t.Errorf("%s: exit code %d, want %d; said %s", name, got, v.code, errs.String())
		}
		if d := c.ended(id); d.State != "canceled" {
			t.Errorf("%s: the job is %s", name, d.State)
		}
	}
}

// named is the id of the job of a name that has not ended.
func named(c *cluster, name string) (id string) {
	c.t.Helper()
	c.until("there is a job "+name, func() bool {
		var q wire.Queue
		if err := json.Unmarshal([]byte(c.ok("queue", "-o", "json")), &q); err != nil {
			c.t.Fatal(err)
		}
		for _, j := range append(q.Running, q.Queued...) {
			if j.Name == name {
				id = j.ID
			}
		}
		return id != ""
	})
	return id
}

// controlJobs holds, releases, extends and requeues.
func controlJobs(t *testing.T, c *cluster) {
	id := strings.TrimSpace(c.ok("submit", "--parsable", "--hold", "-t", "1h", "-g", "1", "--", "sleep", "600"))
	has(t, c.ok("explain", id), "held", "release")
	has(t, c.ok("release", id), "Job "+id+": released")
	c.running(id)
	has(t, c.ok("extend", id, "--by", "30m"), "may run 1h30m")
	has(t, c.ok("requeue", id, "--reason", "again"), "being stopped")
	c.until("job "+id+" runs again", func() bool { return c.job(id).Attempts == 2 })
	has(t, c.ok("show", id), "extended", "requeued", "again", "released")
	has(t, c.ok("cancel", id), "Job "+id)
}

// drainAGPU takes one GPU out of service, which leaves the others to jobs.
func drainAGPU(t *testing.T, c *cluster) {
	id := strings.TrimSpace(c.ok("submit", "--parsable", "-g", "2", "--", "sleep", "600"))
	c.running(id)
	has(t, c.ok("drain", "node1:0", "--reason", "fan"), "node1:0: gets no new work", id)
	has(t, c.ok("nodes", "--gpus"), "draining")
	has(t, c.ok("run", "-g", "1", "--", "sh", "-c", "echo on $CUDA_VISIBLE_DEVICES"), "on 1")
	has(t, c.ok("undrain", "node1:0"), "takes work")
	c.running(id)
	c.ok("cancel", id)
	c.ended(id)
}

// runOnCores: a job without GPUs sees none, holds a core of a node while all GPUs stay free, and keeps to the limit of cores.
func runOnCores(t *testing.T, c *cluster) {
	s := c.berth("run", "-g", "0", "--mem", "0.1", "--", "sh", "-c", `echo "gpus [$CUDA_VISIBLE_DEVICES] $NVIDIA_VISIBLE_DEVICES"`)
	if s.code != 0 || s.out != "gpus [] void\n" {
		t.Errorf("exit code %d, said %q and %q", s.code, s.out, s.err)
	}
	held := func() (cores, gpus int64) {
		var n wire.Nodes
		if err := json.Unmarshal([]byte(c.ok("nodes", "-o", "json")), &n); err != nil {
			t.Fatal(err)
		}
		for i := range n.Nodes {
			cores, gpus = cores+n.Nodes[i].CPUsHeld, gpus+n.Nodes[i].GPUCount-n.Nodes[i].FreeGPUs
		}
		return cores, gpus
	}
	c.ok("quota", "set", "cluster", "--max-cpus", "1")
	id := strings.TrimSpace(c.ok("submit", "--parsable", "-g", "0", "--mem", "0.1", "--", "sleep", "600"))
	c.running(id)
	if cores, gpus := held(); cores != 1 || gpus != 0 {
		t.Errorf("%d cores and %d GPUs are held", cores, gpus)
	}
	has(t, c.ok("show", id), "none; 1 core and 0.1 GB of memory", "running")
	next := strings.TrimSpace(c.ok("submit", "--parsable", "-g", "0", "--mem", "0.1", "--", "true"))
	has(t, c.ok("explain", next), "jobs without GPUs of cluster may hold 1 core, hold 1, and this needs 1")
	c.ok("cancel", id)
	if d := c.ended(next); d.State != "completed" {
		t.Errorf("the job that waited for a core is %s", d.State)
	}
	c.until("no core is held", func() bool { cores, _ := held(); return cores == 0 })
	c.ok("quota", "set", "cluster", "--max-cpus", "none")
	refused := c.berth("submit", "-g", "0", "--min-gpus", "1", "--", "true")
	if refused.code == 0 || !strings.Contains(refused.err, "min_gpus") {
		t.Errorf("exit code %d: %s", refused.code, refused.err)
	}
}
