package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A GPU that was replaced under a running job, while the agent was down, is released once the job's processes
// are gone, and removed. The job starts again on the one in its place, uncharged.
func TestAGPUIsReplaced(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	stop := h.start(t)
	c.free(t, 1)
	var old model.GPUID
	for id := range stateOf(c).GPUs.All() {
		old = id
	}
	marks := filepath.Join(h.run, "starts")
	job := c.submit(t, func(b *command.Submit) {
		b.Spec.Command = "echo $BERTH_ATTEMPT >>" + marks + "; [ $(wc -l <" + marks + ") -gt 1 ] || sleep 600"
	})
	first := c.running(t, job)
	stop()
	file := filepath.Join(h.dir, "gpus.json")
	if err := errors.Join(os.Remove(file), os.Remove(file+".copy")); err != nil { // another UUID is made
		t.Fatal(err)
	}
	stop = h.start(t)
	if r := c.attempt(t, first); r.Exit.Delivered != model.ReasonGPUFault {
		t.Errorf("the rank on the old GPU ended with %+v", r.Exit)
	}
	holds(t, "the end of the job", func() bool {
		task, _ := stateOf(c).Tasks.Get(model.TaskKey{Job: job})
		if task.State == model.TaskQueued {
			c.pass(10 * time.Second) // it is tried again after a while
		}
		return task.State.Terminal()
	})
	task := c.ended(t, job)
	if task.State != model.TaskCompleted || task.Attempts != 2 || task.Retries != 0 {
		t.Errorf("the job is %s after %d attempts, %d of them charged", task.State, task.Attempts, task.Retries)
	}
	c.until(t, "the old GPU without an owner", func(s *statetest.Cluster) bool {
		slot, _ := s.State.Slots.Get(model.SlotKey{GPU: old})
		return slot.Owner == model.OwnerNone
	})
	stop()
	h.start(t) // which lists the GPUs: else the next inventory would, within a minute
	c.until(t, "one GPU, the new one, that is free", func(s *statetest.Cluster) bool {
		use, _ := s.State.NodeUse.Get("n1")
		return s.State.GPUs.Len() == 1 && !s.State.GPUs.Has(old) && use.Free == 1
	})
}
