package sched_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/command"
)

// A search leaves out small jobs that go last, and plans what it would with them.
func TestLeavingOut(t *testing.T) {
	cut, short := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := randomTuned(t)
		for range rapid.IntRange(0, 10).Draw(t, "steps") {
			step(t, c, nodes)
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "more nodes") {
			c.node(fmt.Sprint("m", i), 2, "A")
		}
		for i := range rapid.IntRange(0, 12).Draw(t, "runs") {
			submitMany(t, c, fmt.Sprint("u", i))
			if rapid.IntRange(0, 5).Draw(t, "restricted") == 0 {
				restrict(t, c, fmt.Sprint("u", i), int64(rapid.IntRange(1, 4).Draw(t, "to")))
			}
		}
		if rapid.Bool().Draw(t, "some run") {
			for _, key := range c.plan() {
				c.begin(key)
			}
			c.now = c.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "hours")) * time.Hour)
			c.must(&command.AdvanceClock{})
		}
		n, again, same := sched.LeavesOut(&c.s, c.now)
		switch {
		case again:
			short++
		case !same:
			t.Fatalf("%d who were left out would have changed the layout", n)
		case n > 0:
			cut++
		}
	})
	t.Logf("%d searches left somebody out, %d had to look again", cut, short)
	if cut == 0 {
		t.Error("no search left anybody out")
	}
}

// submitMany submits an array, most often of jobs of one GPU.
func submitMany(t *rapid.T, c *cluster, user string) {
	s, throttle := spec(user, 1, 0), 0
	s.Estimate = time.Duration(rapid.IntRange(0, 3).Draw(t, "estimate")) * time.Hour
	s.Preemptible = rapid.Bool().Draw(t, "preemptible")
	s.GPUModel = rapid.SampledFrom([]string{"", "", "A"}).Draw(t, "kind")
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
	c.submit(s, uint32(rapid.IntRange(10, 40).Draw(t, "tasks")), uint32(throttle))
}
