package check

import (
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// checkIndexes: each is what the rows give, computed here in its own way.
func checkIndexes(c *checker) {
	checkTaskIndexes(c)
	checkFleetIndexes(c)
	checkAgeIndexes(c)
	checkTurnIndexes(c)
}

func checkTaskIndexes(c *checker) {
	queue, due := table.Table[state.QueueKey, state.None]{}.Fork(), table.Table[state.DueKey, state.None]{}.Fork()
	live, liveCPU := table.Table[model.TaskKey, state.None]{}.Fork(), table.Table[model.TaskKey, state.None]{}.Fork()
	cpuQueue := table.Table[state.QueueKey, state.None]{}.Fork()
	for k, task := range c.s.Tasks.All() {
		job, _ := c.s.Jobs.Get(k.Job)
		running, line := live, queue
		if job.Spec.GPUs == 0 {
			running, line = liveCPU, cpuQueue
		}
		if task.State.Live() {
			running.Put(k, state.None{})
		}
		if task.State != model.TaskQueued || task.Held || task.Waits || job.Waits > job.Each {
			continue
		}
		line.Put(state.KeyOf(&task, &job), state.None{})
		if task.NotBefore > 0 {
			due.Put(state.DueKey{At: task.NotBefore, Task: k}, state.None{})
		}
	}
	for _, a := range c.s.Allocations.All() {
		if a.State == model.AllocationQueued {
			queue.Put(state.KeyOfService(&a), state.None{})
		}
	}
	same(c, SameOnReplay, "index Queue at", c.s.Queue, queue.Table())
	same(c, SameOnReplay, "index CPUQueue at", c.s.CPUQueue, cpuQueue.Table())
	same(c, SameOnReplay, "index Due at", c.s.Due, due.Table())
	same(c, SameOnReplay, "index LiveTasks at", c.s.LiveTasks, live.Table())
	same(c, SameOnReplay, "index LiveCPU at", c.s.LiveCPU, liveCPU.Table())
}

func checkFleetIndexes(c *checker) {
	free, ranks := table.Table[state.FreeKey, state.None]{}.Fork(), table.Table[state.NodeRankKey, state.None]{}.Fork()
	gpus, owners := table.Table[model.AddressKey, state.None]{}.Fork(), table.Table[state.OwnerKey, state.None]{}.Fork()
	claims := table.Table[state.ClaimKey, state.None]{}.Fork()
	private, lacking := table.Table[state.PrivateKey, state.None]{}.Fork(), table.Table[state.PrivateKey, state.None]{}.Fork()
	for id, u := range c.s.NodeUse.All() {
		if u.Free > 0 {
			free.Put(state.FreeKey{Free: u.Free, Whole: u.All == u.Free+u.Unhealthy, Node: id}, state.None{})
		}
	}
	for id, n := range c.s.Nodes.All() {
		if n.Accounts == model.AccountsOwn {
			private.Put(state.PrivateKey{User: n.Account, Node: id}, state.None{})
			continue
		}
		for user := range strings.SplitSeq(n.Missing, "\n") {
			if user != "" {
				lacking.Put(state.PrivateKey{User: user, Node: id}, state.None{})
			}
		}
	}
	for k, r := range c.s.Ranks.All() {
		if r.Phase < model.RankExited {
			ranks.Put(state.NodeRankKey{Node: r.Node, Rank: k}, state.None{})
		}
	}
	for id, g := range c.s.GPUs.All() {
		gpus.Put(model.AddressKey{Node: g.Node, Index: g.Index, GPU: id}, state.None{})
	}
	for k, s := range c.s.Slots.All() {
		if s.Owner != model.OwnerNone {
			owners.Put(state.OwnerKey{Rank: s.Rank, Allocation: s.Allocation, Slot: k}, state.None{})
		}
	}
	for k, v := range c.s.Claims.All() {
		claims.Put(state.ClaimKey{Task: v.Beneficiary, Slot: k}, state.None{})
	}
	same(c, SameOnReplay, "index ByFree at", c.s.ByFree, free.Table())
	same(c, SameOnReplay, "index Private at", c.s.Private, private.Table())
	same(c, SameOnReplay, "index Lacking at", c.s.Lacking, lacking.Table())
	same(c, SameOnReplay, "index NodeRanks at", c.s.NodeRanks, ranks.Table())
	same(c, SameOnReplay, "index NodeGPUs at", c.s.NodeGPUs, gpus.Table())
	same(c, SameOnReplay, "index Owners at", c.s.Owners, owners.Table())
	same(c, SameOnReplay, "index ClaimedFor at", c.s.ClaimedFor, claims.Table())
}

func checkAgeIndexes(c *checker) {
	ended, born := table.Table[state.EndedKey, state.None]{}.Fork(), table.Table[state.BornKey, state.None]{}.Fork()
	sketches := table.Table[state.SketchAgeKey, state.None]{}.Fork()
	waiting, attached := table.Table[model.TaskKey, model.AllocationID]{}.Fork(), table.Table[model.JobID, state.None]{}.Fork()
	heldFor := table.Table[state.HeldForKey, state.None]{}.Fork()
	for id, j := range c.s.Jobs.All() {
		if j.EndIndex > 0 {
			ended.Put(state.EndedKey{Index: j.EndIndex, Job: id}, state.None{})
		} else if j.Spec.Attached > 0 {
			attached.Put(id, state.None{})
		}
	}
	for k, r := range c.s.Requests.All() {
		born.Put(state.BornKey{Born: r.Born, Request: k}, state.None{})
	}
	for k, s := range c.s.Sketches.All() {
		sketches.Put(state.SketchAgeKey{Updated: s.Updated, Sketch: k}, state.None{})
	}
	for id, a := range c.s.Allocations.All() {
		if a.State == model.AllocationQueued {
			waiting.Put(a.Turn, id)
		}
		if a.For != "" && !a.State.Terminal() {
			heldFor.Put(state.HeldForKey{For: a.For, ID: id}, state.None{})
		}
	}
	same(c, SameOnReplay, "index Ended at", c.s.Ended, ended.Table())
	same(c, SameOnReplay, "index Attached at", c.s.Attached, attached.Table())
	same(c, SameOnReplay, "index Born at", c.s.Born, born.Table())
	same(c, SameOnReplay, "index SketchAge at", c.s.SketchAge, sketches.Table())
	same(c, SameOnReplay, "index Waiting at", c.s.Waiting, waiting.Table())
	same(c, SameOnReplay, "index HeldFor at", c.s.HeldFor, heldFor.Table())
}

// checkSums: the digest's sum of each table is that of its rows.
func checkSums(c *checker) {
	for _, name := range tx.WrongSums(c.s) {
		c.hold(false, SameOnReplay, "the digest's sum of table %s is not that of its rows", name)
	}
}
