package sched_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// What is booked on several nodes is cleared on each of them, though GPUs are free elsewhere.
func TestEveryBookedNodeIsCleared(t *testing.T) {
	everyWay(t, func(t *testing.T, c *cluster) {
		c.tune(func(t *model.Tuning) { t.NoPreemption = false })
		for _, id := range []string{"n1", "n2", "n3"} {
			c.node(id, 4, "H200")
		}
		for _, at := range []string{"n1", "n2", "n2"} {
			c.submit(spec("amy", 2, 0, yields, func(s *model.Spec) { s.Nodelist = at }), 1, 0)
		}
		c.plan()
		c.book("bob", 6, time.Hour, time.Hour, func(b *model.Booking) { b.Nodes = "n1 n2" })
		if n := state.OpenBooks(&c.s, c.now).Short(1); n != 4 { // one on n1, three on n2
			t.Errorf("it is short by %d, not 4", n)
		}
		c.now = c.now.Add(time.Hour)
		c.must(&command.AdvanceClock{})
		turnBookings(c)
		c.plan()
		var stopped []model.JobID
		for _, key := range live(c) {
			task, _ := c.s.Tasks.Get(key)
			if a, _ := c.s.Attempts.Get(task.Newest()); a.Stop == model.ReasonPreempt {
				stopped = append(stopped, key.Job)
			}
		}
		if !slices.Equal(stopped, []model.JobID{1, 2, 3}) {
			t.Errorf("%v are suspended, all of which are in the way", stopped)
		}
	})
}
