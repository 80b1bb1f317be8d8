package forecast_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// However many instants there are at which GPUs become free, and at one pace there are
// more than at another, a forecast of each pace is about the same tasks.
func TestForecastsOfManyInstants(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	const nodes = 1100
	for i := range nodes {
		c.Node(fmt.Sprint("n", i), 2, "A")
	}
	for _, limit := range []time.Duration{2 * time.Hour, 3 * time.Hour} {
		c.Submit(schedtest.Spec("amy", 1, 1, func(s *model.Spec) { s.Estimate, s.TimeLimit = time.Hour, limit }), nodes, 0)
	}
	for task := range model.JobID(2) { // one of each job on each node
		for i := range nodes {
			key := model.TaskKey{Job: task + 1, Task: uint32(i)}
			id := model.NodeID(fmt.Sprint("n", i))
			node, _ := c.State.Nodes.Get(id)
			c.Must(&command.Place{Attempt: key.Attempt(1), Decided: c.State.Index, Ranks: []command.Placement{
				{Node: id, Epoch: node.Epoch, Slots: []model.SlotKey{{GPU: model.GPUID(fmt.Sprintf("%s-g%d", id, task))}}},
			}})
		}
	}
	c.Submit(schedtest.Spec("bob", 1, 1), 300, 0)
	f := forecast.Foresee(&c.State, c.Now)
	if len(f.Waiting) < 200 || len(f.Waiting)+f.Beyond != 300 {
		t.Errorf("%d tasks are foreseen, %d are not", len(f.Waiting), f.Beyond)
	}
}

// A forecast that covers a part of the waiting tasks counts all others: those with GPUs, those without, and services.
func TestForecastsCountTheRest(t *testing.T) {
	t.Parallel()
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 1, "A")
	c.Submit(schedtest.Spec("amy", 1, 0), 1, 0)
	c.Plan()
	for _, s := range []model.Spec{schedtest.Spec("bob", 1, 0), schedtest.Cores("bob", 1)} {
		c.Must(&command.Hold{Job: c.Submit(s, 3, 0), Task: model.AllTasks})
		c.Submit(s, 300, 0)
	}
	c.Allocate("web", 1)
	if f := forecast.Foresee(&c.State, c.Now); len(f.Waiting) != 512 || f.Beyond != 607-512 {
		t.Errorf("%d tasks are foreseen, %d are not", len(f.Waiting), f.Beyond)
	}
}

// GPUs that are being cleaned are foretold to be given away soon, not when something else ends.
func TestWhatIsBeingCleanedIsForetoldToBeFree(t *testing.T) {
	c := schedtest.New(t, "fcfs")
	c.Node("n1", 2, "H200")
	for _, takes := range []time.Duration{time.Hour, 5 * time.Hour, time.Hour} {
		c.Submit(schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.Estimate, s.TimeLimit = takes, takes }), 1, 0)
	}
	c.Plan()
	c.Begin(model.TaskKey{Job: 2})
	c.Must(&command.Report{
		Node: "n1", Incarnation: model.Incarnation{1}, Epoch: 1,
		Reports: []model.Progress{{Rank: model.RankKey{Job: 1, N: 1}, Phase: model.RankExited}},
	})
	f := forecast.Foresee(&c.State, c.Now)
	if got := f.Waiting[0].Start; got.Latest != c.Now.Add(time.Minute) {
		t.Errorf("foretold for %s to %s from now", got.Soonest.Sub(c.Now), got.Latest.Sub(c.Now))
	}
}

// Whatever state a cluster is in, the scheduler can be played on from it, and a forecast makes sense: ranges
// lie in order and not in the past, and who starts with the next plan is foretold to start at once.
func TestForecastsOfAnyCluster(t *testing.T) {
	later := 0
	rapid.Check(t, func(t *rapid.T) {
		c, nodes := schedtest.RandomTuned(t)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			schedtest.Step(t, c, nodes)
			if rapid.Bool().Draw(t, "plan") {
				c.Plan()
				schedtest.BeginOne(c)
			}
		}
		f, order := forecast.Foresee(&c.State, c.Now), forecast.ForeseeWithin(&c.State, c.Now, 0)
		if f.Defect != nil {
			t.Fatal(f.Defect)
		}
		at := map[model.TaskKey]forecast.Range{}
		for _, v := range slices.Concat(order.Running, order.Waiting, f.Running, f.Waiting) {
			for _, r := range []forecast.Range{v.Start, v.End} {
				if r.Known && (r.Soonest < c.Now || r.Soonest > r.Expected || r.Expected > r.Latest) {
					t.Fatalf("%+v", v)
				}
			}
			if at[v.Task] = v.Start; v.Start.Known && v.Start.Expected > c.Now {
				later++
			}
		}
		bodies, _ := sched.Plan(&c.State, c.Now)
		for _, b := range bodies {
			if p, is := b.(*command.Place); is &&
				at[p.Attempt.TaskKey()] != (forecast.Range{Known: true, Soonest: c.Now, Expected: c.Now, Latest: c.Now}) {
				t.Fatalf("task %s is placed, and was foretold for %+v", p.Attempt.TaskKey(), at[p.Attempt.TaskKey()])
			}
		}
	})
	if later == 0 {
		t.Error("no job was predicted to start later")
	}
}
