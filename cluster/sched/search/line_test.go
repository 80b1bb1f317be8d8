package search_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// A search leaves out small jobs that go last, and plans what it would with them.
func TestLeavingOut(t *testing.T) {
	cut, again := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := crowd(t)
		switch n, short, same := search.LeftOut(&c.State, c.Now); {
		case short:
			again++
		case !same:
			t.Fatalf("%d who were left out would have changed the layout", n)
		case n > 0:
			cut++
		}
	})
	t.Logf("%d searches left somebody out, %d had to look again", cut, again)
	if cut == 0 {
		t.Error("no search left anybody out")
	}
}

// crowd is a cluster with many arrays, some of whose tasks run and some of whose have failed.
func crowd(t *rapid.T) *schedtest.Cluster {
	c, nodes := schedtest.Bookable(t)
	for range rapid.IntRange(0, 10).Draw(t, "steps") {
		schedtest.Mixed(t, c, nodes)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "more nodes") {
		c.Node(fmt.Sprint("m", i), 2, "A")
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "runs") {
		submitMany(t, c, fmt.Sprint("u", i))
		if rapid.IntRange(0, 5).Draw(t, "restricted") == 0 {
			schedtest.Restrict(t, c, fmt.Sprint("u", i), int64(rapid.IntRange(1, 4).Draw(t, "to")))
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "plans") {
		fails := rapid.Bool().Draw(t, "some fail")
		for _, key := range c.Plan() {
			if fails && rapid.Bool().Draw(t, "it") {
				c.End(key, 1)
			} else {
				c.Begin(key)
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "new nodes") {
			c.Node(fmt.Sprint("k", c.State.Nodes.Len()), 2, rapid.SampledFrom([]string{"A", "B"}).Draw(t, "of"))
		}
		c.Now = c.Now.Add(rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 3 * time.Hour}).Draw(t, "passes"))
		c.Must(&command.AdvanceClock{})
	}
	for range rapid.IntRange(0, 3).Draw(t, "bookings") {
		schedtest.BookStep(t, c, nodes)
	}
	return c
}

// Tasks that keep off what failed them are like no others, so that no task that is looked at may be
// like those of their run that are left out.
func TestLeavingOutTasksUnlikeAnyOther(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Tune(func(t *model.Tuning) { t.NoPreemption, t.Backfill = false, model.BackfillReserve })
	of := func(kind string, yields bool) func(*model.Spec) {
		return func(s *model.Spec) { s.GPUModel, s.Preemptible, s.MaxRetries = kind, yields, 3 }
	}
	c.Submit(schedtest.Spec("amy", 1, 0, of("A", true)), 40, 0)
	c.Submit(schedtest.Spec("bob", 1, 0, of("A", true)), 40, 0)
	c.Node("n0", 4, "B")
	c.Submit(schedtest.Spec("eve", 1, 0, of("B", false)), 40, 0)
	for _, key := range c.Plan() {
		c.End(key, 1)
	}
	c.Node("n1", 2, "A")
	c.Node("n2", 4, "B")
	c.Now = c.Now.Add(time.Minute)
	c.Must(&command.AdvanceClock{})
	if placed := c.Plan(); len(placed) != 10 {
		t.Errorf("%d were placed on 10 GPUs", len(placed))
	}
}

// submitMany submits an array, most often of jobs of one GPU.
func submitMany(t *rapid.T, c *schedtest.Cluster, user string) {
	s, throttle := schedtest.Spec(user, 1, 0), 0
	s.Estimate = time.Duration(rapid.IntRange(0, 3).Draw(t, "estimate")) * time.Hour
	s.Preemptible = rapid.Bool().Draw(t, "preemptible")
	s.GPUModel = rapid.SampledFrom([]string{"", "", "A", "A", "B"}).Draw(t, "kind")
	s.MaxRetries = 3
	s.TimeLimit = rapid.SampledFrom([]time.Duration{0, 0, time.Hour}).Draw(t, "time limit")
	switch rapid.IntRange(0, 8).Draw(t, "what") {
	case 0:
		s.GPUs = uint32(rapid.IntRange(2, 5).Draw(t, "each"))
		s.MinGPUs = uint32(rapid.IntRange(1, int(s.GPUs)).Draw(t, "at least"))
		s.MinGPUs %= s.GPUs
	case 1:
		s.GPUs, s.Nodes = 2, uint32(rapid.IntRange(1, 2).Draw(t, "on"))
	case 2:
		throttle = rapid.IntRange(1, 9).Draw(t, "at once")
	}
	c.Submit(s, uint32(rapid.IntRange(10, 40).Draw(t, "tasks")), uint32(throttle))
}
