package sched_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// maintain begins a maintenance of an hour.
func maintain(c *cluster, nodes string) {
	c.book("", 0, 0, time.Hour, func(b *model.Booking) {
		b.Kind, b.Owner, b.Nodes = model.BookMaintenance, model.ScopeKey{}, nodes
	})
	turnBookings(c)
}

// over is when it is over.
const over = "from 2023-11-14T22:13:20Z to 2023-11-14T23:13:20Z"

// A maintenance that has begun is named to the tasks that lack its nodes, with its end.
func TestExplainMaintenanceThatHasBegun(t *testing.T) {
	checkExplained(t, []explained{
		{
			"a gang lacks a node", func(c *cluster) {
				maintain(c, "n2")
				c.submit(spec("amy", 4, 2), 1, 0)
			},
			"nodes: it needs 2 nodes, and the cluster has 1 that take work\n" +
				"gpus: it needs 2 GPUs on each of 2 nodes: 4 are free, at most 4 on one node\n" +
				"maintenance: maintenance 1 (" + over + ") has taken n2 out of service",
			"maintenance 1 is over, 2023-11-14T23:13:20Z\nmaintenance 1 is canceled\n1 node more, with 2 GPUs free",
		},
		{
			"all nodes", func(c *cluster) {
				maintain(c, "n1 n2")
				c.submit(spec("amy", 1, 0), 1, 0)
			},
			"nodes: it needs 1 node, and the cluster has 0 that take work\n" +
				"gpus: it needs 1 GPU: 0 are free, at most 0 on one node\n" +
				"maintenance: maintenance 1 (" + over + ") has taken n1 and n2 out of service",
			"maintenance 1 is over, 2023-11-14T23:13:20Z\nmaintenance 1 is canceled\n1 node more, with 1 GPU free",
		},
		{
			"two maintenances", func(c *cluster) {
				maintain(c, "n1")
				maintain(c, "n2")
				c.submit(spec("amy", 4, 2), 1, 0)
			},
			"nodes: it needs 2 nodes, and the cluster has 0 that take work\n" +
				"gpus: it needs 2 GPUs on each of 2 nodes: 0 are free, at most 0 on one node\n" +
				"maintenance: maintenance 1 (" + over + ") has taken n1 out of service\n" +
				"maintenance: maintenance 2 (" + over + ") has taken n2 out of service",
			"maintenance 1 is over, 2023-11-14T23:13:20Z\nmaintenance 2 is over, 2023-11-14T23:13:20Z\n2 nodes more, with 2 GPUs free",
		},
	})
}

// It is not where others are in the way, too, as a way out, nor at all where its nodes are too small.
func TestExplainMaintenanceBesideOthers(t *testing.T) {
	checkExplained(t, []explained{
		{
			"a gang lacks a node, and others run", func(c *cluster) {
				c.submit(spec("bob", 4, 0), 1, 0)
				c.plan()
				maintain(c, "n2")
				c.submit(spec("amy", 4, 2), 1, 0)
			},
			"nodes: it needs 2 nodes, and the cluster has 1 that take work\n" +
				"gpus: it needs 2 GPUs on each of 2 nodes: 0 are free, at most 0 on one node\n" +
				"maintenance: maintenance 1 (" + over + ") has taken n2 out of service",
			"2 nodes more, with 2 GPUs free",
		},
		{
			"it is not to blame", func(c *cluster) {
				c.node("n3", 1, "H200")
				c.submit(spec("bob", 4, 0), 2, 0)
				c.plan()
				maintain(c, "n3")
				c.submit(spec("amy", 4, 0), 1, 0)
			},
			"gpus: it needs 4 GPUs: 0 are free, at most 0 on one node",
			"1 node more, with 4 GPUs free\njob 1 ends\njob 1.1 ends",
		},
	})
}
