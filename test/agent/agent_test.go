package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/cgroup"
	"github.com/berth-gpu/berth/node/runner/process"
)

// patience bounds each wait; a busy machine is slow.
const patience = time.Minute

// TestMain is also the supervisors' main.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "supervise" {
		if os.Args[2] == "--exec" {
			os.Exit(process.Execute())
		}
		if err := process.Supervise(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAJobRuns(t *testing.T) {
	c := newCluster(t)
	newHost(t, c, "n1", 2).start(t)
	job := c.submit(t, func(b *command.Submit) { b.Spec.Command = "echo hello; exit 3" })
	task := c.ended(t, job)
	if task.State != model.TaskFailed || task.ExitCode != 3 {
		t.Errorf("the task is %s with exit code %d", task.State, task.ExitCode)
	}
	c.free(t, 2)
}

// What a job is made of reaches it: script, environment, arguments, standard input.
func TestScriptAndEnvironment(t *testing.T) {
	c := newCluster(t)
	newHost(t, c, "n1", 1).start(t)
	job := c.submit(t, func(b *command.Submit) {
		b.Script, b.Spec.Command, b.Spec.Argv = "#!/bin/sh\n[ \"$1 $MINE $WORLD_SIZE $(cat)\" = \"a b own 1 hello\" ]", "a b", true
		b.Stdin = "aGVsbG8="
		b.Env = []string{"MINE=own"}
	})
	if task := c.ended(t, job); task.State != model.TaskCompleted {
		t.Errorf("the task is %s with exit code %d", task.State, task.ExitCode)
	}
}

// A cancel is a signal, a grace and a kill; then the GPU is free.
func TestCancel(t *testing.T) {
	c := newCluster(t)
	newHost(t, c, "n1", 1).start(t)
	dir := t.TempDir()
	job := c.submit(t, func(b *command.Submit) {
		b.Spec.Command, b.Spec.Grace = "trap '' TERM; echo up > "+dir+"/up; while :; do sleep 1; done", 300*time.Millisecond
	})
	key := c.running(t, job)
	appears(t, dir+"/up")
	c.do(&command.Cancel{Job: job, Task: model.AllTasks})
	if task := c.ended(t, job); task.State != model.TaskCanceled {
		t.Errorf("the task is %s", task.State)
	}
	if r := c.attempt(t, key); r.Exit.Signal != 9 || r.Exit.Delivered != model.ReasonCancel {
		t.Errorf("the rank ended with %+v", r.Exit)
	}
	c.free(t, 1)
}

// Many jobs go through a few GPUs, each once.
func TestManyJobs(t *testing.T) {
	c := newCluster(t)
	newHost(t, c, "n1", 4).start(t)
	var jobs []model.JobID
	for i := range 40 {
		jobs = append(jobs, c.submit(t, func(b *command.Submit) { b.Spec.Command = fmt.Sprintf("exit %d", i%3) }))
	}
	for i, job := range jobs {
		if task := c.ended(t, job); task.ExitCode != int32(i%3) || task.Attempts != 1 {
			t.Errorf("job %s: exit code %d after %d attempts", job, task.ExitCode, task.Attempts)
		}
	}
	c.free(t, 4)
}

// A supervisor outlives its agent; the next agent adopts it, and reports true ends of ranks from the time
// without an agent.
func TestAgentRestarts(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 2)
	stop := h.start(t)
	dir := t.TempDir()
	job := c.submit(t, func(b *command.Submit) { b.Spec.Command = "while [ ! -e " + dir + "/go ]; do sleep 0.01; done; exit 9" })
	brief := c.submit(t, func(b *command.Submit) {
		b.Spec.Command = "while [ ! -e " + dir + "/now ]; do sleep 0.01; done; exit 5"
	})
	c.running(t, job)
	_, session := h.supervisor(t, c.running(t, brief))
	stop()
	if err := os.WriteFile(filepath.Join(dir, "now"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone(t, session)
	h.start(t)
	if task := c.ended(t, brief); task.ExitCode != 5 || task.Attempts != 1 {
		t.Errorf("what ended meanwhile: exit code %d, attempt %d", task.ExitCode, task.Attempts)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if task := c.ended(t, job); task.ExitCode != 9 || task.Attempts != 1 {
		t.Errorf("what went on: exit code %d, attempt %d", task.ExitCode, task.Attempts)
	}
	c.free(t, 2)
}

// An agent that does not know the epochs of its node registers nevertheless.
func TestAgentForgetsItsEpoch(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	for epoch := range uint64(3) {
		stop := h.start(t)
		c.until(t, "the agent is registered", func(c *statetest.Cluster) bool {
			n, _ := c.State.Nodes.Get("n1")
			return n.Epoch > epoch
		})
		stop()
	}
	if err := os.Remove(filepath.Join(h.dir, "mark")); err != nil {
		t.Fatal(err)
	}
	h.start(t)
	if task := c.ended(t, c.submit(t, func(b *command.Submit) { b.Spec.Command = "exit 3" })); task.ExitCode != 3 {
		t.Errorf("exit code %d", task.ExitCode)
	}
}

// A supervisor that is killed takes its rank along, with or without an agent.
func TestSupervisorKilled(t *testing.T) {
	for _, without := range []bool{false, true} {
		c := newCluster(t)
		h := newHost(t, c, "n1", 1)
		stop := h.start(t)
		dir := t.TempDir()
		job := c.submit(t, func(b *command.Submit) {
			b.Spec.Command = "setsid sh -c 'echo $$ > " + dir + "/child; exec sleep 600' & while [ ! -s " + dir + "/child ]; do sleep 0.01; done; echo up > " + dir + "/up; sleep 600"
		})
		key := c.running(t, job)
		appears(t, dir+"/up")
		text, err := os.ReadFile(dir + "/child")
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		pid, session := h.supervisor(t, key)
		if without {
			stop()
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		gone(t, pid)
		if without {
			h.start(t)
		}
		if r := c.attempt(t, key); r.Phase != model.RankExited || r.Exit.Signal != 9 || r.Exit.Delivered != model.ReasonNone {
			t.Errorf("without an agent %v: the rank is %s with %+v", without, r.Phase, r.Exit)
		}
		gone(t, session)
		gone(t, child)
		c.free(t, 1)
	}
}

// A supervisor that is killed while it ends what a job has left behind does not change
// how the job has ended.
func TestSupervisorKilledAfterTheExit(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.start(t)
	child := t.TempDir() + "/child"
	job := c.submit(t, func(b *command.Submit) {
		b.Spec.Grace = time.Minute
		b.Spec.Command = "sh -c \"trap '' TERM; echo up > " + child + "; while :; do sleep 0.05; done\" & while [ ! -s " + child + " ]; do sleep 0.01; done; exit 4"
	})
	key := c.running(t, job)
	holds(t, "the exit of the first process", func() bool { return h.status(t, key).Ended != nil })
	pid, _ := h.supervisor(t, key)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r := c.attempt(t, key); r.Phase != model.RankExited || r.Exit.Code != 4 || r.Exit.Signal != 0 || r.Exit.Fenced {
		t.Errorf("the rank is %s with %+v", r.Phase, r.Exit)
	}
	c.free(t, 1)
}

// While the cluster is away jobs go on, and their ends are reported when it is back.
func TestClusterAway(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.start(t)
	job := c.submit(t, sleeper)
	_, session := h.supervisor(t, c.running(t, job))
	c.cut(true)
	if err := syscall.Kill(-session, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	gone(t, session)
	c.cut(false)
	if task := c.ended(t, job); task.Signal != 15 || task.Attempts != 1 {
		t.Errorf("signal %d, attempt %d", task.Signal, task.Attempts)
	}
}

// A rank that the set does not name is ended.
func TestLostRankIsEnded(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.start(t)
	job := c.submit(t, func(b *command.Submit) { sleeper(b); b.Spec.OnLost = model.OnLostFail })
	_, session := h.supervisor(t, c.running(t, job))
	c.cut(true)
	c.mu.Lock()
	lease, _ := c.c.State.Leases.Get("n1")
	c.mu.Unlock()
	c.do(&command.Suspect{Node: "n1", Epoch: lease.Epoch, Seq: lease.Seq})
	if r, _ := c.do(&command.ConfirmDead{Node: "n1", Epoch: 1}); !r.OK() {
		t.Fatal(r)
	}
	c.cut(false)
	gone(t, session)
}

// Ended ranks leave memory and the list of what is open, and stay on disk.
func TestEndedFoldersAreKept(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.start(t)
	job := c.submit(t, func(b *command.Submit) { b.Spec.Command = "echo kept" })
	c.ended(t, job)
	c.free(t, 1)
	holds(t, "the folder put away", func() bool {
		open, _ := filepath.Glob(filepath.Join(h.dir, "attempts", "*"))
		kept, _ := filepath.Glob(filepath.Join(h.dir, "ended", "*", "exit.json"))
		return len(open) == 0 && len(kept) == 1
	})
	c.until(t, "the tail", func(s *statetest.Cluster) bool {
		tail := c.tails[model.RankKey{Job: job, N: 1}]
		return tail != nil && string(tail.Stdout) == "kept\n"
	})
}

// A host with a clock gap freezes its ranks, and thaws them once the cluster has confirmed the lease.
func TestStandstill(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.start(t)
	up := filepath.Join(t.TempDir(), "up")
	key := c.running(t, c.submit(t, func(b *command.Submit) { b.Spec.Command = "echo up > " + up + "; while :; do :; done" }))
	appears(t, up)
	c.cut(true)
	h.ahead.Store(int64(time.Minute))
	holds(t, "the rank standing still", func() bool { return h.status(t, key).Frozen > 0 })
	holds(t, "the process standing still", func() bool { return standsStill(h.status(t, key)) })
	c.cut(false)
	holds(t, "the rank going on", func() bool { s := h.status(t, key); return s.Frozen == 0 && s.Thawed > 0 && !standsStill(s) })
}

// standsStill reports whether a rank's first process does, by whichever means.
func standsStill(s runner.Status) bool {
	if g, err := cgroup.Open(s.Group); err == nil {
		return g.Frozen()
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Session))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(rest, "T ")
}

// restore takes the cluster back to a former state, as from a backup.
func (c *cluster) restore(t testing.TB, s state.State) {
	t.Helper()
	c.mu.Lock()
	c.c.State = s
	c.mu.Unlock()
	if r, _ := c.do(&command.Restored{Incarnation: statetest.Incarnation(2)}); !r.OK() {
		t.Fatal(r)
	}
}

func stateOf(c *cluster) state.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.c.State
}

// After a restore running ranks are taken over, and ends since the backup are reported again, though the
// cluster had confirmed them.
func TestRestore(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 2)
	h.start(t)
	dir := t.TempDir()
	long := c.submit(t, func(b *command.Submit) { b.Spec.Command = "while [ ! -e " + dir + "/go ]; do sleep 0.01; done; exit 9" })
	brief := c.submit(t, func(b *command.Submit) {
		b.Spec.Command = "while [ ! -e " + dir + "/now ]; do sleep 0.01; done; exit 5"
	})
	c.running(t, long)
	c.running(t, brief)
	backup := stateOf(c)
	if err := os.WriteFile(dir+"/now", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.ended(t, brief)
	c.free(t, 1)
	holds(t, "the ended rank put away", func() bool {
		kept, _ := filepath.Glob(filepath.Join(h.dir, "ended", "*"))
		return len(kept) == 1
	})
	c.restore(t, backup)
	if task := c.ended(t, brief); task.ExitCode != 5 || task.Attempts != 1 {
		t.Errorf("what had ended: exit code %d, attempt %d", task.ExitCode, task.Attempts)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if task := c.ended(t, long); task.ExitCode != 9 || task.Attempts != 1 {
		t.Errorf("what went on: exit code %d, attempt %d", task.ExitCode, task.Attempts)
	}
	c.free(t, 2)
}

// Jobs that write leave the node's list of open files as it was.
func TestFilesAreClosed(t *testing.T) {
	c := newCluster(t)
	newHost(t, c, "n1", 4).start(t)
	run := func() {
		var jobs []model.JobID
		for range 20 {
			jobs = append(jobs, c.submit(t, func(b *command.Submit) { b.Spec.Command = "echo x" }))
		}
		for _, job := range jobs {
			c.ended(t, job)
		}
		c.free(t, 4)
	}
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	run()
	before := files()
	run()
	holds(t, "no more open files than before", func() bool { return files() <= before+16 })
}
