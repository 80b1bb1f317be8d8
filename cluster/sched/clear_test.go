package sched_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// What is booked on several nodes is cleared on each of them, though GPUs are free elsewhere.
func TestEveryBookedNodeIsCleared(t *testing.T) {
	everyWay(t, func(t *testing.T, c *schedtest.Cluster) {
		c.Tune(func(t *model.Tuning) { t.NoPreemption = false })
		for _, id := range []string{"n1", "n2", "n3"} {
			c.Node(id, 4, "H200")
		}
		for _, at := range []string{"n1", "n2", "n2"} {
			c.Submit(schedtest.Spec("amy", 2, 0, schedtest.Yields, func(s *model.Spec) { s.Nodelist = at }), 1, 0)
		}
		c.Plan()
		c.Book("bob", 6, time.Hour, time.Hour, func(b *model.Booking) { b.Nodes = "n1 n2" })
		if n := state.OpenBooks(&c.State, c.Now).Short(1); n != 4 { // one on n1, three on n2
			t.Errorf("it is short by %d, not 4", n)
		}
		c.Now = c.Now.Add(time.Hour)
		c.Must(&command.AdvanceClock{})
		schedtest.TurnBookings(c)
		c.Plan()
		var stopped []model.JobID
		for _, key := range schedtest.Live(c) {
			task, _ := c.State.Tasks.Get(key)
			if a, _ := c.State.Attempts.Get(task.Newest()); a.Stop == model.ReasonPreempt {
				stopped = append(stopped, key.Job)
			}
		}
		if !slices.Equal(stopped, []model.JobID{1, 2, 3}) {
			t.Errorf("%v are suspended, all of which are in the way", stopped)
		}
	})
}
