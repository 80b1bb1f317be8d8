package sched_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func where(constraint, nodelist, exclude string) func(*model.Spec) {
	return func(s *model.Spec) { s.Constraint, s.Nodelist, s.Exclude = constraint, nodelist, exclude }
}

// zones is a cluster of three nodes in two zones, of four GPUs each.
func zones(t *testing.T, policy string) *cluster {
	c := newCluster(t, policy)
	c.labeled("n1", "zone=a", 4, "H100")
	c.labeled("n2", "spot,zone=b", 4, "A100")
	c.labeled("n3", "zone=b", 4, "H100")
	return c
}

// Both the pass in order and the search put jobs where they may be, and nowhere else.
func TestWhereJobsMayBe(t *testing.T) {
	for _, mode := range []struct {
		policy   string
		backfill model.Backfill
	}{{"fcfs", model.BackfillSkip}, {"fair_share", model.BackfillReserve}} {
		for _, v := range []struct {
			name string
			spec model.Spec
			want []string
		}{
			{"a label", spec("amy", 1, 0, where("zone=b", "", "")), []string{"1: n2[0]"}},
			{"none of a label", spec("amy", 1, 0, where("!spot,zone=b", "", "")), []string{"1: n3[0]"}},
			{"a list", spec("amy", 1, 0, where("", "n3", "")), []string{"1: n3[0]"}},
			{"all but some", spec("amy", 1, 0, where("", "", "n1,n2")), []string{"1: n3[0]"}},
			{"a gang", spec("amy", 8, 2, where("zone=b", "", "")), []string{"1: n2[0 1 2 3] n3[0 1 2 3]"}},
			{"a gang that cannot be", spec("amy", 8, 2, where("zone=a", "", "")), nil},
			{"as few nodes as there are", spec("amy", 6, 0, where("zone=b", "", "")), []string{"1: n2[0 1 2 3] n3[0 1]"}},
			{"a label that no node has", spec("amy", 1, 0, where("zone=c", "", "")), nil},
			{"one of two models", spec("amy", 6, 0, func(s *model.Spec) { s.GPUModel = "A100|H200" }), nil},
			{"models and a label", spec("amy", 4, 0, where("zone=b", "", ""), func(s *model.Spec) { s.GPUModel = "H100|H200" }), []string{"1: n3[0 1 2 3]"}},
		} {
			c := zones(t, mode.policy)
			c.tune(func(t *model.Tuning) { t.Backfill = mode.backfill })
			c.submit(v.spec, 1, 0)
			if got := c.drawn(); !slices.Equal(got, v.want) {
				t.Errorf("%s, %s: %v, want %v", mode.policy, v.name, got, v.want)
			}
			c.plan()
		}
	}
}

// What an operator says of labels counts at once, for what starts from then on.
func TestLabelsChange(t *testing.T) {
	c := zones(t, "fair_share")
	c.tune(func(t *model.Tuning) { t.Backfill, t.NoPreemption, t.MinRun = model.BackfillReserve, false, 0 })
	c.submit(spec("amy", 2, 0, where("zone=a", "", ""), func(s *model.Spec) { s.Preemptible = true }), 2, 0)
	if placed := c.plan(); len(placed) != 2 {
		t.Fatalf("placed %v", placed)
	}
	c.must(&command.SetNodeLabels{Node: "n1", Changes: "zone-"}, &command.SetNodeLabels{Node: "n3", Changes: "zone=a"})
	c.submit(spec("amy", 2, 0, where("zone=a", "", "")), 1, 0)
	if got := c.drawn(); !slices.Equal(got, []string{"2: n3[0 1]"}) {
		t.Errorf("drawn %v", got)
	}
	if c.plan(); len(live(c)) != 3 {
		t.Errorf("%v run: what ran before a change of labels runs on", live(c))
	}
}

// A reservation is made where the job may be.
func TestReservationsAreWhereJobsMayBe(t *testing.T) {
	c := zones(t, "fcfs")
	c.tune(func(t *model.Tuning) { t.Backfill = model.BackfillReserve })
	c.submit(spec("amy", 3, 0, where("zone=a", "", "")), 1, 0)
	c.plan()
	c.submit(spec("bob", 4, 0, where("zone=a", "", "")), 1, 0)
	c.submit(spec("eve", 1, 0, where("zone=a", "", ""), func(s *model.Spec) { s.Estimate = 5 * time.Hour }), 1, 0)
	c.submit(spec("eve", 4, 0, where("", "n3", "")), 1, 0)
	if got := c.drawn(); !slices.Equal(got, []string{"4: n3[0 1 2 3]"}) {
		t.Errorf("drawn %v", got)
	}
	e, _ := explain.Task(&c.s, c.now, model.TaskKey{Job: 3})
	if len(e.Blockers) != 1 || e.Blockers[0].Code != blocker.CodeReserved {
		t.Errorf("blocked by %+v", e.Blockers)
	}
}

func TestServicesSayWhere(t *testing.T) {
	c := zones(t, "fcfs")
	c.must(&command.Allocate{ID: "web", User: "svc", Class: model.ClassNormal, GPUs: 1, Constraint: "zone=b", Exclude: "n2"})
	if got := c.drawn(); !slices.Equal(got, []string{"web: n3[0]"}) {
		t.Errorf("drawn %v", got)
	}
	c.plan()
}

func TestExplainWhere(t *testing.T) {
	checkExplained(t, []explained{
		{
			"a label of a full node", func(c *cluster) {
				c.must(&command.SetNodeLabels{Node: "n1", Changes: "zone=a"})
				c.submit(spec("amy", 3, 0, where("zone=a", "", "")), 1, 0)
				c.plan()
				c.submit(spec("bob", 2, 0, where("zone=a", "", "")), 1, 0)
			},
			"constraint: GPUs are free, but only 1 of them on nodes with zone=a\n" +
				"gpus: it needs 2 GPUs (nodes with zone=a): 1 are free, at most 1 on one node",
			"1 node more, with 2 GPUs free and labeled zone=a\njob 1 ends",
		},
		{
			"a label that no node has", func(c *cluster) { c.submit(spec("bob", 1, 0, where("!spot,zone=c", "", "")), 1, 0) },
			"never: no nodes of the cluster could ever hold it, even if they were empty\n" +
				"constraint: GPUs are free, but none of them on nodes with !spot and zone=c\n" +
				"gpus: it needs 1 GPU (nodes with !spot and zone=c): 0 are free, at most 0 on one node",
			"1 node more, with 1 GPU free and labeled zone=c",
		},
		{
			"a node that is full", func(c *cluster) {
				c.submit(spec("amy", 4, 0, where("", "n1", "")), 1, 0)
				c.plan()
				c.submit(spec("bob", 1, 0, where("", "n1", "")), 1, 0)
			},
			"constraint: GPUs are free, but none of them on nodes named n1\n" +
				"gpus: it needs 1 GPU (nodes named n1): 0 are free, at most 0 on one node",
			"job 1 ends",
		},
	})
}

func TestPossibleWhere(t *testing.T) {
	c := zones(t, "fcfs")
	for _, v := range []struct {
		spec model.Spec
		why  string
	}{
		{spec("amy", 8, 2, where("zone=b", "", "")), ""},
		{spec("amy", 1, 0, where("zone=c", "", "")), "the cluster has no node with zone=c"},
		{spec("amy", 1, 0, where("", "n7,n9", "")), "the cluster has no node named n7 or n9"},
		{spec("amy", 8, 2, where("zone=a", "", "")), "it asks for 2 nodes with 4 GPUs on nodes with zone=a each: the cluster has 1 node of that size"},
		{spec("amy", 9, 0, where("", "", "n1")), "it asks for 9 GPUs on nodes other than n1: the cluster has 8"},
		{spec("amy", 1, 0, where("spot", "", ""), func(s *model.Spec) { s.GPUModel = "B200|H100" }), "the cluster has no GPUs of type B200 or H100 on nodes with spot"},
	} {
		if ok, why := place.Possible(&c.s, &v.spec); ok != (v.why == "") || why != v.why {
			t.Errorf("%t, %q; want %q", ok, why, v.why)
		}
	}
}
