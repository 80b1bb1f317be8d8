package sched_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

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
			{"a label", schedtest.Spec("amy", 1, 0, schedtest.Where("zone=b", "", "")), []string{"1: n2[0]"}},
			{"none of a label", schedtest.Spec("amy", 1, 0, schedtest.Where("!spot,zone=b", "", "")), []string{"1: n3[0]"}},
			{"a list", schedtest.Spec("amy", 1, 0, schedtest.Where("", "n3", "")), []string{"1: n3[0]"}},
			{"all but some", schedtest.Spec("amy", 1, 0, schedtest.Where("", "", "n1,n2")), []string{"1: n3[0]"}},
			{"a gang", schedtest.Spec("amy", 8, 2, schedtest.Where("zone=b", "", "")), []string{"1: n2[0 1 2 3] n3[0 1 2 3]"}},
			{"a gang that cannot be", schedtest.Spec("amy", 8, 2, schedtest.Where("zone=a", "", "")), nil},
			{"as few nodes as there are", schedtest.Spec("amy", 6, 0, schedtest.Where("zone=b", "", "")), []string{"1: n2[0 1 2 3] n3[0 1]"}},
			{"a label that no node has", schedtest.Spec("amy", 1, 0, schedtest.Where("zone=c", "", "")), nil},
			{"one of two models", schedtest.Spec("amy", 6, 0, func(s *model.Spec) { s.GPUModel = "A100|H200" }), nil},
			{"models and a label", schedtest.Spec("amy", 4, 0, schedtest.Where("zone=b", "", ""), func(s *model.Spec) { s.GPUModel = "H100|H200" }), []string{"1: n3[0 1 2 3]"}},
		} {
			c := schedtest.Zones(t, mode.policy)
			c.Tune(func(t *model.Tuning) { t.Backfill = mode.backfill })
			c.Submit(v.spec, 1, 0)
			if got := c.Drawn(); !slices.Equal(got, v.want) {
				t.Errorf("%s, %s: %v, want %v", mode.policy, v.name, got, v.want)
			}
			c.Plan()
		}
	}
}

// What an operator says of labels counts at once, for what starts from then on.
func TestLabelsChange(t *testing.T) {
	c := schedtest.Zones(t, "fair_share")
	c.Tune(func(t *model.Tuning) { t.Backfill, t.NoPreemption, t.MinRun = model.BackfillReserve, false, 0 })
	c.Submit(schedtest.Spec("amy", 2, 0, schedtest.Where("zone=a", "", ""), func(s *model.Spec) { s.Preemptible = true }), 2, 0)
	if placed := c.Plan(); len(placed) != 2 {
		t.Fatalf("placed %v", placed)
	}
	c.Must(&command.SetNodeLabels{Node: "n1", Changes: "zone-"}, &command.SetNodeLabels{Node: "n3", Changes: "zone=a"})
	c.Submit(schedtest.Spec("amy", 2, 0, schedtest.Where("zone=a", "", "")), 1, 0)
	if got := c.Drawn(); !slices.Equal(got, []string{"2: n3[0 1]"}) {
		t.Errorf("drawn %v", got)
	}
	if c.Plan(); len(schedtest.Live(c)) != 3 {
		t.Errorf("%v run: what ran before a change of labels runs on", schedtest.Live(c))
	}
}

// A reservation is made where the job may be.
func TestReservationsAreWhereJobsMayBe(t *testing.T) {
	c := schedtest.Zones(t, "fcfs")
	c.Tune(func(t *model.Tuning) { t.Backfill = model.BackfillReserve })
	c.Submit(schedtest.Spec("amy", 3, 0, schedtest.Where("zone=a", "", "")), 1, 0)
	c.Plan()
	c.Submit(schedtest.Spec("bob", 4, 0, schedtest.Where("zone=a", "", "")), 1, 0)
	c.Submit(schedtest.Spec("eve", 1, 0, schedtest.Where("zone=a", "", ""), func(s *model.Spec) { s.Estimate = 5 * time.Hour }), 1, 0)
	c.Submit(schedtest.Spec("eve", 4, 0, schedtest.Where("", "n3", "")), 1, 0)
	if got := c.Drawn(); !slices.Equal(got, []string{"4: n3[0 1 2 3]"}) {
		t.Errorf("drawn %v", got)
	}
	e, _ := explain.Task(&c.State, c.Now, model.TaskKey{Job: 3})
	if len(e.Blockers) != 1 || e.Blockers[0].Code != blocker.CodeReserved {
		t.Errorf("blocked by %+v", e.Blockers)
	}
}

func TestServicesSayWhere(t *testing.T) {
	c := schedtest.Zones(t, "fcfs")
	c.Must(&command.Allocate{ID: "web", User: "svc", Class: model.ClassNormal, GPUs: 1, Constraint: "zone=b", Exclude: "n2"})
	if got := c.Drawn(); !slices.Equal(got, []string{"web: n3[0]"}) {
		t.Errorf("drawn %v", got)
	}
	c.Plan()
}

func TestExplainWhere(t *testing.T) {
	schedtest.CheckExplained(t, []schedtest.Explained{
		{
			Name: "a label of a full node", Make: func(c *schedtest.Cluster) {
				c.Must(&command.SetNodeLabels{Node: "n1", Changes: "zone=a"})
				c.Submit(schedtest.Spec("amy", 3, 0, schedtest.Where("zone=a", "", "")), 1, 0)
				c.Plan()
				c.Submit(schedtest.Spec("bob", 2, 0, schedtest.Where("zone=a", "", "")), 1, 0)
			},
			Blockers: "constraint: GPUs are free, but only 1 of them on nodes with zone=a\n" +
				"gpus: it needs 2 GPUs (nodes with zone=a): 1 are free, at most 1 on one node",
			Unblock: "1 node more, with 2 GPUs free and labeled zone=a\njob 1 ends",
		},
		{
			Name: "a label that no node has", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("bob", 1, 0, schedtest.Where("!spot,zone=c", "", "")), 1, 0)
			},
			Blockers: "never: no nodes of the cluster could ever hold it, even if they were empty\n" +
				"constraint: GPUs are free, but none of them on nodes with !spot and zone=c\n" +
				"gpus: it needs 1 GPU (nodes with !spot and zone=c): 0 are free, at most 0 on one node",
			Unblock: "1 node more, with 1 GPU free and labeled zone=c",
		},
		{
			Name: "a node that is full", Make: func(c *schedtest.Cluster) {
				c.Submit(schedtest.Spec("amy", 4, 0, schedtest.Where("", "n1", "")), 1, 0)
				c.Plan()
				c.Submit(schedtest.Spec("bob", 1, 0, schedtest.Where("", "n1", "")), 1, 0)
			},
			Blockers: "constraint: GPUs are free, but none of them on nodes named n1\n" +
				"gpus: it needs 1 GPU (nodes named n1): 0 are free, at most 0 on one node",
			Unblock: "job 1 ends",
		},
	})
}

func TestPossibleWhere(t *testing.T) {
	c := schedtest.Zones(t, "fcfs")
	for _, v := range []struct {
		spec model.Spec
		why  string
	}{
		{schedtest.Spec("amy", 8, 2, schedtest.Where("zone=b", "", "")), ""},
		{schedtest.Spec("amy", 1, 0, schedtest.Where("zone=c", "", "")), "the cluster has no node with zone=c"},
		{schedtest.Spec("amy", 1, 0, schedtest.Where("", "n7,n9", "")), "the cluster has no node named n7 or n9"},
		{schedtest.Spec("amy", 8, 2, schedtest.Where("zone=a", "", "")), "it asks for 2 nodes with 4 GPUs on nodes with zone=a each: the cluster has 1 node of that size"},
		{schedtest.Spec("amy", 9, 0, schedtest.Where("", "", "n1")), "it asks for 9 GPUs on nodes other than n1: the cluster has 8"},
		{schedtest.Spec("amy", 1, 0, schedtest.Where("spot", "", ""), func(s *model.Spec) { s.GPUModel = "B200|H100" }), "the cluster has no GPUs of type B200 or H100 on nodes with spot"},
	} {
		if ok, why := place.Possible(&c.State, &v.spec); ok != (v.why == "") || why != v.why {
			t.Errorf("%t, %q; want %q", ok, why, v.why)
		}
	}
}
