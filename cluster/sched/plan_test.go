package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func TestPlan(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(*schedtest.Cluster)
		want []model.JobID
	}{
		{"in order of submission, past what does not fit", func(c *schedtest.Cluster) {
			c.Submit(schedtest.Spec("zoe", 1, 0), 1, 0)
			c.Submit(schedtest.Spec("bob", 4, 0), 1, 0)
			c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
			c.Submit(schedtest.Spec("zoe", 1, 0), 1, 0)
		}, []model.JobID{1, 3, 4}},
		{"one job wider than any node is spread", func(c *schedtest.Cluster) { c.Submit(schedtest.Spec("amy", 4, 0), 1, 0) }, nil},
		{"a throttle", func(c *schedtest.Cluster) { c.Submit(schedtest.Spec("amy", 1, 0), 5, 2) }, []model.JobID{1, 1}},
		{"a limit of GPUs", func(c *schedtest.Cluster) {
			c.Limit("amy", 2, model.Unlimited)
			c.Submit(schedtest.Spec("amy", 1, 0), 3, 0)
			c.Submit(schedtest.Spec("bob", 1, 0), 1, 0)
		}, []model.JobID{1, 1, 2}},
		{"a held task", func(c *schedtest.Cluster) {
			s := schedtest.Spec("amy", 1, 0)
			s.Held = true
			c.Submit(s, 1, 0)
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
		}, []model.JobID{2}},
		{"a stopped orchestrator", func(c *schedtest.Cluster) { c.Submit(schedtest.Spec("amy", 1, 0), 1, 0); c.Must(&command.SetRunning{}) }, nil},
		{"a cordoned node", func(c *schedtest.Cluster) {
			c.Must(&command.SetNodeMode{Node: "n1", Mode: model.ModeCordoned})
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := schedtest.New(t, "fcfs")
			c.Node("n1", 4, "H200")
			if test.name == "one job wider than any node is spread" {
				c = schedtest.New(t, "fcfs")
				c.Node("n1", 3, "H200")
				c.Node("n2", 3, "H200")
				test.want = []model.JobID{1}
			}
			test.make(c)
			if got := schedtest.Jobs(c.Plan()); !slices.Equal(got, test.want) {
				t.Errorf("placed %v, want %v", got, test.want)
			}
			if again := c.Plan(); len(again) > 0 {
				t.Errorf("left out at first: %v", again)
			}
		})
	}
}

func TestAJobThatOneNodeCanHoldWaitsForIt(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 4, "H200")
	c.Node("n2", 4, "H200")
	c.Submit(schedtest.Spec("amy", 3, 0), 2, 0)
	c.Plan()
	c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
	if got := c.Plan(); len(got) > 0 {
		t.Errorf("%v was torn apart", got)
	}
	c.Submit(schedtest.Spec("amy", 2, 2), 1, 0)
	if got := schedtest.Jobs(c.Plan()); !slices.Equal(got, []model.JobID{3}) {
		t.Errorf("placed %v, want the gang of two nodes", got)
	}
}

func TestABackoffIsWaitedFor(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 1, "H200")
	s := schedtest.Spec("amy", 1, 0)
	s.MaxRetries = 1
	c.Submit(s, 1, 0)
	c.Plan()
	c.Must(&command.Report{
		Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1, Reports: []model.Progress{
			{Rank: model.RankKey{Job: 1, N: 1}, Phase: model.RankExited, Exit: model.Exit{Code: 1}},
		},
		Cleaned: []model.Cleaned{{Slot: model.SlotKey{GPU: "n1-g0"}, Rank: model.RankKey{Job: 1, N: 1}}},
	})
	bodies, next := sched.Plan(&c.State, c.Now)
	if len(bodies) > 0 || next != c.Now.Add(10*time.Second) {
		t.Fatalf("%d commands, next at +%s", len(bodies), next.Sub(c.Now))
	}
	c.Now = next
	if got := c.Plan(); len(got) != 1 {
		t.Errorf("placed %v once it was due", got)
	}
}

func TestWhatIsKeptGoesToWhomItIsKeptFor(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 1, "H200")
	c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
	c.Plan()
	c.Submit(schedtest.Spec("amy", 1, 0), 1, 0) // job 2: first, but nothing is kept for it
	c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
	victim := model.RankKey{Job: 1, N: 1}
	c.Must(&command.Preempt{
		Victims: []model.AttemptKey{victim.Attempt()}, Beneficiary: model.TaskKey{Job: 3},
		Until: c.Now.Add(time.Hour),
	})
	if got := c.Plan(); len(got) > 0 {
		t.Errorf("placed %v on a GPU that is in use", got)
	}
	c.Must(&command.Report{
		Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1, Reports: []model.Progress{
			{Rank: victim, Phase: model.RankExited, Exit: model.Exit{Delivered: model.ReasonPreempt}},
		},
		Cleaned: []model.Cleaned{{Slot: model.SlotKey{GPU: "n1-g0"}, Rank: victim}},
	})
	if got := schedtest.Jobs(c.Plan()); !slices.Equal(got, []model.JobID{3}) {
		t.Errorf("placed %v, want job 3", got)
	}
}

// GPUs are kept for the second of three jobs that are alike. It takes them in its
// turn, once, and the others take what is free.
func TestWhatIsKeptLeavesTheRestAlone(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 3, "H200")
	c.Submit(schedtest.Spec("zoe", 1, 0), 1, 0)
	c.Plan()
	for range 3 {
		c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
	}
	c.Must(&command.Preempt{
		Victims: []model.AttemptKey{{Job: 1, N: 1}}, Beneficiary: model.TaskKey{Job: 3}, Until: c.Now.Add(time.Hour),
	})
	c.End(model.TaskKey{Job: 1}, 0)
	if got, request := c.Drawn(), []string{"3: n1[0]", "2: n1[1]", "4: n1[2]"}; !slices.Equal(got, request) {
		t.Errorf("placed %v, want %v", got, request)
	}
}

// golden is a cluster and its whole plan, drawn.
type golden struct {
	name string
	make func(*schedtest.Cluster)
	want []string
}

func draw(t *testing.T, tests []golden) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := schedtest.New(t, "priority")
			test.make(c)
			if got := c.Drawn(); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestGolden(t *testing.T) {
	draw(t, []golden{
		{"classes first", func(c *schedtest.Cluster) {
			c.Node("node-1", 8, "H200")
			c.Node("node-2", 8, "H200")
			c.Submit(schedtest.Spec("dave", 1, 0), 1, 0)
			c.Submit(schedtest.Spec("eve", 2, 0), 1, 0)
			c.Submit(schedtest.Spec("bob", 4, 0, schedtest.Class(model.ClassHigh)), 1, 0)
			c.Submit(schedtest.Spec("carol", 2, 0, schedtest.Class(model.ClassHigh)), 1, 0)
			c.Submit(schedtest.Spec("alice", 8, 0, schedtest.Class(model.ClassCritical)), 1, 0)
		}, []string{"5: node-1[0 1 2 3 4 5 6 7]", "3: node-2[0 1 2 3]", "4: node-2[4 5]", "1: node-2[6]"}},
		{"the tightest hole", func(c *schedtest.Cluster) {
			c.Node("n1", 8, "H200")
			c.Node("n2", 3, "H200")
			c.Node("n3", 2, "H200")
			c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
			c.Submit(schedtest.Spec("amy", 2, 0), 1, 0)
			c.Submit(schedtest.Spec("amy", 8, 0), 1, 0)
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
		}, []string{"1: n3[0 1]", "2: n2[0 1]", "3: n1[0 1 2 3 4 5 6 7]", "4: n2[2]"}},
		{"what is left of a node in this very pass", func(c *schedtest.Cluster) {
			c.Node("n1", 6, "H200")
			c.Node("n2", 8, "H200")
			c.Submit(schedtest.Spec("amy", 7, 0), 1, 0)
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
		}, []string{"1: n2[0 1 2 3 4 5 6]", "2: n2[7]"}},
	})
}

func TestGoldenGangsAndTypes(t *testing.T) {
	draw(t, []golden{
		{"gangs of sixteen", func(c *schedtest.Cluster) {
			for _, id := range []string{"n1", "n2", "n3", "n4", "n5"} {
				c.Node(id, 8, "H200")
			}
			c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
			c.Submit(schedtest.Spec("amy", 16, 2), 1, 0)
			c.Submit(schedtest.Spec("bob", 16, 0), 1, 0)
			c.Submit(schedtest.Spec("eve", 16, 2), 1, 0)
		}, []string{
			"1: n1[0 1 2 3]", "2: n2[0 1 2 3 4 5 6 7] n3[0 1 2 3 4 5 6 7]",
			"3: n4[0 1 2 3 4 5 6 7] n5[0 1 2 3 4 5 6 7]",
		}},
		{"the rest of what is spread", func(c *schedtest.Cluster) {
			c.Node("n1", 8, "H200")
			c.Node("n2", 8, "H200")
			c.Node("n3", 4, "H200")
			c.Submit(schedtest.Spec("amy", 11, 0), 1, 0)
		}, []string{"1: n1[0 1 2 3 4 5 6 7] n3[0 1 2]"}},
		{"types and sizes", func(c *schedtest.Cluster) {
			c.Node("n1", 4, "A100")
			c.Node("n2", 4, "H200", func(d *model.Device) { d.MemoryMB = 1000 + 1000*(d.Index%2) })
			of := func(name string, memory uint32) func(*model.Spec) {
				return func(s *model.Spec) { s.GPUModel, s.GPUMemoryMB = name, memory }
			}
			c.Submit(schedtest.Spec("amy", 3, 0, of("", 2000)), 1, 0)
			c.Submit(schedtest.Spec("amy", 2, 0, of("H200", 0)), 1, 0)
			c.Submit(schedtest.Spec("amy", 1, 0, of("H200", 2000)), 1, 0)
			c.Submit(schedtest.Spec("amy", 1, 0, of("B300", 0)), 1, 0)
			c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
		}, []string{"2: n2[0 1]", "3: n2[3]", "5: n1[0 1 2 3]"}},
		{"services in their turn", func(c *schedtest.Cluster) {
			c.Node("n1", 2, "H200")
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
			c.Allocate("web", 1)
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
		}, []string{"1: n1[0]", "web: n1[1]"}},
	})
}

// TestGPUsNearEachOther draws placements on one node of eight GPUs: two NUMA nodes
// of four, in each of which NVLink joins the first with the third and the second
// with the fourth.
func TestGPUsNearEachOther(t *testing.T) {
	wired := func(d *model.Device) {
		d.NUMA = int32(d.Index / 4)
		d.Link = string(rune('a' + d.Index/4*2 + d.Index%2))
	}
	plain := func(d *model.Device) { d.NUMA = int32(d.Index / 4) }
	mixed := func(d *model.Device) {
		if d.Index >= 5 {
			d.Link = "a"
		}
		if d.Index == 3 || d.Index == 4 {
			d.Link = fmt.Sprint(d.Index)
		}
	}
	for _, test := range []struct {
		name string
		wire func(*model.Device)
		gpus []uint32
		want []string
	}{
		{"a pair that is joined", wired, []uint32{2, 2, 4}, []string{"1: n1[0 2]", "2: n1[1 3]", "3: n1[4 5 6 7]"}},
		{"one beside one", wired, []uint32{1, 1, 2}, []string{"1: n1[0]", "2: n1[2]", "3: n1[1 3]"}},
		{"four of one NUMA node", wired, []uint32{1, 4}, []string{"1: n1[0]", "2: n1[4 5 6 7]"}},
		{"no links", plain, []uint32{3, 2, 1}, []string{"1: n1[0 1 2]", "2: n1[4 5]", "3: n1[3]"}},
		{"one that is joined with none, a pair that is", mixed, []uint32{1, 2}, []string{"1: n1[3]", "2: n1[5 6]"}},
		{"more than are near", wired, []uint32{3, 5}, []string{"1: n1[0 1 2]", "2: n1[3 4 5 6 7]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := schedtest.New(t, "fcfs")
			c.Node("n1", 8, "H200", test.wire)
			for _, n := range test.gpus {
				c.Submit(schedtest.Spec("amy", n, 0), 1, 0)
			}
			if got := c.Drawn(); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// A task that is tried again keeps off the GPUs that failed it, unless there is
// nothing else that could ever run it.
func TestRetryElsewhere(t *testing.T) {
	for policy, tune := range map[string]func(*model.Tuning){
		"fcfs":       func(*model.Tuning) {},
		"fair_share": func(t *model.Tuning) { *t = model.DefaultTuning() },
	} {
		t.Run(policy, func(t *testing.T) { retryElsewhere(t, policy, tune) })
	}
}

// A gang that needs both nodes keeps off one of the four GPUs.
func TestAGangRetriesElsewhere(t *testing.T) {
	c := schedtest.New(t, "fair_share")
	c.Tune(func(t *model.Tuning) { *t = model.DefaultTuning() })
	c.Node("n1", 2, "H200")
	c.Node("n2", 2, "H200")
	key := model.TaskKey{Job: c.Submit(schedtest.Spec("amy", 2, 2, func(s *model.Spec) { s.MaxRetries = 1 }), 1, 0)}
	if got := schedtest.Jobs(c.Plan()); len(got) != 1 {
		t.Fatalf("at first %v", got)
	}
	c.End(key, 1)
	c.Now = c.Now.Add(time.Minute)
	if got := c.Drawn(); len(got) != 1 {
		t.Errorf("then %v", got)
	}
}

func retryElsewhere(t *testing.T, policy string, tune func(*model.Tuning)) {
	for _, test := range []struct {
		name   string
		make   func(*schedtest.Cluster)
		before string
		after  string
	}{
		{"on another GPU of its node", func(c *schedtest.Cluster) { c.Node("n1", 2, "H200") }, "1: n1[0]", "1: n1[1]"},
		{"on another node, though its own fits best", func(c *schedtest.Cluster) {
			c.Node("n1", 1, "H200")
			c.Node("n2", 2, "H200")
		}, "1: n1[0]", "1: n2[0]"},
		{"where there is only one GPU", func(c *schedtest.Cluster) { c.Node("n1", 1, "H200") }, "1: n1[0]", "1: n1[0]"},
		{"where all others take no work", func(c *schedtest.Cluster) {
			c.Node("n1", 1, "H200")
			c.Node("n2", 2, "H200")
			c.Must(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
		}, "1: n1[0]", "1: n1[0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := schedtest.New(t, policy)
			c.Tune(tune)
			test.make(c)
			key := model.TaskKey{Job: c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.MaxRetries = 1 }), 1, 0)}
			if got := c.Drawn(); !slices.Equal(got, []string{test.before}) {
				t.Fatalf("at first %v", got)
			}
			c.Plan()
			c.End(key, 1)
			c.Now = c.Now.Add(time.Minute)
			if got := c.Drawn(); !slices.Equal(got, []string{test.after}) {
				t.Errorf("then %v, want %s", got, test.after)
			}
		})
	}
}

// A task that waits because only GPUs are free that failed it says so, and starts
// there all the same when it is released.
func TestRetryWaitsForOtherGPUs(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 2, "H200")
	key := model.TaskKey{Job: c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.MaxRetries = 1 }), 1, 0)}
	c.Submit(schedtest.Spec("bob", 1, 0), 1, 0)
	c.Plan()
	c.End(key, 1)
	c.Now = c.Now.Add(time.Minute)
	e, _ := explain.Task(&c.State, c.Now, key)
	if len(c.Plan()) > 0 || len(e.Blockers) != 2 || e.Blockers[0].Code != blocker.CodeAvoid || !strings.Contains(e.Summary, "failed it") {
		t.Fatalf("it is explained by %+v: %s", e.Blockers, e.Summary)
	}
	if i := slices.IndexFunc(e.Unblock, func(u explain.Unblock) bool { return u.Kind == explain.UnblockEnd }); i < 0 ||
		e.Unblock[i].Ends[0].Task.Job != 2 {
		t.Errorf("offered are %+v", e.Unblock)
	}
	c.Must(&command.Release{Job: key.Job, Task: model.AllTasks})
	if got := c.Plan(); len(got) != 1 {
		t.Errorf("released it is not placed: %v", got)
	}
}
