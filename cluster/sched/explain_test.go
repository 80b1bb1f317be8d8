package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// TestExplanationsAgreeWithThePlan is the law of explanations, on random clusters:
// a task is placed by the plan exactly if nothing blocks it, and each change that
// is said to unblock it does.
func TestExplanationsAgreeWithThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := randomTuned(t)
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			step(t, c, nodes)
			placed := c.copied().plan()
			for _, key := range waiting(c) {
				e, waits := explain.Task(&c.s, c.now, key)
				if !waits {
					t.Fatalf("task %s waits and is not explained", key)
				}
				if slices.Contains(placed, key) != (len(e.Blockers) == 0) {
					t.Fatalf("the plan places %v; task %s is blocked by %+v", placed, key, e.Blockers)
				}
				checkUnblock(t, c, &e)
			}
			if rapid.Bool().Draw(t, "carry out") {
				c.plan()
			}
		}
	})
}

// checkUnblock carries out each change alone and looks for the task in the plan.
func checkUnblock(t rapid.TB, c *cluster, e *explain.Explanation) {
	for _, u := range e.Unblock {
		switch u.Kind { //nolint:exhaustive // all others are made to the task itself
		case explain.UnblockTime, explain.UnblockFewer, explain.UnblockYield:
			checkAgain(t, c.copied(), e, &u)
			continue
		case explain.UnblockPreempt:
			checkPreempts(t, c.copied(), e, &u)
			continue
		}
		if after := c.copied(); !slices.Contains(unblocked(after, e.Task, &u), e.Task) {
			t.Fatalf("task %s is blocked by %+v; it is still not placed after %q", e.Task, e.Blockers, u.Message())
		}
	}
}

// checkAgain submits a task again with what is offered.
func checkAgain(t rapid.TB, c *cluster, e *explain.Explanation, u *explain.Unblock) {
	job, _ := c.s.Jobs.Get(e.Task.Job)
	switch u.Kind { //nolint:exhaustive // all others are no change of what is asked for
	case explain.UnblockTime:
		job.Spec.TimeLimit = u.TimeLimit
	case explain.UnblockFewer:
		job.Spec.MinGPUs = u.MinGPUs
	case explain.UnblockYield:
		job.Spec.Preemptible = true
	}
	c.must(&command.Cancel{Job: job.ID, Task: model.AllTasks})
	again := model.TaskKey{Job: c.submit(job.Spec, 1, 0)}
	if placed := c.plan(); !slices.Contains(placed, again) {
		t.Fatalf("task %s is blocked by %+v; submitted again as %s it is still not placed after %q", e.Task, e.Blockers, again, u.Message())
	}
}

// checkPreempts has the time come when others may be stopped for a task.
func checkPreempts(t rapid.TB, c *cluster, e *explain.Explanation, u *explain.Unblock) {
	if u.At > 0 {
		c.now = u.At
		c.must(&command.AdvanceClock{})
	}
	bodies, _ := sched.Plan(&c.s, c.now)
	for _, b := range bodies {
		if b, is := b.(*command.Preempt); is && b.Beneficiary == e.Task && len(b.Victims) == len(u.Ends) {
			return
		}
	}
	t.Fatalf("task %s is blocked by %+v; no job is stopped for it after %q", e.Task, e.Blockers, u.Message())
}

// unblocked makes a change, and plans.
func unblocked(c *cluster, key model.TaskKey, u *explain.Unblock) []model.TaskKey {
	switch u.Kind {
	case explain.UnblockStart:
		c.must(&command.SetRunning{Running: true})
	case explain.UnblockResume:
		c.must(&command.Resume{})
	case explain.UnblockRelease:
		c.must(&command.Release{Job: key.Job, Task: int64(key.Task)})
	case explain.UnblockTurn, explain.UnblockDrop:
		c.must(&command.DropDependencies{Job: key.Job})
	case explain.UnblockPool:
		c.must(&command.SetPools{Mode: model.PoolDynamic})
	case explain.UnblockCancel:
		c.must(&command.CancelBooking{ID: u.Booking.ID})
	case explain.UnblockTime, explain.UnblockFewer, explain.UnblockYield, explain.UnblockPreempt: // see above
	case explain.UnblockWait, explain.UnblockBegin, explain.UnblockOver, explain.UnblockPeriod:
		c.now = u.At
		c.must(&command.AdvanceClock{})
		endBookings(c)
	case explain.UnblockLimit:
		c.must(&command.SetLimit{Limit: u.Limit})
	case explain.UnblockEnd:
		for _, h := range u.Ends {
			if h.Allocation != "" {
				c.release(h.Allocation)
			} else {
				c.end(h.Task, 0)
			}
		}
	case explain.UnblockNode:
		for n := range u.Nodes {
			c.labeled(fmt.Sprint("new", n), u.Labels, int(u.GPUs), u.Model, func(d *model.Device) { d.MemoryMB = u.MemoryMB })
		}
	}
	return c.plan()
}

// said is an explanation's blockers and changes in words.
func said(e *explain.Explanation) (blockers, unblock string) {
	var b, u []string
	for _, v := range e.Blockers {
		b = append(b, string(v.Code)+": "+v.Message())
	}
	for _, v := range e.Unblock {
		u = append(u, v.Message())
	}
	return strings.Join(b, "\n"), strings.Join(u, "\n")
}

// explained is a cluster with two nodes of four GPUs, and what is said of the task
// that waits last.
type explained struct {
	name              string
	make              func(*cluster)
	blockers, unblock string
}

func checkExplained(t *testing.T, tests []explained) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, "fcfs")
			c.node("n1", 4, "H200")
			c.node("n2", 4, "H200")
			test.make(c)
			waits := waiting(c)
			e, found := explain.Task(&c.s, c.now, waits[len(waits)-1])
			blockers, unblock := said(&e)
			if !found || blockers != test.blockers || unblock != test.unblock {
				t.Errorf("blockers:\n%s\nunblock:\n%s\nwant blockers:\n%s\nunblock:\n%s", blockers, unblock, test.blockers, test.unblock)
			}
			checkUnblock(t, c, &e)
		})
	}
}

func TestExplainWhatIsItsOwn(t *testing.T) {
	checkExplained(t, []explained{
		{"nothing", func(c *cluster) { c.submit(spec("amy", 4, 0), 1, 0) }, "", ""},
		{
			"stopped", func(c *cluster) {
				c.submit(spec("amy", 4, 0), 1, 0)
				c.must(&command.SetRunning{})
			},
			"orchestrator_stopped: the orchestrator is stopped: nothing is placed",
			"start the orchestrator (berth orchestrator start)",
		},
		{
			"restored", func(c *cluster) {
				c.submit(spec("amy", 1, 0), 1, 0)
				c.must(&command.Restored{Incarnation: model.Incarnation{2}})
				c.must(&command.SetRunning{})
			},
			"orchestrator_stopped: the orchestrator is stopped: nothing is placed\n" +
				"standstill: the scheduler stands still after a restore: nothing is placed until an operator resumes it\n" +
				"nodes: it needs 1 node, and the cluster has 0 that take work\n" +
				"gpus: it needs 1 GPU: 0 are free, at most 0 on one node", "",
		},
		{
			"held", func(c *cluster) { c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.Held = true }), 1, 0) },
			"held: it is held", "release it",
		},
		{
			"a backoff", func(c *cluster) {
				c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.MaxRetries = 1 }), 1, 0)
				c.plan()
				c.end(model.TaskKey{Job: 1}, 1)
			},
			"backoff: it failed and is tried again at 2023-11-14T22:13:30Z",
			"its backoff ends at 2023-11-14T22:13:30Z\nrelease it",
		},
		{
			"a throttle", func(c *cluster) { c.submit(spec("amy", 1, 0), 3, 1); c.plan() },
			"throttle: its job runs at most 1 task at once, and runs 1", "",
		},
		{
			"a limit", func(c *cluster) {
				c.limit("amy", 2, model.Unlimited)
				c.submit(spec("amy", 1, 0), 2, 0)
				c.plan()
				c.submit(spec("amy", 2, 0), 1, 0)
			},
			"limit: user amy may use 2 GPUs, uses 2, and this needs 2",
			"the limit of user amy is raised to 4 GPUs\njob 1 and job 1.1 end",
		},
		{
			"a limit that others wait for, too", func(c *cluster) {
				c.limit("amy", 1, model.Unlimited)
				c.submit(spec("amy", 1, 0), 4, 0)
				c.plan()
			},
			"limit: user amy may use 1 GPU, uses 1, and this needs 1", "the limit of user amy is raised to 4 GPUs",
		},
	})
}

func TestExplainShortage(t *testing.T) {
	checkExplained(t, []explained{
		{
			"GPUs on one node", func(c *cluster) {
				c.submit(spec("amy", 3, 0), 2, 0)
				c.plan()
				c.submit(spec("bob", 2, 0), 1, 0)
			},
			"gpus: it needs 2 GPUs: 2 are free, at most 1 on one node",
			"1 node more, with 2 GPUs free\njob 1 ends\njob 1.1 ends",
		},
		{
			"a gang on two nodes", func(c *cluster) {
				c.submit(spec("amy", 3, 0), 2, 0)
				c.plan()
				c.submit(spec("bob", 4, 2), 1, 0)
			},
			"gpus: it needs 2 GPUs on each of 2 nodes: 2 are free, at most 1 on one node",
			"2 nodes more, with 2 GPUs free\njob 1 and job 1.1 end",
		},
		{
			"a type that is not free", func(c *cluster) {
				c.node("n3", 1, "A100")
				c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.GPUModel = "A100" }), 1, 0)
				c.plan()
				c.submit(spec("bob", 1, 0, func(s *model.Spec) { s.GPUModel = "A100" }), 1, 0)
			},
			"gpu_type: only another type of GPU than A100 is free\n" +
				"gpus: it needs 1 GPU of type A100: 0 are free, at most 0 on one node",
			"1 node more, with 1 GPU of type A100 free\njob 1 ends",
		},
		{
			"a size that there is not", func(c *cluster) {
				c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.GPUMemoryMB = 1001 }), 1, 0)
			},
			"never: no nodes of the cluster could ever hold it, even if they were empty\n" +
				"gpu_memory: only GPUs with less than 1.001 GB are free\n" +
				"gpus: it needs 1 GPU with 1.001 GB: 0 are free, at most 0 on one node",
			"1 node more, with 1 GPU with 1.001 GB free",
		},
		{
			"more nodes than there are", func(c *cluster) { c.submit(spec("amy", 9, 3), 1, 0) },
			"never: no nodes of the cluster could ever hold it, even if they were empty\n" +
				"nodes: it needs 3 nodes, and the cluster has 2 that take work\n" +
				"gpus: it needs 3 GPUs on each of 3 nodes: 8 are free, at most 4 on one node",
			"1 node more, with 3 GPUs free",
		},
	})
}

func TestExplainOthers(t *testing.T) {
	checkExplained(t, []explained{
		{
			"others first", func(c *cluster) {
				c.submit(spec("amy", 4, 0), 2, 0)
				c.submit(spec("bob", 1, 0), 1, 0)
			},
			"ahead: it would fit, but the GPUs go to 2 others before it", "1 node more, with 1 GPU free",
		},
		{
			"a service", func(c *cluster) {
				c.submit(spec("amy", 4, 0), 1, 0)
				c.plan()
				c.allocate("web", 3)
				c.plan()
				c.submit(spec("bob", 3, 0), 1, 0)
			},
			"gpus: it needs 3 GPUs: 1 are free, at most 1 on one node",
			"1 node more, with 3 GPUs free\nallocation web ends\njob 1 ends",
		},
	})
}

func TestExplainSaysWhereItStands(t *testing.T) {
	c := newCluster(t, "priority")
	c.node("n1", 2, "H200")
	for _, user := range []string{"amy", "bob"} {
		c.submit(spec(user, 2, 0, func(s *model.Spec) { s.Name, s.Priority = "of-"+user, 5 }), 2, 0)
	}
	c.submit(spec("eve", 1, 0, class(model.ClassCritical)), 1, 0)
	e, _ := explain.Task(&c.s, c.now, model.TaskKey{Job: 2, Task: 1})
	if e.Policy != "priority" || e.Position != 5 || !e.Exact || e.AheadN != 4 {
		t.Errorf("position %d (exact: %t) with %d ahead under %s", e.Position, e.Exact, e.AheadN, e.Policy)
	}
	want2 := []queue.Factor{{Name: "class", Value: "normal"}, {Name: "worth_of_a_class", Value: "24h"}, {Name: "since", Value: "2023-11-14T22:13:20Z"}}
	if !slices.Equal(e.Factors, want2) {
		t.Errorf("factors are %v", e.Factors)
	}
	request := []explain.Ahead{
		{Job: 3, Tasks: 1, Name: "true", User: "eve", GPUs: 1, Class: model.ClassCritical},
		{Job: 1, Tasks: 2, Name: "of-amy", User: "amy", GPUs: 2, Class: model.ClassNormal, Priority: 5},
		{Job: 2, Tasks: 1, Name: "of-bob", User: "bob", GPUs: 2, Class: model.ClassNormal, Priority: 5},
	}
	if !slices.Equal(e.Ahead, request) {
		t.Errorf("ahead are %+v", e.Ahead)
	}
	if request := "It waits: it would fit, but the GPUs go to 1 other before it."; e.Summary != request {
		t.Errorf("the summary is %q", e.Summary)
	}
	if _, waits := explain.Task(&c.s, c.now, model.TaskKey{Job: 9}); waits {
		t.Error("a job that does not exist is explained")
	}
	c.plan()
	if _, waits := explain.Task(&c.s, c.now, model.TaskKey{Job: 3}); waits {
		t.Error("a job that has its GPUs is explained")
	}
}

// A plan is cut after 256 commands: what comes later is told so.
func TestExplainKnowsWhereThePlanEnds(t *testing.T) {
	c := newCluster(t, "fcfs")
	for i := range 5 {
		c.node(fmt.Sprint("n", i), 64, "H200")
	}
	c.submit(spec("amy", 1, 0), 300, 0)
	for task, request := range map[uint32]bool{0: true, 255: true, 256: false, 299: false} {
		e, _ := explain.Task(&c.s, c.now, model.TaskKey{Job: 1, Task: task})
		if (len(e.Blockers) == 0) != request {
			t.Errorf("task %d is blocked by %+v", task, e.Blockers)
		}
	}
	c.now = c.now.Add(time.Second)
	if c.plan(); len(c.plan()) != 300-256 {
		t.Error("the rest was not placed by the next plan")
	}
}
