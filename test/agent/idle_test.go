package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/leader"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/node/runner/process"
)

// led is the cluster as its leader sees it.
type led struct{ *cluster }

func (c led) Barrier(context.Context) error { return nil }

func (c led) Propose(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c.Now = max(c.c.Now, model.TimeOf(time.Now()))
	r := c.c.Entry(commands...)
	close(c.changed)
	c.changed = make(chan struct{})
	return r, nil
}

func (c led) State() state.State { return stateOf(c.cluster) }

func (c led) Changed(_ model.TopicSet, after uint64) <-chan struct{} { // which is more often than requested
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c.State.Index > after {
		done := make(chan struct{})
		close(done)
		return done
	}
	return c.changed
}

func (led) Boot() time.Duration { return time.Duration(process.Now().Boot) }
func (led) Wall() time.Time     { return time.Now() }

// lead runs deciders until the test ends, for which idle GPUs are idle for rate times as long as they are.
func (c led) lead(t *testing.T, rate time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() {
		done <- leader.Run(ctx, leader.Config{
			ID: "p1", Peer: c, Clock: c, Clocks: func() (model.Time, bool) { return 0, false }, Members: func() []model.Peer { return nil },
			Use: leader.Use{Unused: func(node model.NodeID, gpu model.GPUID) time.Duration { return rate * c.board.Unused(node, gpu) }},
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// gpuOf returns the GPU of a job's first attempt.
func (c led) gpuOf(t *testing.T, job model.JobID) model.GPUID {
	t.Helper()
	c.running(t, job)
	s := c.State()
	for _, slot := range s.SlotsOf((model.AttemptKey{Job: job, N: 1}).Rank(0)) {
		return slot.GPU
	}
	t.Fatalf("job %s has no GPU", job)
	return ""
}

// measured returns what a GPU showed last.
func (c led) measured(gpu model.GPUID) (model.Sample, bool) {
	for _, r := range c.board.All() {
		if r.Sample.GPU == gpu {
			return r.Sample, true
		}
	}
	return model.Sample{}, false
}

// A job that sleeps leaves its GPU at 0 % and is stopped; one that works is not, and
// neither is one that may sleep. A second of theirs counts as a minute.
func TestIdleJobsAreStopped(t *testing.T) {
	c := led{newCluster(t)}
	newHost(t, c.cluster, "n1", 3).start(t)
	c.free(t, 3)
	const idle = 2 * time.Minute
	submit := func(program string, stop time.Duration) model.JobID {
		return c.submit(t, func(b *command.Submit) { b.Spec.Command, b.Spec.IdleStop = program, stop })
	}
	works, may, sleeps := submit("while :; do :; done", idle), submit("sleep 600", 0), submit("sleep 600", idle)
	worker, other, sleeper := c.gpuOf(t, works), c.gpuOf(t, may), c.gpuOf(t, sleeps)
	holds(t, "a GPU that works and two that were idle for two seconds", func() bool {
		s, seen := c.measured(worker)
		return seen && s.Utilization > 0 && c.board.Unused("n1", sleeper) >= idle/60 && c.board.Unused("n1", other) >= idle/60
	})
	c.lead(t, 60)
	if task := c.ended(t, sleeps); task.State != model.TaskCanceled {
		t.Errorf("what slept is %s", task.State)
	}
	s := c.State()
	if a, _ := s.Attempts.Get(model.AttemptKey{Job: sleeps, N: 1}); a.Stop != model.ReasonCancel || !strings.Contains(a.StopNote, "at 0 % for 2m0s (idle_stop)") {
		t.Errorf("it was stopped for %q: %q", a.Stop, a.StopNote)
	}
	for _, job := range []model.JobID{works, may} {
		if a, _ := s.Attempts.Get(model.AttemptKey{Job: job, N: 1}); a.State != model.TaskRunning || a.Stop != model.ReasonNone {
			t.Errorf("job %s is %s and stops for %q", job, a.State, a.StopNote)
		}
		c.do(&command.Cancel{Job: job, Task: model.AllTasks})
		c.ended(t, job)
	}
	c.free(t, 3)
}
