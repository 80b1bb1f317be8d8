package schedtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// CheckUnblock carries out each change alone and looks for the task in the plan.
func CheckUnblock(t rapid.TB, c *Cluster, e *explain.Explanation) {
	for _, u := range e.Unblock {
		switch u.Kind { //nolint:exhaustive // all others are made to the task itself
		case explain.UnblockTime, explain.UnblockFewer, explain.UnblockYield:
			checkAgain(t, c.Copied(), e, &u)
			continue
		case explain.UnblockPreempt:
			checkPreempts(t, c.Copied(), e, &u)
			continue
		}
		if after := c.Copied(); !slices.Contains(unblocked(after, e.Task, &u), e.Task) {
			t.Fatalf("task %s is blocked by %+v; it is still not placed after %q", e.Task, e.Blockers, u.Message())
		}
	}
}

// checkAgain submits a task again with what is offered.
func checkAgain(t rapid.TB, c *Cluster, e *explain.Explanation, u *explain.Unblock) {
	job, _ := c.State.Jobs.Get(e.Task.Job)
	switch u.Kind { //nolint:exhaustive // all others are no change of what is asked for
	case explain.UnblockTime:
		job.Spec.TimeLimit = u.TimeLimit
	case explain.UnblockFewer:
		job.Spec.MinGPUs = u.MinGPUs
	case explain.UnblockYield:
		job.Spec.Preemptible = true
	}
	c.Must(&command.Cancel{Job: job.ID, Task: model.AllTasks})
	again := model.TaskKey{Job: c.Submit(job.Spec, 1, 0)}
	if placed := c.Plan(); !slices.Contains(placed, again) {
		t.Fatalf("task %s is blocked by %+v; submitted again as %s it is still not placed after %q", e.Task, e.Blockers, again, u.Message())
	}
}

// checkPreempts has the time come when others may be stopped for a task.
func checkPreempts(t rapid.TB, c *Cluster, e *explain.Explanation, u *explain.Unblock) {
	if u.At > 0 {
		c.Now = u.At
		c.Must(&command.AdvanceClock{})
	}
	bodies, _ := sched.Plan(&c.State, c.Now)
	for _, b := range bodies {
		if b, is := b.(*command.Preempt); is && b.Beneficiary == e.Task && len(b.Victims) == len(u.Ends) {
			return
		}
	}
	t.Fatalf("task %s is blocked by %+v; no job is stopped for it after %q", e.Task, e.Blockers, u.Message())
}

// unblocked makes a change, and plans.
func unblocked(c *Cluster, key model.TaskKey, u *explain.Unblock) []model.TaskKey {
	switch u.Kind {
	case explain.UnblockStart:
		c.Must(&command.SetRunning{Running: true})
	case explain.UnblockResume:
		c.Must(&command.Resume{})
	case explain.UnblockRelease:
		c.Must(&command.Release{Job: key.Job, Task: int64(key.Task)})
	case explain.UnblockTurn, explain.UnblockDrop:
		c.Must(&command.DropDependencies{Job: key.Job})
	case explain.UnblockPool:
		c.Must(&command.SetPools{Mode: model.PoolDynamic})
	case explain.UnblockCancel:
		c.Must(&command.CancelBooking{ID: u.Booking.ID})
	case explain.UnblockTime, explain.UnblockFewer, explain.UnblockYield, explain.UnblockPreempt: // see above
	case explain.UnblockWait, explain.UnblockBegin, explain.UnblockOver, explain.UnblockPeriod:
		c.Now = u.At
		c.Must(&command.AdvanceClock{})
		endBookings(c)
	case explain.UnblockLimit:
		c.Must(&command.SetLimit{Limit: u.Limit})
	case explain.UnblockEnd:
		for _, h := range u.Ends {
			if h.Allocation != "" {
				c.release(h.Allocation)
			} else {
				c.End(h.Task, 0)
			}
		}
	case explain.UnblockNode:
		for n := range u.Nodes {
			c.labeled(fmt.Sprint("new", n), u.Labels, int(u.GPUs), u.Model, func(d *model.Device) { d.MemoryMB = u.MemoryMB })
		}
	}
	return c.Plan()
}

// Said is an explanation's blockers and changes in words.
func Said(e *explain.Explanation) (blockers, unblock string) {
	var b, u []string
	for _, v := range e.Blockers {
		b = append(b, string(v.Code)+": "+v.Message())
	}
	for _, v := range e.Unblock {
		u = append(u, v.Message())
	}
	return strings.Join(b, "\n"), strings.Join(u, "\n")
}

// Explained is a cluster with two nodes of four GPUs, and what is said of the task
// that waits last.
type Explained struct {
	Name              string
	Make              func(*Cluster)
	Blockers, Unblock string
}

// CheckExplained compares explanations with what is wanted, and tries what they say would help.
func CheckExplained(t *testing.T, tests []Explained) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			c := New(t, "fcfs")
			c.Node("n1", 4, "H200")
			c.Node("n2", 4, "H200")
			test.Make(c)
			waits := Waiting(c)
			e, found := explain.Task(&c.State, c.Now, waits[len(waits)-1])
			blockers, unblock := Said(&e)
			if !found || blockers != test.Blockers || unblock != test.Unblock {
				t.Errorf("blockers:\n%s\nunblock:\n%s\nwant blockers:\n%s\nunblock:\n%s", blockers, unblock, test.Blockers, test.Unblock)
			}
			CheckUnblock(t, c, &e)
		})
	}
}
