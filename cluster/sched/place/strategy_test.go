package place_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func placedBy(s model.Strategy) func(*model.Spec) {
	return func(spec *model.Spec) { spec.Placement = s.String() }
}

// nodes lists where the jobs of a plan go, by job.
func nodesGiven(c *schedtest.Cluster, loads place.Loads) (out []string) {
	bodies, _, _ := c.DecideLoaded(loads)
	for _, b := range bodies {
		if p, is := b.(*command.Place); is {
			for _, r := range p.Ranks {
				out = append(out, string(r.Node))
			}
		}
	}
	c.Must(bodies...)
	return out
}

// Single GPUs on three nodes, of which the first has a job already and the last is the
// largest: each strategy takes the nodes in its own order.
func TestStrategies(t *testing.T) {
	for _, v := range []struct {
		strategy model.Strategy
		loads    place.Loads
		want     []string
	}{
		{model.StrategyBestFit, nil, []string{"n1", "n2", "n2", "n2", "n3"}},
		{model.StrategySpread, nil, []string{"n3", "n3", "n2", "n3", "n2"}},
		{model.StrategyRoundRobin, nil, []string{"n2", "n3", "n1", "n2", "n3"}},
		{model.StrategyLeastLoaded, nil, []string{"n1", "n2", "n2", "n2", "n3"}},
		{model.StrategyLeastLoaded, place.Loads{"n1": 60, "n2": 40, "n3": 10}, []string{"n3", "n3", "n2", "n3", "n1"}},
		{model.StrategyLeastLoaded, place.Loads{"n1": 99, "n2": 99}, []string{"n1", "n2", "n2", "n2", "n3"}},
		{model.StrategyLeastLoaded, place.Loads{"n2": 99}, []string{"n2", "n2", "n2", "n1", "n3"}},
		{model.StrategyLeastLoaded, place.Loads{"n1": 9, "n2": 3, "n3": 5}, []string{"n1", "n2", "n3", "n3", "n2"}},
	} {
		schedtest.BothWays(t, func(t *testing.T, c *schedtest.Cluster) {
			c.Node("n1", 2, "A")
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
			c.Plan()
			c.Node("n2", 3, "A")
			c.Node("n3", 5, "A")
			own := c.Copied()
			c.Tune(func(t *model.Tuning) { t.Placement = v.strategy })
			c.Submit(schedtest.Spec("amy", 1, 0), 5, 0)
			if got := nodesGiven(c, v.loads); !slices.Equal(got, v.want) {
				t.Errorf("%s, loads %v: %v, want %v", v.strategy, v.loads, got, v.want)
			}
			own.Submit(schedtest.Spec("amy", 1, 0, placedBy(v.strategy)), 5, 0)
			if got := nodesGiven(own, v.loads); !slices.Equal(got, v.want) {
				t.Errorf("%s asked for by the job, loads %v: %v, want %v", v.strategy, v.loads, got, v.want)
			}
		})
	}
}

// Whose turn it is stands in the state: the next pass goes on.
func TestTurnsGoOn(t *testing.T) {
	schedtest.BothWays(t, func(t *testing.T, c *schedtest.Cluster) {
		c.Tune(func(t *model.Tuning) { t.Placement = model.StrategyRoundRobin })
		for i := range 3 {
			c.Node(fmt.Sprint("n", i), 4, "A")
		}
		var got []string
		for range 4 {
			c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
			got = append(got, nodesGiven(c, nil)...)
			if len(got) == 2 {
				c.End(schedtest.Live(c)[0], 0) // an end is no turn
			}
		}
		if !slices.Equal(got, []string{"n0", "n1", "n2", "n0"}) {
			t.Errorf("in turn: %v", got)
		}
	})
}

// Gangs of several nodes get those that come first.
func TestGangsByStrategy(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	for i, gpus := range []int{2, 4, 3, 5} {
		c.Node(fmt.Sprint("n", i), gpus, "A")
	}
	for strategy, request := range map[model.Strategy][]string{
		model.StrategyBestFit: {"n0", "n2"}, model.StrategySpread: {"n3", "n1"}, model.StrategyRoundRobin: {"n0", "n2"},
	} {
		on := c.Copied()
		on.Submit(schedtest.Spec("amy", 4, 2, placedBy(strategy)), 1, 0)
		if got := nodesGiven(on, nil); !slices.Equal(got, request) {
			t.Errorf("%s: %v, want %v", strategy, got, request)
		}
	}
}

// On a cluster of fragments best fit keeps whole nodes for those who need them, also
// where a smaller node without anything is the tighter fit.
func TestBestFitKeepsWholeNodes(t *testing.T) {
	schedtest.BothWays(t, func(t *testing.T, c *schedtest.Cluster) {
		for i := range 3 {
			c.Node(fmt.Sprint("big", i), 8, "A")
		}
		c.Submit(schedtest.Spec("amy", 3, 0), 6, 0) // two on each
		if placed := c.Plan(); len(placed) != 6 {
			t.Fatalf("placed %v", placed)
		}
		for i := range 2 {
			c.End(model.TaskKey{Job: 1, Task: uint32(2 * i)}, 0) // 5 are free on two of them, 2 on the third
		}
		c.Node("small0", 4, "A")
		c.Node("small1", 4, "A")
		c.Submit(schedtest.Spec("bob", 1, 0), 12, 0)
		for _, node := range nodesGiven(c, nil) {
			if node == "small0" || node == "small1" {
				t.Errorf("a node without anything was broken into")
			}
		}
		c.Submit(schedtest.Spec("eve", 8, 2), 1, 0)
		if got := nodesGiven(c, nil); !slices.Equal(got, []string{"small0", "small1"}) {
			t.Errorf("a gang of two whole nodes is on %v", got)
		}
		c.End(model.TaskKey{Job: 3}, 0)
		c.Submit(schedtest.Spec("eve", 4, 0), 1, 0)
		if got := nodesGiven(c, nil); !slices.Equal(got, []string{"small0"}) {
			t.Errorf("a job that fills a node is on %v", got)
		}
	})
}

// Loads never decide whether something starts: under any of them the plan has the
// same tasks, and they are accepted.
func TestLoadsChooseAmongNodesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.RandomTuned(t)
		c.Tune(func(t *model.Tuning) { t.Placement = model.StrategyLeastLoaded })
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			schedtest.Step(t, c, nodes)
			loads := place.Loads{}
			for i := range nodes {
				if rapid.Bool().Draw(t, "known") {
					loads[model.NodeID(fmt.Sprint("n", i))] = uint32(rapid.IntRange(0, 100).Draw(t, "load"))
				}
			}
			plain, next := c.Decide()
			loaded, also, _ := c.DecideLoaded(loads)
			if next != also || !slices.Equal(placements(plain), placements(loaded)) {
				t.Fatalf("with loads %v the plan has %v, without %v", loads, placements(loaded), placements(plain))
			}
			if again, _, _ := c.DecideLoaded(loads); fmt.Sprint(nodesIn(again)) != fmt.Sprint(nodesIn(loaded)) {
				t.Fatalf("two plans of one state: %v, %v", nodesIn(again), nodesIn(loaded))
			}
			if len(loaded) > 0 {
				c.Must(loaded...)
			}
		}
	})
}

// placements lists the tasks that a plan places.
func placements(bodies []command.Body) (out []model.TaskKey) {
	for _, b := range bodies {
		if p, is := b.(*command.Place); is {
			out = append(out, p.Attempt.TaskKey())
		}
	}
	return out
}

func nodesIn(bodies []command.Body) (out []model.NodeID) {
	for _, b := range bodies {
		if p, is := b.(*command.Place); is {
			for _, r := range p.Ranks {
				out = append(out, r.Node)
			}
		}
	}
	return out
}
