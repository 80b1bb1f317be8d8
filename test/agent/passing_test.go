package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/node/gpu/simgpu"
	"github.com/berth-gpu/berth/node/runner"
)

// A job's announcements while it runs are reported to the cluster, and outlast its end.
func TestCheckpointsAreTold(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.start(t)
	key := c.running(t, c.submit(t, func(b *command.Submit) {
		b.Spec.CheckpointDir = t.TempDir()
		b.Spec.Command = `touch "$BERTH_CHECKPOINT_DIR/.done"; exec sleep 600`
	}))
	c.until(t, "the checkpoint", func(s *statetest.Cluster) bool {
		r, _ := s.State.Ranks.Get(key.Rank(0))
		return r.Saved > 0
	})
	c.do(&command.Cancel{Job: key.Job, Task: model.AllTasks})
	if r := c.attempt(t, key); r.Exit.Saved < r.Saved || r.Exit.Saved > r.Exit.Ran {
		t.Errorf("it ended with %+v after %s were saved", r.Exit, r.Saved)
	}
}

// A limit that is raised while a job runs reaches its supervisor, and outlasts the
// agent.
func TestExtendedLimit(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	stop := h.start(t)
	key := c.running(t, c.submit(t, func(b *command.Submit) {
		sleeper(b)
		b.Spec.TimeLimit = time.Hour
	}))
	told := func(limit time.Duration) {
		t.Helper()
		c.do(&command.Extend{Job: key.Job, TimeLimit: limit})
		holds(t, "the limit passed on", func() bool {
			paths, _ := filepath.Glob(filepath.Join(h.run, "*", "*.orders"))
			for _, path := range paths {
				var o runner.Orders
				if smallfile.Read(path, &o) == nil && o.TimeLimit == limit {
					return true
				}
			}
			return false
		})
	}
	told(2 * time.Hour)
	stop()
	h.start(t)
	told(3 * time.Hour)
}

// A job that dies of its GPU before any other sign of the fault is not charged for it.
func TestTheGPUIsToBlame(t *testing.T) {
	for name, v := range map[string]struct {
		faults map[string]simgpu.Fault
		why    model.Reason
	}{
		"a fault":    {map[string]simgpu.Fault{"0": {Xids: []uint64{95}}}, model.ReasonGPUFault},
		"its own":    {map[string]simgpu.Fault{"0": {Xids: []uint64{31}}}, model.ReasonExit},
		"the others": {map[string]simgpu.Fault{"1": {Xids: []uint64{95}}}, model.ReasonExit},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			h := newHost(t, c, "n1", 2)
			h.start(t)
			end := filepath.Join(t.TempDir(), "end")
			key := c.running(t, c.submit(t, func(b *command.Submit) {
				b.Spec.Command = fmt.Sprintf("while [ ! -e %s ]; do sleep 0.02; done; exit 1", end)
			}))
			c.cut(true) // no peer receives an inventory first
			h.damage(t, v.faults)
			if err := os.WriteFile(end, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			_, session := h.supervisor(t, key)
			gone(t, session)
			c.cut(false)
			r := c.attempt(t, key)
			task, _ := stateOf(c).Tasks.Get(key.TaskKey())
			if r.Exit.GPUFault != (v.why == model.ReasonGPUFault) || task.Reason != v.why {
				t.Errorf("it ended with %+v for %s", r.Exit, task.Reason)
			}
		})
	}
}

// A rank's end contains the most memory that its GPU had in use, and for how long it was idle.
func TestUseOfGPUsIsTold(t *testing.T) {
	c := led{newCluster(t)}
	newHost(t, c.cluster, "n1", 1).start(t)
	job := c.submit(t, sleeper)
	gpu := c.gpuOf(t, job)
	key := model.AttemptKey{Job: job, N: 1}
	holds(t, "a GPU that was looked at several times", func() bool {
		s, seen := c.measured(gpu)
		return seen && s.MemoryUsedMB > 0 && c.board.Unused("n1", gpu) >= 3*time.Second
	})
	c.do(&command.Cancel{Job: job, Task: model.AllTasks})
	c.ended(t, job)
	if r := c.attempt(t, key); r.Exit.PeakMB == 0 || r.Exit.PeakMB > simgpu.MemoryMB || r.Exit.Watched < 3 || r.Exit.Idle != r.Exit.Watched {
		t.Errorf("a job that slept ended with %+v", r.Exit)
	}
}
