package place_test

import (
	"slices"
	"testing"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// A node that runs jobs of one user only gets no others, whether a pass goes in order or searches.
// Users with the same shape of job do not keep each other from other nodes.
func TestPrivateNodes(t *testing.T) {
	for _, policy := range []string{"fcfs", "fair_share"} {
		c := schedtest.New(t, policy)
		c.Node("n1", 4, "H100")
		c.Node("n2", 2, "H100")
		c.Private("n1", "amy")
		for _, user := range []string{"bob", "cat", "dan", "amy"} {
			c.Submit(schedtest.Spec(user, 2, 0), 1, 0)
		}
		got := c.Drawn()
		slices.Sort(got)
		if request := []string{"1: n2[0 1]", "4: n1[0 1]"}; !slices.Equal(got, request) {
			t.Errorf("%s: %v, want %v", policy, got, request)
		}
		c.Plan()
	}
}

// A job is not suspended or preempted for a user whose jobs do not run there.
func TestPrivateNodesPreempt(t *testing.T) {
	c := schedtest.New(t, "fair_share")
	c.Tune(func(t *model.Tuning) { t.NoPreemption = false })
	c.Node("n1", 2, "H100")
	c.Private("n1", "amy")
	c.Submit(schedtest.Spec("amy", 2, 0, func(s *model.Spec) { s.Preemptible = true }), 1, 0)
	for _, key := range c.Plan() {
		c.Begin(key)
	}
	for _, user := range []string{"bob", "cat"} {
		c.Submit(schedtest.Spec(user, 2, 0, func(s *model.Spec) { s.Class = model.ClassCritical }), 1, 0)
	}
	if got := c.Drawn(); len(got) > 0 {
		t.Errorf("drawn %v", got)
	}
}

// What runs on a node when it begins to run jobs of another user only stays there.
func TestANodeBecomesPrivate(t *testing.T) {
	for _, policy := range []string{"fcfs", "fair_share"} {
		c := schedtest.New(t, policy)
		c.Tune(func(t *model.Tuning) { t.NoPreemption = false })
		c.Node("n1", 4, "H100")
		c.Submit(schedtest.Spec("bob", 2, 0, func(s *model.Spec) { s.Preemptible = true }), 2, 0)
		for _, key := range c.Plan() {
			c.Begin(key)
		}
		c.Private("n1", "amy")
		c.Submit(schedtest.Spec("bob", 1, 0), 1, 0)
		if got := c.Drawn(); len(got) > 0 {
			t.Errorf("%s: drawn %v", policy, got)
		}
	}
}

func TestServicesOnPrivateNodes(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 4, "H100")
	c.Private("n1", "amy")
	c.Must(&command.Allocate{ID: "web", User: "svc", Class: model.ClassNormal, GPUs: 1})
	if got := c.Drawn(); !slices.Equal(got, []string{"web: n1[0]"}) {
		t.Errorf("drawn %v", got)
	}
	c.Plan()
}

const remedy = " would suit, but jobs run there under the account of the node's agent, and only those of the user of that name: " +
	"set agent.run_as_users: true there and run the agent as root, or agent.shared_account: true"

func TestExplainPrivateNodes(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "all nodes", Make: func(c *schedtest.Cluster) {
				c.Private("n1", "amy")
				c.Private("n2", "cat")
				c.Submit(schedtest.Spec("bob", 1, 0), 1, 0)
			},
			Blockers: "accounts: n1 and n2" + remedy + "\ngpus: it needs 1 GPU: 0 are free, at most 0 on one node",
			Unblock:  "1 node more, with 1 GPU free",
		},
		{
			Name: "a node", Make: func(c *schedtest.Cluster) {
				c.Private("n2", "cat")
				c.Submit(schedtest.Spec("amy", 4, 0), 1, 0)
				c.Plan()
				c.Submit(schedtest.Spec("bob", 4, 0), 1, 0)
			},
			Blockers: "accounts: n2" + remedy + "\ngpus: it needs 4 GPUs: 0 are free, at most 0 on one node",
			Unblock:  "1 node more, with 4 GPUs free\njob 1 ends",
		},
	})
}

func TestPossibleOnPrivateNodes(t *testing.T) {
	c := schedtest.Zones(t, "fcfs")
	c.Private("n1", "amy")
	for _, v := range []struct {
		spec model.Spec
		why  string
	}{
		{schedtest.Spec("amy", 1, 0, schedtest.Where("zone=a", "", "")), ""},
		{schedtest.Spec("bob", 1, 0), ""},
		{schedtest.Spec("bob", 1, 0, schedtest.Where("zone=a", "", "")), "n1" + remedy},
		{schedtest.Spec("bob", 12, 3), "n1" + remedy},
		{schedtest.Spec("bob", 16, 4), "it asks for 4 nodes with 4 GPUs each: the cluster has 3 nodes of that size"},
	} {
		if ok, why := place.Possible(&c.State, &v.spec); ok != (v.why == "") || why != v.why {
			t.Errorf("%t, %q; want %q", ok, why, v.why)
		}
	}
}
