package sched_test

import (
	"slices"
	"testing"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// A node that runs jobs of one user only gets no others, whether a pass goes in order or searches.
// Users with the same shape of job do not keep each other from other nodes.
func TestPrivateNodes(t *testing.T) {
	for _, policy := range []string{"fcfs", "fair_share"} {
		c := newCluster(t, policy)
		c.node("n1", 4, "H100")
		c.node("n2", 2, "H100")
		c.private("n1", "amy")
		for _, user := range []string{"bob", "cat", "dan", "amy"} {
			c.submit(spec(user, 2, 0), 1, 0)
		}
		got := c.drawn()
		slices.Sort(got)
		if request := []string{"1: n2[0 1]", "4: n1[0 1]"}; !slices.Equal(got, request) {
			t.Errorf("%s: %v, want %v", policy, got, request)
		}
		c.plan()
	}
}

// A job is not suspended or preempted for a user whose jobs do not run there.
func TestPrivateNodesPreempt(t *testing.T) {
	c := newCluster(t, "fair_share")
	c.tune(func(t *model.Tuning) { t.NoPreemption = false })
	c.node("n1", 2, "H100")
	c.private("n1", "amy")
	c.submit(spec("amy", 2, 0, func(s *model.Spec) { s.Preemptible = true }), 1, 0)
	for _, key := range c.plan() {
		c.begin(key)
	}
	for _, user := range []string{"bob", "cat"} {
		c.submit(spec(user, 2, 0, func(s *model.Spec) { s.Class = model.ClassCritical }), 1, 0)
	}
	if got := c.drawn(); len(got) > 0 {
		t.Errorf("drawn %v", got)
	}
}

// What runs on a node when it begins to run jobs of another user only stays there.
func TestANodeBecomesPrivate(t *testing.T) {
	for _, policy := range []string{"fcfs", "fair_share"} {
		c := newCluster(t, policy)
		c.tune(func(t *model.Tuning) { t.NoPreemption = false })
		c.node("n1", 4, "H100")
		c.submit(spec("bob", 2, 0, func(s *model.Spec) { s.Preemptible = true }), 2, 0)
		for _, key := range c.plan() {
			c.begin(key)
		}
		c.private("n1", "amy")
		c.submit(spec("bob", 1, 0), 1, 0)
		if got := c.drawn(); len(got) > 0 {
			t.Errorf("%s: drawn %v", policy, got)
		}
	}
}

func TestServicesOnPrivateNodes(t *testing.T) {
	c := newCluster(t, "fcfs")
	c.node("n1", 4, "H100")
	c.private("n1", "amy")
	c.must(&command.Allocate{ID: "web", User: "svc", Class: model.ClassNormal, GPUs: 1})
	if got := c.drawn(); !slices.Equal(got, []string{"web: n1[0]"}) {
		t.Errorf("drawn %v", got)
	}
	c.plan()
}

const remedy = " would suit, but jobs run there under the account of the node's agent, and only those of the user of that name: " +
	"set agent.run_as_users: true there and run the agent as root, or agent.shared_account: true"

func TestExplainPrivateNodes(t *testing.T) {
	checkExplained(t, []explained{
		{
			"all nodes", func(c *cluster) {
				c.private("n1", "amy")
				c.private("n2", "cat")
				c.submit(spec("bob", 1, 0), 1, 0)
			},
			"accounts: n1 and n2" + remedy + "\ngpus: it needs 1 GPU: 0 are free, at most 0 on one node",
			"1 node more, with 1 GPU free",
		},
		{
			"a node", func(c *cluster) {
				c.private("n2", "cat")
				c.submit(spec("amy", 4, 0), 1, 0)
				c.plan()
				c.submit(spec("bob", 4, 0), 1, 0)
			},
			"accounts: n2" + remedy + "\ngpus: it needs 4 GPUs: 0 are free, at most 0 on one node",
			"1 node more, with 4 GPUs free\njob 1 ends",
		},
	})
}

func TestPossibleOnPrivateNodes(t *testing.T) {
	c := zones(t, "fcfs")
	c.private("n1", "amy")
	for _, v := range []struct {
		spec model.Spec
		why  string
	}{
		{spec("amy", 1, 0, where("zone=a", "", "")), ""},
		{spec("bob", 1, 0), ""},
		{spec("bob", 1, 0, where("zone=a", "", "")), "n1" + remedy},
		{spec("bob", 12, 3), "n1" + remedy},
		{spec("bob", 16, 4), "it asks for 4 nodes with 4 GPUs each: the cluster has 3 nodes of that size"},
	} {
		if ok, why := place.Possible(&c.s, &v.spec); ok != (v.why == "") || why != v.why {
			t.Errorf("%t, %q; want %q", ok, why, v.why)
		}
	}
}
