package explain_test

import (
	"fmt"
	"testing"

	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Nodes whose agents can start nothing are named with the reason, if the task may be on them.
func TestExplainDegradedNodes(t *testing.T) {
	t.Parallel()
	trouble := func(c *schedtest.Cluster, id model.NodeID, why string) {
		node, _ := c.State.Nodes.Get(id)
		b := &command.Inventory{Node: id, Incarnation: model.Incarnation{1}, Epoch: node.Epoch, Trouble: why}
		for i := range uint32(4) {
			b.Devices = append(b.Devices, model.Device{
				ID: model.GPUID(fmt.Sprintf("%s-g%d", id, i)), Index: i, Model: "H200", MemoryMB: 1000, Health: model.HealthHealthy, Idle: true,
			})
		}
		c.Must(b)
	}
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "one of two", Make: func(c *schedtest.Cluster) {
				trouble(c, "n2", "the disk of the data folder is full")
				c.Submit(schedtest.Spec("amy", 4, 2), 1, 0)
			},
			Blockers: "nodes: it needs 2 nodes, and the cluster has 1 that take work\n" +
				"gpus: it needs 2 GPUs on each of 2 nodes: 4 are free, at most 4 on one node\n" +
				"degraded: 1 node is degraded: the disk of the data folder is full (n2)",
			Unblock: "1 node more, with 2 GPUs free",
		},
		{
			Name: "all, for two reasons", Make: func(c *schedtest.Cluster) {
				trouble(c, "n1", "no supervisor")
				trouble(c, "n2", "the disk of the data folder is full")
				c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
			},
			Blockers: "nodes: it needs 1 node, and the cluster has 0 that take work\n" +
				"gpus: it needs 1 GPU: 0 are free, at most 0 on one node\n" +
				"degraded: 2 nodes are degraded: no supervisor (n1); the disk of the data folder is full (n2)",
			Unblock: "1 node more, with 1 GPU free",
		},
		{
			Name: "a node that it may not be on", Make: func(c *schedtest.Cluster) {
				trouble(c, "n1", "no supervisor")
				s := schedtest.Spec("amy", 5, 0)
				s.Nodelist = "n2"
				c.Submit(s, 1, 0)
			},
			Blockers: "never: no nodes of the cluster could ever hold it, even if they were empty\n" +
				"gpus: it needs 5 GPUs (nodes named n2): 4 are free, at most 4 on one node",
			Unblock: "",
		},
	})
}
