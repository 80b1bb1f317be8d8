package search_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Between two searches no GPU idles that a task could use: after a pass there is no
// task that waits for nothing but GPUs, that the search or the pass could know of, and
// that the state would let have free GPUs, other than those that are kept for
// others. Where the next search alone may help (a limit was changed, a job is tried
// again or no longer waits for what it waited for) nothing is promised.
func TestNothingIdlesBetweenSearches(t *testing.T) {
	started, asked := 0, 0
	schedtest.CheckUntil(t, func() bool { return started > 0 && asked > 0 }, func(t *rapid.T) {
		c, nodes := schedtest.RandomTuned(t)
		for range rapid.IntRange(1, 12).Draw(t, "jobs") {
			schedtest.SubmitRandom(t, c, rapid.SampledFrom([]string{"amy", "bob"}).Draw(t, "user"), uint32(rapid.IntRange(1, 4).Draw(t, "n")))
			if rapid.Bool().Draw(t, "plan") {
				c.Plan()
				schedtest.BeginOne(c)
			}
		}
		if rapid.Bool().Draw(t, "limited") {
			c.Limit("amy", int64(rapid.IntRange(0, 6).Draw(t, "most")), model.Unlimited)
		}
		inLine := map[model.TaskKey]bool{}
		for k := range c.State.Queue.All() {
			inLine[k.Task] = true
		}
		fresh := c.State.Settings().NextJob
		bodies, _, outlook := c.DecideLoaded(nil)
		if len(bodies) > 0 {
			c.Must(bodies...)
		}
		if outlook == nil {
			return
		}
		for range rapid.IntRange(1, 6).Draw(t, "events") {
			happen(t, c, nodes)
			bodies, ok := search.Between(&c.State, c.Now, outlook)
			if !ok {
				t.Fatal("the outlook does not hold any more")
			}
			if len(bodies) > 0 {
				c.Must(bodies...)
				started++
			}
			for _, key := range schedtest.Waiting(c) {
				if known := inLine[key] || key.IsTurn() || key.Job >= fresh; known {
					asked += idles(t, c, outlook, key)
				}
			}
		}
	})
	if started == 0 || asked == 0 {
		t.Errorf("%d passes started something, %d tasks that wait were tried", started, asked)
	}
}

// happen has something happen that a pass between two searches can follow.
func happen(t *rapid.T, c *schedtest.Cluster, nodes int) {
	running := schedtest.Live(c)
	switch what := rapid.IntRange(0, 9).Draw(t, "event"); {
	case what < 5 && len(running) > 0:
		c.End(rapid.SampledFrom(running).Draw(t, "whose"), 0)
	case what < 7:
		schedtest.SubmitRandom(t, c, rapid.SampledFrom([]string{"amy", "bob"}).Draw(t, "user"), uint32(rapid.IntRange(1, 4).Draw(t, "n")))
	case what == 7:
		node := model.NodeID("n" + string(rune('0'+rapid.IntRange(0, nodes-1).Draw(t, "node"))))
		c.Must(&command.SetNodeMode{Node: node, Mode: rapid.SampledFrom([]model.NodeMode{model.ModeOpen, model.ModeCordoned}).Draw(t, "mode")})
	case what == 8 && rapid.Bool().Draw(t, "service"):
		c.Allocate(fmt.Sprint("s", c.State.Index), uint32(rapid.IntRange(1, 4).Draw(t, "n")))
	case what == 8:
		c.Apply(&command.Cancel{Job: model.JobID(rapid.IntRange(1, 8).Draw(t, "job")), Task: model.AllTasks})
	default:
		c.Now = c.Now.Add(4 * time.Second)
		c.Must(&command.AdvanceClock{})
	}
}

// idles fails the test if a task that waits could have GPUs of as many nodes as it asks
// for, and says how often that was tried.
func idles(t *rapid.T, c *schedtest.Cluster, outlook *search.Outlook, key model.TaskKey) (tried int) {
	task, job := c.Asks(key)
	meant := outlook.Meant()
	if !state.InLine(&job, &task) || task.NotBefore > 0 || task.Attempts > 0 || meant[key] != nil || counted(c, meant, &job) {
		return 0
	}
	spec, tuning := &job.Spec, c.State.Settings().Tuning
	yields := spec.Preemptible && !tuning.NoPreemption && (!outlook.Strict() || tuning.MinRun == 0)
	each, ranks := spec.GPUs/max(spec.Nodes, 1), int(max(spec.Nodes, 1))
	var at []command.Placement
	for id, node := range c.State.Nodes.All() {
		if outlook.Bars(id) && !yields || len(at) == ranks {
			continue
		}
		var free []model.SlotKey
		for k, slot := range c.State.Slots.All() {
			g, _ := c.State.GPUs.Get(k.GPU)
			if slot.Node == id && slot.Owner == model.OwnerNone && !c.State.Claims.Has(k) && model.OfModel(spec.GPUModel, g.Model) &&
				g.MemoryMB >= spec.GPUMemoryMB {
				free = append(free, k)
			}
		}
		kept := uint32(0)
		for who, nodes := range meant {
			if of, _ := c.Asks(who); of.State == model.TaskQueued {
				kept += nodes[id]
			}
		}
		if uint32(len(free)) >= each+kept && node.Schedulable() && (key.IsTurn() || node.Admits(spec.User)) && spec.Where().Sites().Has(&node) {
			at = append(at, command.Placement{Node: id, Epoch: node.Epoch, Slots: free[:each]})
		}
	}
	if len(at) < ranks {
		return 0
	}
	if r := c.Copied().Apply(c.Start(key, at))[0]; r.OK() {
		t.Fatalf("job %s waits, and could have %+v\nthe task is %+v\nthe job %+v", key, at, task, job)
	}
	return 1
}

// counted says that tasks which are meant to start, or for which GPUs are kept, count to
// limits of a job already.
func counted(c *schedtest.Cluster, meant map[model.TaskKey]map[model.NodeID]uint32, job *model.Job) bool {
	will := slices.Collect(maps.Keys(meant))
	for k := range c.State.ClaimedFor.All() {
		will = append(will, k.Task)
	}
	if c.State.Limits.Len() > 0 {
		return len(will) > 0
	}
	return job.Throttle > 0 && slices.ContainsFunc(will, func(k model.TaskKey) bool { return k.Job == job.ID })
}
