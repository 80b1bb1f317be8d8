package sched_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func atLeast(n uint32) func(*model.Spec) { return func(s *model.Spec) { s.MinGPUs = n } }

// A job that takes fewer GPUs gets the most that there are, and all if they are there.
func TestFewer(t *testing.T) {
	for _, v := range []struct {
		name string
		busy []uint32 // GPUs taken of three nodes of four
		spec model.Spec
		want string // with which it goes
	}{
		{"all", nil, schedtest.Spec("amy", 4, 0, atLeast(1)), "n1[0 1 2 3]"},
		{"the most on one node", []uint32{3, 1, 2}, schedtest.Spec("amy", 4, 0, atLeast(2)), "n2[1 2 3]"},
		{"not less than it takes", []uint32{3, 2, 3}, schedtest.Spec("amy", 4, 0, atLeast(3)), ""},
		{"on one node", []uint32{3, 2, 3}, schedtest.Spec("amy", 4, 1, atLeast(1)), "n2[2 3]"},
		{"whole nodes fewer", []uint32{1, 3, 2}, schedtest.Spec("amy", 6, 3, atLeast(2)), "n3[2 3] n1[1 2]"},
		{"no parts of nodes", []uint32{3, 3, 3}, schedtest.Spec("amy", 6, 3, atLeast(1)), ""},
		{"whole nodes at least", []uint32{1, 3, 3}, schedtest.Spec("amy", 6, 3, atLeast(3)), ""},
		{"more than a node", []uint32{1, 3, 2}, schedtest.Spec("amy", 9, 0, atLeast(4)), "n1[1 2 3] n3[2 3] n2[3]"},
	} {
		schedtest.BothWays(t, func(t *testing.T, c *schedtest.Cluster) {
			for _, id := range []string{"n1", "n2", "n3"} {
				c.Node(id, 4, "A")
			}
			for i, n := range v.busy {
				if n > 0 {
					c.Submit(schedtest.Spec("bob", n, 0, schedtest.Where("", []string{"n1", "n2", "n3"}[i], "")), 1, 0)
				}
			}
			c.Plan()
			job := c.Submit(v.spec, 1, 0)
			got := ""
			for _, line := range c.Drawn() {
				_, got, _ = strings.Cut(line, ": ")
			}
			e, _ := explain.Task(&c.State, c.Now, model.TaskKey{Job: job})
			if !sameRanks(got, v.want) || (len(e.Blockers) == 0) != (v.want != "") {
				t.Errorf("%s: %q, want %q; blocked by %+v", v.name, got, v.want, e.Blockers)
			}
			c.Plan()
		})
	}
}

// sameRanks says that two lists of ranks differ in their order at most.
func sameRanks(a, b string) bool {
	x, y := strings.SplitAfter(a+" ", "] "), strings.SplitAfter(b+" ", "] ")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// Limits leave a smaller job room, too; the tasks of an array take what is left.
func TestFewerWithinLimits(t *testing.T) {
	schedtest.BothWays(t, func(t *testing.T, c *schedtest.Cluster) {
		c.Node("n1", 8, "A")
		c.Limit("amy", 5, model.Unlimited)
		c.Submit(schedtest.Spec("amy", 8, 0, atLeast(2)), 1, 0)
		if got := c.Drawn(); !slices.Equal(got, []string{"1: n1[0 1 2 3 4]"}) {
			t.Errorf("drawn %q", got)
		}
		c.Plan()
		c.Submit(schedtest.Spec("bob", 2, 0, atLeast(1)), 2, 0)
		if got := c.Drawn(); !slices.Equal(got, []string{"2: n1[5 6]", "2.1: n1[7]"}) {
			t.Errorf("drawn %q", got)
		}
		c.Plan()
		c.Submit(schedtest.Spec("amy", 4, 0, atLeast(1)), 1, 0)
		e, _ := explain.Task(&c.State, c.Now, model.TaskKey{Job: 3})
		if b := e.Blockers[0]; b.Code != blocker.CodeLimit || b.Need != 1 {
			t.Errorf("blocked by %+v", e.Blockers)
		}
	})
}

// One that runs with fewer GPUs counts as what it has: it is suspended for others no
// sooner, and its place holds no more.
func TestFewerInASearch(t *testing.T) {
	c := schedtest.New(t, "fair_share")
	c.Tune(func(t *model.Tuning) { t.Backfill, t.NoPreemption, t.MinRun = model.BackfillReserve, false, 0 })
	c.Node("n1", 4, "A")
	c.Submit(schedtest.Spec("bob", 2, 0), 1, 0)
	c.Plan()
	c.Submit(schedtest.Spec("amy", 4, 0, atLeast(1), func(s *model.Spec) { s.Preemptible = true }), 1, 0)
	if got := c.Drawn(); !slices.Equal(got, []string{"2: n1[2 3]"}) {
		t.Fatalf("drawn %q", got)
	}
	c.Plan()
	c.Begin(model.TaskKey{Job: 2})
	bodies, _ := sched.Plan(&c.State, c.Now)
	for _, b := range bodies {
		if s, is := b.(*command.Suspend); is {
			t.Errorf("suspended %v", s.Attempts)
		}
	}
}

func TestExplainFewer(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "on one node", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 3, 0), 2, 0)
				c.Plan()
				c.Submit(schedtest.Spec("bob", 4, 0, atLeast(2)), 1, 0)
			},
			Blockers: "gpus: it needs 2 to 4 GPUs: 2 are free, at most 1 on one node",
			Unblock:  "1 node more, with 2 GPUs free\njob 1 ends\njob 1.1 ends",
		},
		{
			Name: "on some nodes", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 3, 0), 2, 0)
				c.Plan()
				c.Submit(schedtest.Spec("bob", 6, 3, atLeast(2)), 1, 0)
			},
			Blockers: "gpus: it needs 2 GPUs on each of 1 to 3 nodes: 2 are free, at most 1 on one node",
			Unblock:  "1 node more, with 2 GPUs free\njob 1 ends\njob 1.1 ends",
		},
	})
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 4, "A")
	for least, fits := range map[uint32]bool{4: true, 5: false} {
		s := schedtest.Spec("amy", 8, 1, atLeast(least))
		if ok, why := place.Possible(&c.State, &s); ok != fits {
			t.Errorf("at least %d: %t (%s)", least, ok, why)
		}
	}
}

// A job that takes fewer GPUs does not wait for all of them: what is kept for the job that
// waits first is not kept from itself, however long it is expected to run.
func TestWhoTakesFewerIsNotKeptFromThem(t *testing.T) {
	long := func(s *model.Spec) { s.Estimate = 10 * time.Hour }
	t.Run("others run", func(t *testing.T) {
		c := schedtest.New(t, model.DefaultPolicy)
		c.Must(&command.SetTuning{Tuning: model.DefaultTuning()})
		c.Node("n1", 2, "A")
		c.Node("n2", 2, "A")
		c.Submit(schedtest.Spec("bob", 2, 0), 1, 0)
		c.Plan()
		job := c.Submit(schedtest.Spec("amy", 4, 0, atLeast(1), long), 1, 0)
		if got := schedtest.Jobs(c.Plan()); !slices.Equal(got, []model.JobID{job}) {
			e, _ := explain.Task(&c.State, c.Now, model.TaskKey{Job: job})
			t.Errorf("placed are %v; kept by %+v", got, e.Blockers)
		}
	})
	t.Run("it has failed on the others", func(t *testing.T) {
		c := schedtest.New(t, model.DefaultPolicy)
		c.Must(&command.SetTuning{Tuning: model.DefaultTuning()})
		c.Node("n1", 2, "A")
		c.Node("n2", 2, "A")
		job := c.Submit(schedtest.Spec("amy", 4, 0, atLeast(1), func(s *model.Spec) { s.MaxRetries = 1 }), 1, 0)
		key := model.TaskKey{Job: job}
		c.Plan()
		c.Begin(key)
		c.End(key, 1)
		c.Now = c.Now.Add(time.Hour)
		c.Must(&command.AdvanceClock{})
		if got := c.Plan(); !slices.Equal(got, []model.TaskKey{key}) {
			e, _ := explain.Task(&c.State, c.Now, key)
			t.Errorf("placed are %v; kept by %+v", got, e.Blockers)
		}
	})
}
