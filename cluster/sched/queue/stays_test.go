package queue_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// How long a waiting job would be in the way of a large one is known to the second: the steps of run times, by which waiting jobs are
// grouped, are too coarse for a job of some seconds to pass.
func TestAStayIsToTheSecond(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	for _, long := range []time.Duration{20 * time.Second, 70 * time.Second, 11 * time.Minute} {
		c.Submit(1, func(b *command.Submit) { b.Spec.Estimate = long })
		o := queue.NewOrdering(&c.State, c.State.Settings().Clock)
		for _, strictly := range []bool{false, true} {
			for k := range c.State.Queue.All() {
				if task, _ := c.State.Tasks.Get(k.Task); task.Expected == long {
					if got := o.Stay(k, strictly).Ends; got != int64(long/time.Second) {
						t.Errorf("a job of %s, strictly: %t, is in the way for %d s", long, strictly, got)
					}
				}
			}
		}
	}
}
