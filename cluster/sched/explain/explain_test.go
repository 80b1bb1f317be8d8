package explain_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// TestExplanationsAgreeWithThePlan is the law of explanations, on random clusters:
// a task is placed by the plan exactly if nothing blocks it, and each change that
// is said to unblock it does.
func TestExplanationsAgreeWithThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.RandomTuned(t)
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			schedtest.Step(t, c, nodes)
			placed := c.Copied().Plan()
			for _, key := range schedtest.Waiting(c) {
				e, waits := explain.Task(&c.State, c.Now, key)
				if !waits {
					t.Fatalf("task %s waits and is not explained", key)
				}
				if slices.Contains(placed, key) != (len(e.Blockers) == 0) {
					t.Fatalf("the plan places %v; task %s is blocked by %+v", placed, key, e.Blockers)
				}
				schedtest.CheckUnblock(t, c, &e)
			}
			if rapid.Bool().Draw(t, "carry out") {
				c.Plan()
			}
		}
	})
}

func TestExplainWhatIsItsOwn(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{Name: "nothing", Make: func(c *schedtest.Cluster) { c.Submit(schedtest.Spec("amy", 4, 0), 1, 0) }, Blockers: "", Unblock: ""},
		{
			Name: "stopped", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
				c.Must(&command.SetRunning{})
			},
			Blockers: "orchestrator_stopped: the orchestrator is stopped: nothing is placed",
			Unblock:  "start the orchestrator (berth orchestrator start)",
		},
		{
			Name: "restored", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
				c.Must(&command.Restored{Incarnation: model.Incarnation{2}})
				c.Must(&command.SetRunning{})
			},
			Blockers: "orchestrator_stopped: the orchestrator is stopped: nothing is placed\n" +
				"standstill: the scheduler stands still after a restore: nothing is placed until an operator resumes it\n" +
				"nodes: it needs 1 node, and the cluster has 0 that take work\n" +
				"gpus: it needs 1 GPU: 0 are free, at most 0 on one node", Unblock: "",
		},
		{
			Name: "held", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.Held = true }), 1, 0)
			},
			Blockers: "held: it is held", Unblock: "release it",
		},
		{
			Name: "a backoff", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.MaxRetries = 1 }), 1, 0)
				c.Plan()
				c.End(model.TaskKey{Job: 1}, 1)
			},
			Blockers: "backoff: it failed and is tried again at 2023-11-14T22:13:30Z", Unblock: "its backoff ends at 2023-11-14T22:13:30Z\nrelease it",
		},
		{
			Name: "a throttle", Make: func(c *schedtest.Cluster) { c.Submit(schedtest.Spec("amy", 1, 0), 3, 1); c.Plan() },
			Blockers: "throttle: its job runs at most 1 task at once, and runs 1", Unblock: "",
		},
		{
			Name: "a limit", Make: func(c *schedtest.Cluster) {
				c.Limit("amy", 2, model.Unlimited)
				c.Submit(schedtest.Spec("amy", 1, 0), 2, 0)
				c.Plan()
				c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
			},
			Blockers: "limit: user amy may use 2 GPUs, uses 2, and this needs 2",
			Unblock:  "the limit of user amy is raised to 4 GPUs\njob 1 and job 1.1 end",
		},
		{
			Name: "a limit that others wait for, too", Make: func(c *schedtest.Cluster) {
				c.Limit("amy", 1, model.Unlimited)
				c.Submit(schedtest.Spec("amy", 1, 0), 4, 0)
				c.Plan()
			},
			Blockers: "limit: user amy may use 1 GPU, uses 1, and this needs 1", Unblock: "the limit of user amy is raised to 4 GPUs",
		},
	})
}

func TestExplainShortage(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "GPUs on one node", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 3, 0), 2, 0)
				c.Plan()
				c.Submit(schedtest.Spec("bob", 2, 0), 1, 0)
			},
			Blockers: "gpus: it needs 2 GPUs: 2 are free, at most 1 on one node",
			Unblock:  "1 node more, with 2 GPUs free\njob 1 ends\njob 1.1 ends",
		},
		{
			Name: "a gang on two nodes", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 3, 0), 2, 0)
				c.Plan()
				c.Submit(schedtest.Spec("bob", 4, 2), 1, 0)
			},
			Blockers: "gpus: it needs 2 GPUs on each of 2 nodes: 2 are free, at most 1 on one node",
			Unblock:  "2 nodes more, with 2 GPUs free\njob 1 and job 1.1 end",
		},
		{
			Name: "a type that is not free", Make: func(c *schedtest.Cluster) {
				c.Node("n3", 1, "A100")
				c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.GPUModel = "A100" }), 1, 0)
				c.Plan()
				c.Submit(schedtest.Spec("bob", 1, 0, func(s *model.Spec) { s.GPUModel = "A100" }), 1, 0)
			},
			Blockers: "gpu_type: only another type of GPU than A100 is free\n" +
				"gpus: it needs 1 GPU of type A100: 0 are free, at most 0 on one node",
			Unblock: "1 node more, with 1 GPU of type A100 free\njob 1 ends",
		},
		{
			Name: "a size that there is not", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.GPUMemoryMB = 1001 }), 1, 0)
			},
			Blockers: "never: no nodes of the cluster could ever hold it, even if they were empty\n" +
				"gpu_memory: only GPUs with less than 1.001 GB are free\n" +
				"gpus: it needs 1 GPU with 1.001 GB: 0 are free, at most 0 on one node",
			Unblock: "1 node more, with 1 GPU with 1.001 GB free",
		},
		{
			Name: "more nodes than there are", Make: func(c *schedtest.Cluster) { c.Submit(schedtest.Spec("amy", 9, 3), 1, 0) },
			Blockers: "never: no nodes of the cluster could ever hold it, even if they were empty\n" +
				"nodes: it needs 3 nodes, and the cluster has 2 that take work\n" +
				"gpus: it needs 3 GPUs on each of 3 nodes: 8 are free, at most 4 on one node",
			Unblock: "1 node more, with 3 GPUs free",
		},
	})
}

func TestExplainOthers(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "others first", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 4, 0), 2, 0)
				c.Submit(schedtest.Spec("bob", 1, 0), 1, 0)
			},
			Blockers: "ahead: it would fit, but the GPUs go to 2 others before it", Unblock: "1 node more, with 1 GPU free",
		},
		{
			Name: "a service", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
				c.Plan()
				c.Allocate("web", 3)
				c.Plan()
				c.Submit(schedtest.Spec("bob", 3, 0), 1, 0)
			},
			Blockers: "gpus: it needs 3 GPUs: 1 are free, at most 1 on one node",
			Unblock:  "1 node more, with 3 GPUs free\nallocation web ends\njob 1 ends",
		},
	})
}

func TestExplainSaysWhereItStands(t *testing.T) {
	c := schedtest.New(t, "priority")
	c.Node("n1", 2, "H200")
	for _, user := range []string{"amy", "bob"} {
		c.Submit(schedtest.Spec(user, 2, 0, func(s *model.Spec) { s.Name, s.Priority = "of-"+user, 5 }), 2, 0)
	}
	c.Submit(schedtest.Spec("eve", 1, 0, schedtest.Class(model.ClassCritical)), 1, 0)
	e, _ := explain.Task(&c.State, c.Now, model.TaskKey{Job: 2, Task: 1})
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
	if _, waits := explain.Task(&c.State, c.Now, model.TaskKey{Job: 9}); waits {
		t.Error("a job that does not exist is explained")
	}
	c.Plan()
	if _, waits := explain.Task(&c.State, c.Now, model.TaskKey{Job: 3}); waits {
		t.Error("a job that has its GPUs is explained")
	}
}

// A plan is cut after 256 commands: what comes later is told so.
func TestExplainKnowsWhereThePlanEnds(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	for i := range 5 {
		c.Node(fmt.Sprint("n", i), 64, "H200")
	}
	c.Submit(schedtest.Spec("amy", 1, 0), 300, 0)
	for task, request := range map[uint32]bool{0: true, 255: true, 256: false, 299: false} {
		e, _ := explain.Task(&c.State, c.Now, model.TaskKey{Job: 1, Task: task})
		if (len(e.Blockers) == 0) != request {
			t.Errorf("task %d is blocked by %+v", task, e.Blockers)
		}
	}
	c.Now = c.Now.Add(time.Second)
	if c.Plan(); len(c.Plan()) != 300-256 {
		t.Error("the rest was not placed by the next plan")
	}
}
