package agent_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/node/gpu/simgpu"
)

// damage replaces what is wrong with a host's GPUs.
func (h *host) damage(t testing.TB, faults map[string]simgpu.Fault) {
	t.Helper()
	data, err := json.Marshal(faults)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(h.dir, simgpu.FaultsFile)
	if err := errors.Join(os.WriteFile(at+".new", data, 0o600), os.Rename(at+".new", at)); err != nil {
		t.Fatal(err)
	}
}

// healths waits until the GPUs of the cluster, in order of node and place, are so.
func healths(t testing.TB, c *cluster, want ...model.Health) (gpus []model.GPU) {
	t.Helper()
	c.until(t, "the GPUs' verdicts", func(s *statetest.Cluster) bool {
		byPlace := map[uint32]model.GPU{}
		for _, g := range s.State.GPUs.All() {
			byPlace[g.Index] = g
		}
		gpus = gpus[:0]
		for i, health := range want {
			g := byPlace[uint32(i)]
			if gpus = append(gpus, g); g.Health != health {
				return false
			}
		}
		return true
	})
	return gpus
}

// One bad GPU leaves the others usable: what is submitted then runs on them, and on
// the bad one only when it is good again.
func TestOneBadGPU(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 3)
	h.start(t)
	c.free(t, 3)
	h.damage(t, map[string]simgpu.Fault{"1": {Xids: []uint64{79}}})
	gpus := healths(t, c, model.HealthHealthy, model.HealthQuarantined, model.HealthHealthy)
	if !strings.Contains(gpus[1].Why, "Xid 79") {
		t.Errorf("why: %q", gpus[1].Why)
	}
	for range 2 {
		job := c.submit(t, func(b *command.Submit) {
			b.Spec.GPUs, b.Spec.Command = 2, `[ "$CUDA_VISIBLE_DEVICES" = 0,2 ]`
		})
		if task := c.ended(t, job); task.State != model.TaskCompleted {
			t.Errorf("the task is %s with exit code %d", task.State, task.ExitCode)
		}
	}
	wide := c.submit(t, func(b *command.Submit) { b.Spec.GPUs, b.Spec.Command = 3, "true" })
	c.free(t, 3)
	if task, _ := stateOf(c).Tasks.Get(model.TaskKey{Job: wide}); task.State != model.TaskQueued {
		t.Errorf("a job that needs all three is %s", task.State)
	}
}

// What is on a GPU that fails is stopped, and a restarted agent does not take the GPU
// for a good one.
func TestGPUFailsUnderAJob(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 2)
	stop := h.start(t)
	job := c.submit(t, sleeper)
	key := c.running(t, job)
	var gpu model.GPU
	c.until(t, "its GPU", func(s *statetest.Cluster) bool {
		for k, slot := range s.State.Slots.All() {
			if slot.Owner == model.OwnerAttempt && slot.Rank == key.Rank(0) {
				gpu, _ = s.State.GPUs.Get(k.GPU)
			}
		}
		return gpu.ID != ""
	})
	h.damage(t, map[string]simgpu.Fault{string(gpu.ID): {Xids: []uint64{48}}})
	if r := c.attempt(t, key); r.Exit.Delivered != model.ReasonGPUFault {
		t.Errorf("the rank ended with %+v", r.Exit)
	}
	h.damage(t, nil)
	stop()
	h.start(t)
	c.until(t, "the agent's return", func(s *statetest.Cluster) bool {
		lease, _ := s.State.Leases.Get("n1")
		return lease.Epoch > 1
	})
	if g, _ := stateOf(c).GPUs.Get(gpu.ID); g.Health != model.HealthQuarantined {
		t.Errorf("the GPU is %s", g.Health)
	}
}

// A process that is not Berth's is named; a process that a job has started is not foreign, even when it has
// left its session and its environment behind.
func TestStranger(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 2)
	h.start(t)
	job := c.submit(t, func(b *command.Submit) {
		b.Spec.Command = "env -i BERTH_GPU_UUIDS=$BERTH_GPU_UUIDS setsid sleep 600 & wait"
	})
	c.running(t, job)
	var free model.GPUID
	c.until(t, "a free GPU", func(s *statetest.Cluster) bool {
		for k, slot := range s.State.Slots.All() {
			if slot.Owner == model.OwnerNone {
				free = k.GPU
			}
		}
		return free != ""
	})
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), "BERTH_GPU_UUIDS="+string(free))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c.until(t, "the stranger named", func(s *statetest.Cluster) bool {
		g, _ := s.State.GPUs.Get(free)
		return g.Health == model.HealthUnmanaged && strings.Contains(g.Why, "sleep (pid ")
	})
	for _, g := range stateOf(c).GPUs.All() {
		if g.ID != free && g.Health != model.HealthHealthy {
			t.Errorf("the job's GPU is %s: %s", g.Health, g.Why)
		}
	}
	c.do(&command.Cancel{Job: job, Task: model.AllTasks})
	c.ended(t, job)
}

// A GPU whose memory is in use after its job has ended, as by a process that cannot
// be killed, is not given out until it is clean.
func TestAGPUWaitsUntilItIsClean(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.start(t)
	first := c.submit(t, sleeper)
	c.running(t, first)
	h.damage(t, map[string]simgpu.Fault{"0": {Leftover: true}})
	c.do(&command.Cancel{Job: first, Task: model.AllTasks})
	c.ended(t, first)
	next := c.submit(t, func(b *command.Submit) { b.Spec.Command = "true" })
	ended, _ := stateOf(c).Leases.Get("n1")
	c.until(t, "two renewals, with looks at the GPU in between", func(s *statetest.Cluster) bool {
		lease, _ := s.State.Leases.Get("n1")
		return lease.Seq >= ended.Seq+2
	})
	if task, _ := stateOf(c).Tasks.Get(model.TaskKey{Job: next}); task.State != model.TaskQueued {
		t.Errorf("the next job is %s", task.State)
	}
	h.damage(t, nil)
	if task := c.ended(t, next); task.State != model.TaskCompleted {
		t.Errorf("the next job is %s", task.State)
	}
}

// While a service has a GPU, the processes on it are the service's; once it has released the GPU they are
// foreign, and the GPU stays free of owners until they are gone.
func TestAServicesProcesses(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.start(t)
	c.free(t, 1)
	var gpu model.GPU
	var epoch uint64
	c.until(t, "the GPU", func(s *statetest.Cluster) bool {
		for _, g := range s.State.GPUs.All() {
			gpu = g
		}
		node, _ := s.State.Nodes.Get("n1")
		epoch = node.Epoch
		return gpu.ID != ""
	})
	if r, _ := c.do(&command.Allocate{ID: "s", User: "ann", Class: model.ClassNormal, GPUs: 1}); !r.OK() {
		t.Fatal(r)
	}
	slots := []model.SlotKey{{GPU: gpu.ID}}
	if r, _ := c.do(&command.Grant{ID: "s", Placement: command.Placement{Node: "n1", Epoch: epoch, Slots: slots}}); !r.OK() {
		t.Fatal(r)
	}
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), "BERTH_GPU_UUIDS="+string(gpu.ID))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	given, _ := stateOf(c).Leases.Get("n1")
	c.until(t, "longer than a stranger takes to be one", func(s *statetest.Cluster) bool {
		lease, _ := s.State.Leases.Get("n1")
		return lease.Seq >= given.Seq+5
	})
	if g, _ := stateOf(c).GPUs.Get(gpu.ID); g.Health != model.HealthHealthy {
		t.Errorf("while the service has it the GPU is %s: %s", g.Health, g.Why)
	}
	c.do(&command.ReleaseAllocation{ID: "s"})
	c.until(t, "the stranger named", func(s *statetest.Cluster) bool {
		g, _ := s.State.GPUs.Get(gpu.ID)
		return g.Health == model.HealthUnmanaged && strings.Contains(g.Why, "sleep (pid ")
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	c.free(t, 1)
}

// A node of which two GPUs are lost, each in its way, takes no new work.
func TestTwoLostGPUs(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 3)
	h.start(t)
	c.free(t, 3)
	h.damage(t, map[string]simgpu.Fault{"1": {Xids: []uint64{79}}})
	healths(t, c, model.HealthHealthy, model.HealthQuarantined, model.HealthHealthy)
	if n, _ := stateOf(c).Nodes.Get("n1"); n.Mode != model.ModeOpen {
		t.Errorf("with one lost GPU the node is %s", n.Mode)
	}
	h.damage(t, map[string]simgpu.Fault{"1": {Xids: []uint64{79}}, "2": {Lost: true}})
	c.until(t, "the node cordoned", func(s *statetest.Cluster) bool {
		n, _ := s.State.Nodes.Get("n1")
		return n.Mode == model.ModeCordoned && strings.Contains(n.ModeReason, "2 GPUs")
	})
}
