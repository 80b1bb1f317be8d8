package sched_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// However many instants there are at which GPUs become free, and at one pace there are
// more than at another, a forecast of each pace is about the same tasks.
func TestForecastsOfManyInstants(t *testing.T) {
	c := newCluster(t, "fcfs")
	const nodes = 1100
	for i := range nodes {
		c.node(fmt.Sprint("n", i), 2, "A")
	}
	for _, limit := range []time.Duration{2 * time.Hour, 3 * time.Hour} {
		c.submit(spec("amy", 1, 1, func(s *model.Spec) { s.Estimate, s.TimeLimit = time.Hour, limit }), nodes, 0)
	}
	for task := range model.JobID(2) { // one of each job on each node
		for i := range nodes {
			key := model.TaskKey{Job: task + 1, Task: uint32(i)}
			id := model.NodeID(fmt.Sprint("n", i))
			node, _ := c.s.Nodes.Get(id)
			c.must(&command.Place{Attempt: key.Attempt(1), Decided: c.s.Index, Ranks: []command.Placement{
				{Node: id, Epoch: node.Epoch, Slots: []model.SlotKey{{GPU: model.GPUID(fmt.Sprintf("%s-g%d", id, task))}}},
			}})
		}
	}
	c.submit(spec("bob", 1, 1), 300, 0)
	f := sched.Foresee(&c.s, c.now)
	if len(f.Waiting) < 200 || len(f.Waiting)+f.Beyond != 300 {
		t.Errorf("%d tasks are foreseen, %d are not", len(f.Waiting), f.Beyond)
	}
}
