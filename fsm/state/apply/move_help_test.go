package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Every step of these tests also goes through check.State and check.Step:
// statetest sees to that.

func task(c *statetest.Cluster, job model.JobID) model.Task {
	row, _ := c.State.Tasks.Get(model.TaskKey{Job: job})
	return row
}

func attempt(c *statetest.Cluster, k model.AttemptKey) model.Attempt {
	row, _ := c.State.Attempts.Get(k)
	return row
}

func rank(c *statetest.Cluster, k model.RankKey) model.Rank {
	row, _ := c.State.Ranks.Get(k)
	return row
}

func slot(c *statetest.Cluster, gpu model.GPUID) model.Slot {
	row, _ := c.State.Slots.Get(model.SlotKey{GPU: gpu})
	return row
}

func totals(c *statetest.Cluster) model.Totals { return c.State.Settings().Totals }

// wantTask says where a task must be and why its newest attempt ended.
func wantTask(t *testing.T, c *statetest.Cluster, job model.JobID, state model.TaskState, why model.Reason) {
	t.Helper()
	if got := task(c, job); got.State != state || got.Reason != why {
		t.Fatalf("task of job %s is %s for reason %q, want %s for %q", job, got.State, got.Reason, state, why)
	}
}

func wantOwners(t *testing.T, c *statetest.Cluster, node model.NodeID, owner model.Owner, n int) {
	t.Helper()
	got := 0
	for _, s := range c.State.Slots.All() {
		if s.Node == node && s.Owner == owner {
			got++
		}
	}
	if got != n {
		t.Fatalf("node %s has %d slots that are %s, want %d", node, got, owner, n)
	}
}

func wantCode(t *testing.T, r command.Result, code model.Code) {
	t.Helper()
	if r.Code != code {
		t.Fatalf("the answer is %s (%s), want %s", r.Code, r.Detail, code)
	}
	if code != model.CodeOK && r.Detail == "" {
		t.Fatalf("the refusal %s does not say why", code)
	}
}

// tells returns a task's timeline.
func tells(c *statetest.Cluster, job model.JobID) (out []model.EventKind) {
	for k, e := range c.State.Events.From(model.EventKey{Job: job}) {
		if k.Job == job && k.Task == 0 {
			out = append(out, e.What)
		}
	}
	return out
}

// exited returns the end of a rank as its node reports it.
func exited(r model.RankKey, e model.Exit) model.Progress {
	return model.Progress{Rank: r, Phase: model.RankExited, Exit: e}
}

func failing(ran time.Duration) model.Exit { return model.Exit{Code: 1, Ran: ran} }

// onTwoNodes asks for a gang with its GPUs on two nodes.
func onTwoNodes(b *command.Submit) { b.Spec.Nodes = 2 }

func onLost(o model.OnLost) func(*command.Submit) {
	return func(b *command.Submit) { b.Spec.OnLost = o }
}

func retries(n uint32) func(*command.Submit) {
	return func(b *command.Submit) { b.Spec.MaxRetries = n }
}

func array(tasks, throttle uint32) func(*command.Submit) {
	return func(b *command.Submit) { b.Tasks, b.Throttle = tasks, throttle }
}

// life is a cluster of two nodes of 4 GPUs with one job that has been placed.
type life struct {
	*statetest.Cluster
	n1, n2 *statetest.Agent
	job    model.JobID
	a      model.AttemptKey
}

func placed(t *testing.T, gpus uint32, changes ...func(*command.Submit)) *life {
	t.Helper()
	c := statetest.New(t)
	l := &life{Cluster: c, n1: c.Node("n1", 4), n2: c.Node("n2", 4)}
	l.job = c.Submit(gpus, changes...)
	l.a = c.Place(l.job)
	return l
}

func running(t *testing.T, gpus uint32, changes ...func(*command.Submit)) *life {
	t.Helper()
	l := placed(t, gpus, changes...)
	l.Start(l.a)
	return l
}

func (l *life) want(t *testing.T, state model.TaskState, why model.Reason) {
	t.Helper()
	wantTask(t, l.Cluster, l.job, state, why)
}

func cancel(job model.JobID) *command.Cancel {
	return &command.Cancel{Job: job, Task: model.AllTasks}
}

func hold(job model.JobID) *command.Hold { return &command.Hold{Job: job, Task: model.AllTasks} }

func release(job model.JobID) *command.Release {
	return &command.Release{Job: job, Task: model.AllTasks}
}

func requeue(job model.JobID) *command.Requeue {
	return &command.Requeue{Job: job, Task: model.AllTasks}
}
