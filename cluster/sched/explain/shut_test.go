package explain_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/model"
)

// maintain begins a maintenance of an hour.
func maintain(c *schedtest.Cluster, nodes string) {
	c.Book("", 0, 0, time.Hour, func(b *model.Booking) {
		b.Kind, b.Owner, b.Nodes = model.BookMaintenance, model.ScopeKey{}, nodes
	})
	schedtest.TurnBookings(c)
}

// A maintenance that has begun is named to the tasks that lack its nodes, with its end.
func TestExplainMaintenanceThatHasBegun(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "a gang lacks a node", Make: func(c *schedtest.Cluster) {
				maintain(c, "n2")
				c.Submit(schedtest.Spec("amy", 4, 2), 1, 0)
			},
			Blockers: "nodes: it needs 2 nodes, and the cluster has 1 that take work\n" +
				"gpus: it needs 2 GPUs on each of 2 nodes: 4 are free, at most 4 on one node\n" +
				"maintenance: maintenance 1 (" + schedtest.Over + ") has taken n2 out of service",
			Unblock: "maintenance 1 is over, 2023-11-14T23:13:20Z\nmaintenance 1 is canceled\n1 node more, with 2 GPUs free",
		},
		{
			Name: "all nodes", Make: func(c *schedtest.Cluster) {
				maintain(c, "n1 n2")
				c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
			},
			Blockers: "nodes: it needs 1 node, and the cluster has 0 that take work\n" +
				"gpus: it needs 1 GPU: 0 are free, at most 0 on one node\n" +
				"maintenance: maintenance 1 (" + schedtest.Over + ") has taken n1 and n2 out of service",
			Unblock: "maintenance 1 is over, 2023-11-14T23:13:20Z\nmaintenance 1 is canceled\n1 node more, with 1 GPU free",
		},
		{
			Name: "two maintenances", Make: func(c *schedtest.Cluster) {
				maintain(c, "n1")
				maintain(c, "n2")
				c.Submit(schedtest.Spec("amy", 4, 2), 1, 0)
			},
			Blockers: "nodes: it needs 2 nodes, and the cluster has 0 that take work\n" +
				"gpus: it needs 2 GPUs on each of 2 nodes: 0 are free, at most 0 on one node\n" +
				"maintenance: maintenance 1 (" + schedtest.Over + ") has taken n1 out of service\n" +
				"maintenance: maintenance 2 (" + schedtest.Over + ") has taken n2 out of service",
			Unblock: "maintenance 1 is over, 2023-11-14T23:13:20Z\nmaintenance 2 is over, 2023-11-14T23:13:20Z\n2 nodes more, with 2 GPUs free",
		},
	})
}

// It is not where others are in the way, too, as a way out, nor at all where its nodes are too small.
func TestExplainMaintenanceBesideOthers(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "a gang lacks a node, and others run", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("bob", 4, 0), 1, 0)
				c.Plan()
				maintain(c, "n2")
				c.Submit(schedtest.Spec("amy", 4, 2), 1, 0)
			},
			Blockers: "nodes: it needs 2 nodes, and the cluster has 1 that take work\n" +
				"gpus: it needs 2 GPUs on each of 2 nodes: 0 are free, at most 0 on one node\n" +
				"maintenance: maintenance 1 (" + schedtest.Over + ") has taken n2 out of service",
			Unblock: "2 nodes more, with 2 GPUs free",
		},
		{
			Name: "it is not to blame", Make: func(c *schedtest.Cluster) {
				c.Node("n3", 1, "H200")
				c.Submit(schedtest.Spec("bob", 4, 0), 2, 0)
				c.Plan()
				maintain(c, "n3")
				c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
			},
			Blockers: "gpus: it needs 4 GPUs: 0 are free, at most 0 on one node",
			Unblock:  "1 node more, with 4 GPUs free\njob 1 ends\njob 1.1 ends",
		},
	})
}
