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
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func TestPlan(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(*cluster)
		want []model.JobID
	}{
		{"in order of submission, past what does not fit", func(c *cluster) {
			c.submit(spec("zoe", 1, 0), 1, 0)
			c.submit(spec("bob", 4, 0), 1, 0)
			c.submit(spec("amy", 2, 0), 1, 0)
			c.submit(spec("amy", 1, 0), 1, 0)
			c.submit(spec("zoe", 1, 0), 1, 0)
		}, []model.JobID{1, 3, 4}},
		{"one job wider than any node is spread", func(c *cluster) { c.submit(spec("amy", 4, 0), 1, 0) }, nil},
		{"a throttle", func(c *cluster) { c.submit(spec("amy", 1, 0), 5, 2) }, []model.JobID{1, 1}},
		{"a limit of GPUs", func(c *cluster) {
			c.limit("amy", 2, model.Unlimited)
			c.submit(spec("amy", 1, 0), 3, 0)
			c.submit(spec("bob", 1, 0), 1, 0)
		}, []model.JobID{1, 1, 2}},
		{"a held task", func(c *cluster) {
			s := spec("amy", 1, 0)
			s.Held = true
			c.submit(s, 1, 0)
			c.submit(spec("amy", 1, 0), 1, 0)
		}, []model.JobID{2}},
		{"a stopped orchestrator", func(c *cluster) { c.submit(spec("amy", 1, 0), 1, 0); c.must(&command.SetRunning{}) }, nil},
		{"a cordoned node", func(c *cluster) {
			c.must(&command.SetNodeMode{Node: "n1", Mode: model.ModeCordoned})
			c.submit(spec("amy", 1, 0), 1, 0)
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, "fcfs")
			c.node("n1", 4, "H200")
			if test.name == "one job wider than any node is spread" {
				c = newCluster(t, "fcfs")
				c.node("n1", 3, "H200")
				c.node("n2", 3, "H200")
				test.want = []model.JobID{1}
			}
			test.make(c)
			if got := jobs(c.plan()); !slices.Equal(got, test.want) {
				t.Errorf("placed %v, want %v", got, test.want)
			}
			if again := c.plan(); len(again) > 0 {
				t.Errorf("left out at first: %v", again)
			}
		})
	}
}

func TestAJobThatOneNodeCanHoldWaitsForIt(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 4, "H200")
	c.node("n2", 4, "H200")
	c.submit(spec("amy", 3, 0), 2, 0)
	c.plan()
	c.submit(spec("amy", 2, 0), 1, 0)
	if got := c.plan(); len(got) > 0 {
		t.Errorf("%v was torn apart", got)
	}
	c.submit(spec("amy", 2, 2), 1, 0)
	if got := jobs(c.plan()); !slices.Equal(got, []model.JobID{3}) {
		t.Errorf("placed %v, want the gang of two nodes", got)
	}
}

func TestABackoffIsWaitedFor(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 1, "H200")
	s := spec("amy", 1, 0)
	s.MaxRetries = 1
	c.submit(s, 1, 0)
	c.plan()
	c.must(&command.Report{
		Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1, Reports: []model.Progress{
			{Rank: model.RankKey{Job: 1, N: 1}, Phase: model.RankExited, Exit: model.Exit{Code: 1}},
		},
		Cleaned: []model.Cleaned{{Slot: model.SlotKey{GPU: "n1-g0"}, Rank: model.RankKey{Job: 1, N: 1}}},
	})
	bodies, next := sched.Plan(&c.s, c.now)
	if len(bodies) > 0 || next != c.now.Add(10*time.Second) {
		t.Fatalf("%d commands, next at +%s", len(bodies), next.Sub(c.now))
	}
	c.now = next
	if got := c.plan(); len(got) != 1 {
		t.Errorf("placed %v once it was due", got)
	}
}

func TestWhatIsKeptGoesToWhomItIsKeptFor(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 1, "H200")
	c.submit(spec("amy", 1, 0), 1, 0)
	c.plan()
	c.submit(spec("amy", 1, 0), 1, 0) // job 2: first, but nothing is kept for it
	c.submit(spec("amy", 1, 0), 1, 0)
	victim := model.RankKey{Job: 1, N: 1}
	c.must(&command.Preempt{
		Victims: []model.AttemptKey{victim.Attempt()}, Beneficiary: model.TaskKey{Job: 3},
		Until: c.now.Add(time.Hour),
	})
	if got := c.plan(); len(got) > 0 {
		t.Errorf("placed %v on a GPU that is in use", got)
	}
	c.must(&command.Report{
		Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1, Reports: []model.Progress{
			{Rank: victim, Phase: model.RankExited, Exit: model.Exit{Delivered: model.ReasonPreempt}},
		},
		Cleaned: []model.Cleaned{{Slot: model.SlotKey{GPU: "n1-g0"}, Rank: victim}},
	})
	if got := jobs(c.plan()); !slices.Equal(got, []model.JobID{3}) {
		t.Errorf("placed %v, want job 3", got)
	}
}

// GPUs are kept for the second of three jobs that are alike. It takes them in its
// turn, once, and the others take what is free.
func TestWhatIsKeptLeavesTheRestAlone(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 3, "H200")
	c.submit(spec("zoe", 1, 0), 1, 0)
	c.plan()
	for range 3 {
		c.submit(spec("amy", 1, 0), 1, 0)
	}
	c.must(&command.Preempt{
		Victims: []model.AttemptKey{{Job: 1, N: 1}}, Beneficiary: model.TaskKey{Job: 3}, Until: c.now.Add(time.Hour),
	})
	c.end(model.TaskKey{Job: 1}, 0)
	if got, request := c.drawn(), []string{"3: n1[0]", "2: n1[1]", "4: n1[2]"}; !slices.Equal(got, request) {
		t.Errorf("placed %v, want %v", got, request)
	}
}

// golden is a cluster and its whole plan, drawn.
type golden struct {
	name string
	make func(*cluster)
	want []string
}

func draw(t *testing.T, tests []golden) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, "priority")
			test.make(c)
			if got := c.drawn(); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestGolden(t *testing.T) {
	draw(t, []golden{
		{"classes first", func(c *cluster) {
			c.node("node-1", 8, "H200")
			c.node("node-2", 8, "H200")
			c.submit(spec("dave", 1, 0), 1, 0)
			c.submit(spec("eve", 2, 0), 1, 0)
			c.submit(spec("bob", 4, 0, class(model.ClassHigh)), 1, 0)
			c.submit(spec("carol", 2, 0, class(model.ClassHigh)), 1, 0)
			c.submit(spec("alice", 8, 0, class(model.ClassCritical)), 1, 0)
		}, []string{"5: node-1[0 1 2 3 4 5 6 7]", "3: node-2[0 1 2 3]", "4: node-2[4 5]", "1: node-2[6]"}},
		{"the tightest hole", func(c *cluster) {
			c.node("n1", 8, "H200")
			c.node("n2", 3, "H200")
			c.node("n3", 2, "H200")
			c.submit(spec("amy", 2, 0), 1, 0)
			c.submit(spec("amy", 2, 0), 1, 0)
			c.submit(spec("amy", 8, 0), 1, 0)
			c.submit(spec("amy", 1, 0), 1, 0)
		}, []string{"1: n3[0 1]", "2: n2[0 1]", "3: n1[0 1 2 3 4 5 6 7]", "4: n2[2]"}},
		{"what is left of a node in this very pass", func(c *cluster) {
			c.node("n1", 6, "H200")
			c.node("n2", 8, "H200")
			c.submit(spec("amy", 7, 0), 1, 0)
			c.submit(spec("amy", 1, 0), 1, 0)
		}, []string{"1: n2[0 1 2 3 4 5 6]", "2: n2[7]"}},
	})
}

func TestGoldenGangsAndTypes(t *testing.T) {
	draw(t, []golden{
		{"gangs of sixteen", func(c *cluster) {
			for _, id := range []string{"n1", "n2", "n3", "n4", "n5"} {
				c.node(id, 8, "H200")
			}
			c.submit(spec("amy", 4, 0), 1, 0)
			c.submit(spec("amy", 16, 2), 1, 0)
			c.submit(spec("bob", 16, 0), 1, 0)
			c.submit(spec("eve", 16, 2), 1, 0)
		}, []string{
			"1: n1[0 1 2 3]", "2: n2[0 1 2 3 4 5 6 7] n3[0 1 2 3 4 5 6 7]",
			"3: n4[0 1 2 3 4 5 6 7] n5[0 1 2 3 4 5 6 7]",
		}},
		{"the rest of what is spread", func(c *cluster) {
			c.node("n1", 8, "H200")
			c.node("n2", 8, "H200")
			c.node("n3", 4, "H200")
			c.submit(spec("amy", 11, 0), 1, 0)
		}, []string{"1: n1[0 1 2 3 4 5 6 7] n3[0 1 2]"}},
		{"types and sizes", func(c *cluster) {
			c.node("n1", 4, "A100")
			c.node("n2", 4, "H200", func(d *model.Device) { d.MemoryMB = 1000 + 1000*(d.Index%2) })
			of := func(name string, memory uint32) func(*model.Spec) {
				return func(s *model.Spec) { s.GPUModel, s.GPUMemoryMB = name, memory }
			}
			c.submit(spec("amy", 3, 0, of("", 2000)), 1, 0)
			c.submit(spec("amy", 2, 0, of("H200", 0)), 1, 0)
			c.submit(spec("amy", 1, 0, of("H200", 2000)), 1, 0)
			c.submit(spec("amy", 1, 0, of("B300", 0)), 1, 0)
			c.submit(spec("amy", 4, 0), 1, 0)
		}, []string{"2: n2[0 1]", "3: n2[3]", "5: n1[0 1 2 3]"}},
		{"services in their turn", func(c *cluster) {
			c.node("n1", 2, "H200")
			c.submit(spec("amy", 1, 0), 1, 0)
			c.allocate("web", 1)
			c.submit(spec("amy", 1, 0), 1, 0)
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
			c := newCluster(t, "fcfs")
			c.node("n1", 8, "H200", test.wire)
			for _, n := range test.gpus {
				c.submit(spec("amy", n, 0), 1, 0)
			}
			if got := c.drawn(); !slices.Equal(got, test.want) {
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
	c := newCluster(t, "fair_share")
	c.tune(func(t *model.Tuning) { *t = model.DefaultTuning() })
	c.node("n1", 2, "H200")
	c.node("n2", 2, "H200")
	key := model.TaskKey{Job: c.submit(spec("amy", 2, 2, func(s *model.Spec) { s.MaxRetries = 1 }), 1, 0)}
	if got := jobs(c.plan()); len(got) != 1 {
		t.Fatalf("at first %v", got)
	}
	c.end(key, 1)
	c.now = c.now.Add(time.Minute)
	if got := c.drawn(); len(got) != 1 {
		t.Errorf("then %v", got)
	}
}

func retryElsewhere(t *testing.T, policy string, tune func(*model.Tuning)) {
	for _, test := range []struct {
		name   string
		make   func(*cluster)
		before string
		after  string
	}{
		{"on another GPU of its node", func(c *cluster) { c.node("n1", 2, "H200") }, "1: n1[0]", "1: n1[1]"},
		{"on another node, though its own fits best", func(c *cluster) {
			c.node("n1", 1, "H200")
			c.node("n2", 2, "H200")
		}, "1: n1[0]", "1: n2[0]"},
		{"where there is only one GPU", func(c *cluster) { c.node("n1", 1, "H200") }, "1: n1[0]", "1: n1[0]"},
		{"where all others take no work", func(c *cluster) {
			c.node("n1", 1, "H200")
			c.node("n2", 2, "H200")
			c.must(&command.SetNodeMode{Node: "n2", Mode: model.ModeCordoned})
		}, "1: n1[0]", "1: n1[0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, policy)
			c.tune(tune)
			test.make(c)
			key := model.TaskKey{Job: c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.MaxRetries = 1 }), 1, 0)}
			if got := c.drawn(); !slices.Equal(got, []string{test.before}) {
				t.Fatalf("at first %v", got)
			}
			c.plan()
			c.end(key, 1)
			c.now = c.now.Add(time.Minute)
			if got := c.drawn(); !slices.Equal(got, []string{test.after}) {
				t.Errorf("then %v, want %s", got, test.after)
			}
		})
	}
}

// A task that waits because only GPUs are free that failed it says so, and starts
// there all the same when it is released.
func TestRetryWaitsForOtherGPUs(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 2, "H200")
	key := model.TaskKey{Job: c.submit(spec("amy", 1, 0, func(s *model.Spec) { s.MaxRetries = 1 }), 1, 0)}
	c.submit(spec("bob", 1, 0), 1, 0)
	c.plan()
	c.end(key, 1)
	c.now = c.now.Add(time.Minute)
	e, _ := explain.Task(&c.s, c.now, key)
	if len(c.plan()) > 0 || len(e.Blockers) != 2 || e.Blockers[0].Code != blocker.CodeAvoid || !strings.Contains(e.Summary, "failed it") {
		t.Fatalf("it is explained by %+v: %s", e.Blockers, e.Summary)
	}
	if i := slices.IndexFunc(e.Unblock, func(u explain.Unblock) bool { return u.Kind == explain.UnblockEnd }); i < 0 || e.Unblock[i].Ends[0].Task.Job != 2 {
		t.Errorf("offered are %+v", e.Unblock)
	}
	c.must(&command.Release{Job: key.Job, Task: model.AllTasks})
	if got := c.plan(); len(got) != 1 {
		t.Errorf("released it is not placed: %v", got)
	}
}
