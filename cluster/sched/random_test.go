package sched_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

// randomCluster is a cluster with some nodes and a policy.
func randomCluster(t *rapid.T) (c *cluster, nodes int) {
	c = newCluster(t, rapid.SampledFrom([]string{"fcfs", "priority"}).Draw(t, "policy"))
	nodes = rapid.IntRange(1, 4).Draw(t, "nodes")
	for i := range nodes {
		memory := uint32(rapid.SampledFrom([]int{1000, 2000}).Draw(t, "memory"))
		c.node(fmt.Sprint("n", i), rapid.IntRange(1, 5).Draw(t, "gpus"), rapid.SampledFrom([]string{"A", "B"}).Draw(t, "model"),
			func(d *model.Device) { d.MemoryMB, d.NUMA = memory, int32(d.Index/2) })
		if user := rapid.SampledFrom([]string{"", "", "", "amy", "cat"}).Draw(t, "whose"); user != "" {
			c.private(model.NodeID(fmt.Sprint("n", i)), user)
		}
		if zone := rapid.SampledFrom([]string{"", "zone=a", "zone=b"}).Draw(t, "zone"); zone != "" {
			c.must(&command.SetNodeLabels{Node: model.NodeID(fmt.Sprint("n", i)), Changes: zone})
		}
	}
	return c, nodes
}

// randomTuned is a random cluster under any policy and tuning.
func randomTuned(t *rapid.T) (c *cluster, nodes int) {
	c, nodes = randomCluster(t)
	c.must(&command.SetPolicy{Policy: rapid.SampledFrom(queue.Policies()).Draw(t, "any policy")})
	c.tune(func(tuning *model.Tuning) {
		tuning.NoPreemption = rapid.Bool().Draw(t, "no preemption")
		tuning.Backfill = model.Backfill(rapid.IntRange(1, 3).Draw(t, "backfill"))
		tuning.Placement = rapid.SampledFrom(model.Strategies()).Draw(t, "placement")
		tuning.Depth = uint32(rapid.IntRange(1, 3).Draw(t, "depth"))
		tuning.MinRun = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "min_run")
		tuning.PreemptMinRun, tuning.WaitBound = 0, time.Hour
		tuning.Preempt = model.Preempts(rapid.IntRange(0, 2).Draw(t, "preempt"))
	})
	if waited := max(rapid.IntRange(-4, 4).Draw(t, "hours that some have waited"), 0); waited > 0 {
		longWait(t, c, time.Duration(waited)*time.Hour)
	}
	return c, nodes
}

// longWait has some run, and others have waited for them for so long.
func longWait(t *rapid.T, c *cluster, waited time.Duration) {
	for range 3 {
		submitRandom(t, c, "amy", uint32(rapid.IntRange(1, 4).Draw(t, "n")))
	}
	for _, key := range c.plan() {
		c.begin(key)
	}
	for range 2 {
		submitRandom(t, c, "bob", uint32(rapid.IntRange(1, 4).Draw(t, "n")))
	}
	c.now = c.now.Add(waited)
	c.must(&command.AdvanceClock{})
}

// step does something at random.
func step(t *rapid.T, c *cluster, nodes int) {
	user := rapid.SampledFrom([]string{"amy", "bob"}).Draw(t, "user")
	n := uint32(rapid.IntRange(1, 4).Draw(t, "n"))
	job := model.JobID(rapid.IntRange(1, 8).Draw(t, "job"))
	switch rapid.IntRange(0, 20).Draw(t, "step") {
	case 0:
		node := model.NodeID(fmt.Sprint("n", rapid.IntRange(0, nodes-1).Draw(t, "node")))
		if label := rapid.SampledFrom([]string{"", "zone=a", "zone=b", "zone-", "spot"}).Draw(t, "label"); label != "" {
			c.must(&command.SetNodeLabels{Node: node, Changes: label})
		} else {
			c.must(&command.SetNodeMode{Node: node, Mode: model.NodeMode(n % 2)})
		}
	case 1:
		c.limit(user, int64(n), int64(n))
	case 2:
		c.apply(&command.Cancel{Job: job, Task: model.AllTasks})
	case 3:
		c.apply(&command.SetPriority{Job: job, Class: model.Class(n)})
	case 4:
		c.apply(&command.Hold{Job: job, Task: model.AllTasks})
	case 5:
		c.apply(&command.Release{Job: job, Task: model.AllTasks})
	case 6, 7:
		if live := live(c); len(live) > 0 {
			c.end(rapid.SampledFrom(live).Draw(t, "end"), int32(min(n-1, 1)))
		}
	case 8:
		c.must(&command.SetRunning{Running: n > 1})
	case 9:
		if waits, victims := waiting(c), live(c); len(waits) > 0 && len(victims) > 0 {
			victim, _ := c.s.Tasks.Get(victims[0])
			c.apply(&command.Preempt{
				Victims:     []model.AttemptKey{victim.Newest()},
				Beneficiary: rapid.SampledFrom(waits).Draw(t, "for"), Until: c.now.Add(time.Hour),
			})
			if n > 1 {
				c.end(victim.Key, 0)
			}
		}
	case 10:
		c.apply(&command.Allocate{
			ID: model.AllocationID(fmt.Sprint("a", c.s.Index)), User: user, Class: model.Class(rapid.IntRange(1, 4).Draw(t, "class")), GPUs: n,
			GPUModel: rapid.SampledFrom([]string{"", "A", "A|B"}).Draw(t, "kind"),
			TTL:      rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "ttl"), Job: job * model.JobID(n/4),
		})
	case 11:
		c.now = c.now.Add(time.Duration(n) * rapid.SampledFrom([]time.Duration{4 * time.Second, 10 * time.Minute, 2 * time.Hour}).Draw(t, "pause"))
		c.must(&command.AdvanceClock{})
	case 12:
		settle(c)
	case 13, 14:
		beginOne(c)
	case 19:
		restrict(t, c, user, int64(n))
	case 20:
		c.must(&command.SetPools{Mode: model.PoolMode(rapid.IntRange(1, 3).Draw(t, "mode")), Part: n * 250})
	default:
		submitRandom(t, c, user, n)
	}
}

// beginOne has the first task that was placed run.
func beginOne(c *cluster) {
	for _, key := range live(c) {
		if task, _ := c.s.Tasks.Get(key); task.State != model.TaskRunning {
			c.begin(key)
			return
		}
	}
}

func submitRandom(t *rapid.T, c *cluster, user string, n uint32) {
	s := spec(user, n, 0, class(model.Class(rapid.IntRange(1, 4).Draw(t, "class"))))
	s.Project = rapid.SampledFrom([]string{"", "p"}).Draw(t, "project")
	s.GPUModel = rapid.SampledFrom([]string{"", "A", "A|B", "B|C", "a", "C|b"}).Draw(t, "kind")
	s.GPUMemoryMB = uint32(rapid.SampledFrom([]int{0, 2000}).Draw(t, "needs"))
	s.MaxRetries = 2
	s.Placement = rapid.SampledFrom([]string{"", "", "spread", "round_robin", "least_loaded"}).Draw(t, "placement")
	if rapid.IntRange(0, 4).Draw(t, "where") == 4 {
		s.Constraint = rapid.SampledFrom([]string{"", "zone=a", "!zone", "zone!=b", "spot"}).Draw(t, "constraint")
		s.Nodelist = rapid.SampledFrom([]string{"", "", "n0,n1", "n2"}).Draw(t, "nodelist")
		s.Exclude = rapid.SampledFrom([]string{"", "", "n0", "n0,n1"}).Draw(t, "exclude")
	}
	s.Preemptible = rapid.Bool().Draw(t, "preemptible")
	s.TimeLimit = rapid.SampledFrom([]time.Duration{0, 0, 5 * time.Minute, time.Hour, 3 * time.Hour}).Draw(t, "limit")
	s.Estimate = time.Duration(rapid.IntRange(0, 3).Draw(t, "estimate")) * time.Hour
	if rapid.Bool().Draw(t, "gang") {
		s.Nodes = uint32(rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "on"))
		s.GPUs *= s.Nodes
	}
	if s.GPUs > 1 && rapid.IntRange(0, 3).Draw(t, "elastic") == 0 {
		s.MinGPUs = uint32(rapid.IntRange(1, int(s.GPUs)-1).Draw(t, "at least"))
	}
	b := &command.Submit{Spec: s, Tasks: uint32(rapid.IntRange(1, 3).Draw(t, "tasks")), Throttle: uint32(rapid.IntRange(0, 2).Draw(t, "throttle"))}
	if next := c.s.Settings().NextJob; next > 1 && rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
		b.After = []dependency.After{{Job: model.JobID(rapid.Uint64Range(1, uint64(next)-1).Draw(t, "on")), Kind: dependency.Kind(1 + n%3)}}
	}
	if rapid.IntRange(0, 7).Draw(t, "later") == 0 {
		b.Spec.Begin = c.now.Add(time.Duration(n) * time.Second)
	}
	if rapid.IntRange(0, 5).Draw(t, "in time") == 0 {
		b.Spec.Deadline = c.now.Add(time.Duration(n) * rapid.SampledFrom([]time.Duration{5 * time.Second, time.Hour}).Draw(t, "deadline"))
	}
	c.apply(b)
}

// settle passes the ends of jobs on to those that wait for them, as a leader does.
func settle(c *cluster) {
	for k := range c.s.Awaited.All() {
		if c.s.Settling.Has(k.On) {
			c.must(&command.Settle{Jobs: []model.JobID{k.Job}})
		}
	}
}

// checkUntil checks a property until what it is about was met: with -short few clusters are drawn
// at a time, and one in four times none of these had it.
func checkUntil(t *testing.T, met func() bool, property func(t *rapid.T)) {
	t.Helper()
	for range 20 {
		if rapid.Check(t, property); met() || t.Failed() {
			return
		}
	}
}
