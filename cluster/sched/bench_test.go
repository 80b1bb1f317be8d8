package sched_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/cluster/sched/search"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// The benchmarks' budgets, on one core of a small machine: a pass over 100,000
// queued tasks on 2,000 nodes of 8 GPUs 100 ms, one after a single event 1 ms, a
// position 50 µs.

const benchUsers = 50

// queued is a cluster of empty nodes of eight GPUs, and jobs of four in a queue
// of fifty users and four classes.
func queued(b *testing.B, nodes, jobs int, changes ...func(*model.Spec)) *schedtest.Cluster {
	c := schedtest.New(b, "priority")
	for i := range nodes {
		c.Node(fmt.Sprintf("n%04d", i), 8, "H200")
	}
	var batch []command.Body
	for i := range jobs {
		s := schedtest.Spec(fmt.Sprint("u", i%benchUsers), 4, 0, schedtest.Class(model.Class(1+i%4)))
		for _, change := range changes {
			change(&s)
		}
		batch = append(batch, &command.Submit{Spec: s, Tasks: 1})
		if len(batch) == 256 || i == jobs-1 {
			c.Must(batch...)
			batch = batch[:0]
		}
	}
	return c
}

// fill has every node run a job of so many GPUs.
func fill(c *schedtest.Cluster, gpus int) {
	n := uint32(c.State.Nodes.Len())
	job := c.Submit(schedtest.Spec("zoe", uint32(gpus), 1), n, 0)
	var batch []command.Body
	task := uint32(0)
	for id, node := range c.State.Nodes.All() {
		batch = append(batch, &command.Place{
			Attempt: model.AttemptKey{Job: job, Task: task, N: 1}, Ranks: []command.Placement{firstOf(id, &node, gpus)},
		})
		if task++; len(batch) == 256 || task == n {
			c.Must(batch...)
			batch = batch[:0]
		}
	}
}

// firstOf is a node's first GPUs.
func firstOf(id model.NodeID, node *model.Node, gpus int) command.Placement {
	at := command.Placement{Node: id, Epoch: node.Epoch}
	for i := range gpus {
		at.Slots = append(at.Slots, model.SlotKey{GPU: model.GPUID(fmt.Sprintf("%s-g%d", id, i))})
	}
	return at
}

// fillApart has a job on each node that takes so many of its GPUs, and that is expected
// to end when no other is.
func fillApart(c *schedtest.Cluster, gpus int) {
	n := 0
	for id, node := range c.State.Nodes.All() {
		s := schedtest.Spec("zoe", uint32(gpus), 1)
		s.Estimate = time.Hour + time.Duration(n*7919%86400)*time.Second
		n++
		c.Must(&command.Place{Attempt: model.AttemptKey{Job: c.Submit(s, 1, 0), N: 1}, Ranks: []command.Placement{firstOf(id, &node, gpus)}})
	}
}

func sizes(b *testing.B, run func(b *testing.B, nodes, jobs int)) {
	for _, v := range []struct{ nodes, jobs int }{{16, 10_000}, {16, 100_000}, {2_000, 100_000}} {
		b.Run(fmt.Sprintf("nodes=%d/queued=%d", v.nodes, v.jobs), func(b *testing.B) { run(b, v.nodes, v.jobs) })
	}
}

// pass measures a pass that must decide so much.
func pass(b *testing.B, c *schedtest.Cluster, name string, request int) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if bodies, _ := sched.Plan(&c.State, c.Now); len(bodies) != request {
				b.Fatalf("%d commands, want %d", len(bodies), request)
			}
		}
	})
}

func BenchmarkPass(b *testing.B) {
	sizes(b, func(b *testing.B, nodes, jobs int) {
		c := queued(b, nodes, jobs)
		pass(b, c, "empty", min(2*nodes, 256))
		full := c.Copied()
		fill(full, 8)
		pass(b, full, "full", 0)
		holes := c.Copied()
		fill(holes, 5)
		pass(b, holes, "holes", 0)
		holes.End(schedtest.Live(holes)[nodes/2], 0)
		pass(b, holes, "after-an-event", 2)
	})
}

// BenchmarkSearch is a pass under fair share: 1,000 users, 20 shapes, limits.
func BenchmarkSearch(b *testing.B) {
	sizes(b, func(b *testing.B, nodes, jobs int) {
		for name, yields := range map[string]bool{"staying": false, "yielding": true} {
			c := fairlyFull(b, nodes, jobs, yields)
			searches(b, c, name+"/full")
			_, _, outlook := sched.PlanLoaded(&c.State, c.Now, nil)
			c.End(schedtest.Live(c)[nodes/2], 0)
			searches(b, c, name+"/after-an-event")
			b.Run(name+"/between", func(b *testing.B) {
				for b.Loop() {
					if bodies, ok := search.Between(&c.State, c.Now, outlook); !ok || len(bodies) == 0 {
						b.Fatal("no job takes the place of the one that has ended")
					}
				}
			})
			for _, key := range schedtest.Live(c) {
				c.Begin(key)
			}
			c.Now = c.Now.Add(time.Hour)
			searches(b, c, name+"/all-running")
		}
	})
}

// fairlyFull is a full cluster under fair share, 1,000 users, 20 shapes and a limit.
func fairlyFull(b *testing.B, nodes, jobs int, yields bool) *schedtest.Cluster {
	i := 0
	c := queued(b, nodes, jobs, func(s *model.Spec) {
		i++
		s.User, s.GPUs, s.GPUMemoryMB, s.Preemptible = fmt.Sprint("u", i%1000), uint32(1+i%4), uint32(i%5), yields
	})
	c.Must(&command.SetPolicy{Policy: "fair_share"})
	c.Tune(func(t *model.Tuning) { *t = model.DefaultTuning(); t.Depth = 100 })
	c.Limit("u1", 64, model.Unlimited)
	for left := nodes * 8; left > 0; {
		placed := len(c.Plan())
		if left -= placed; placed == 0 {
			break
		}
	}
	return c
}

// How a search grows with what waits and with the cluster.
func BenchmarkGrowth(b *testing.B) {
	for _, nodes := range []int{16, 250, 500, 1000, 2000} {
		for _, jobs := range []int{10_000, 25_000, 50_000, 100_000} {
			c := fairlyFull(b, nodes, jobs, false)
			_, _, outlook := sched.PlanLoaded(&c.State, c.Now, nil)
			c.End(schedtest.Live(c)[nodes/2], 0)
			name := fmt.Sprintf("nodes=%d/queued=%d", nodes, jobs)
			searches(b, c, name+"/search")
			if outlook == nil {
				continue
			}
			b.Run(name+"/between", func(b *testing.B) {
				for b.Loop() {
					search.Between(&c.State, c.Now, outlook)
				}
			})
		}
	}
}

func searches(b *testing.B, c *schedtest.Cluster, name string) {
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			sched.PlanLoaded(&c.State, c.Now, nil)
		}
	})
}

// Nodes whose GPUs do not suit have to be looked at one by one.
func BenchmarkPassOtherType(b *testing.B) {
	sizes(b, func(b *testing.B, nodes, jobs int) {
		c := queued(b, nodes, jobs, func(s *model.Spec) { s.GPUModel = "B300" })
		pass(b, c, "nothing", 0)
	})
}

// newest is the task that was submitted last, of a class in the middle.
func newest(c *schedtest.Cluster) model.TaskKey {
	return model.TaskKey{Job: c.State.Settings().NextJob - 2}
}

func BenchmarkPosition(b *testing.B) {
	for name, c := range map[string]*schedtest.Cluster{
		"runs=100": queued(b, 16, 10_000),
		"runs=4":   queued(b, 16, 10_000, func(s *model.Spec) { s.User = "amy" }),
	} {
		for which, key := range map[string]model.TaskKey{"first": {Job: 1}, "newest": newest(c)} {
			b.Run(name+"/"+which, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					queue.Position(&c.State, c.Now, key)
				}
			})
		}
	}
}

func BenchmarkOrderPage(b *testing.B) {
	c := queued(b, 16, 10_000)
	page := func(b *testing.B) {
		for b.Loop() {
			n := 0
			for range queue.Order(&c.State, c.Now, 0) {
				if n++; n == 50 {
					break
				}
			}
		}
	}
	b.Run("none-held", page)
	c.Must(&command.Hold{Job: 9_000, Task: model.AllTasks})
	b.Run("one-held", page)
}

func BenchmarkExplain(b *testing.B) {
	sizes(b, func(b *testing.B, nodes, jobs int) {
		c := queued(b, nodes, jobs)
		fill(c, 5)
		for b.Loop() {
			explain.Task(&c.State, c.Now, newest(c))
		}
	})
}

func BenchmarkPossible(b *testing.B) {
	c := queued(b, 2_000, 0)
	for name, gpus := range map[string]uint32{"yes": 8, "spread": 64, "no": 20_000} {
		s := schedtest.Spec("amy", gpus, 0)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				place.Possible(&c.State, &s)
			}
		})
	}
}

// BenchmarkReserving is a pass under fcfs with reservations: every node runs a job of five GPUs,
// and jobs of eight and of four wait.
func BenchmarkReserving(b *testing.B) {
	sizes(b, func(b *testing.B, nodes, jobs int) {
		n := 0
		c := queued(b, nodes, jobs, func(s *model.Spec) {
			n++
			s.GPUs, s.Estimate = uint32(4+n%2*4), time.Duration(600+n*7919%86400)*time.Second
		})
		c.Must(&command.SetPolicy{Policy: "fcfs"})
		for _, depth := range []uint32{1, 100} {
			c.Tune(func(t *model.Tuning) { *t = model.DefaultTuning(); t.Depth = depth })
			full := c.Copied()
			fill(full, 5)
			pass(b, full, fmt.Sprintf("depth=%d/holes", depth), 0)
			full.End(schedtest.Live(full)[nodes/2], 0)
			pass(b, full, fmt.Sprintf("depth=%d/after-an-event", depth), 1)
			apart := c.Copied()
			fillApart(apart, 5)
			pass(b, apart, fmt.Sprintf("depth=%d/one-by-one", depth), 0)
		}
	})
}
