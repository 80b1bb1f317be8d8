package state

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// checkIndexes: each is what the rows give, computed here in its own way.
func checkIndexes(c *checker) {
	checkTaskIndexes(c)
	checkFleetIndexes(c)
	checkAgeIndexes(c)
	checkTurnIndexes(c)
}

func checkTaskIndexes(c *checker) {
	queue, due := table.Table[QueueKey, None]{}.Fork(), table.Table[DueKey, None]{}.Fork()
	live := table.Table[model.TaskKey, None]{}.Fork()
	for k, task := range c.s.Tasks.All() {
		if task.State.Live() {
			live.Put(k, None{})
		}
		job, _ := c.s.Jobs.Get(k.Job)
		if task.State != model.TaskQueued || task.Held || job.Waits > 0 {
			continue
		}
		queue.Put(KeyOf(&task, &job), None{})
		if task.NotBefore > 0 {
			due.Put(DueKey{task.NotBefore, k}, None{})
		}
	}
	for _, a := range c.s.Allocations.All() {
		if a.State == model.AllocationQueued {
			queue.Put(KeyOfService(&a), None{})
		}
	}
	same(c, SameOnReplay, "index Queue at", c.s.Queue, queue.Table())
	same(c, SameOnReplay, "index Due at", c.s.Due, due.Table())
	same(c, SameOnReplay, "index LiveTasks at", c.s.LiveTasks, live.Table())
}

func checkFleetIndexes(c *checker) {
	free, ranks := table.Table[FreeKey, None]{}.Fork(), table.Table[NodeRankKey, None]{}.Fork()
	gpus, owners := table.Table[model.AddressKey, None]{}.Fork(), table.Table[OwnerKey, None]{}.Fork()
	claims, private := table.Table[ClaimKey, None]{}.Fork(), table.Table[PrivateKey, None]{}.Fork()
	for id, u := range c.s.NodeUse.All() {
		if u.Free > 0 {
			free.Put(FreeKey{u.Free, u.All == u.Free+u.Unhealthy, id}, None{})
		}
	}
	for id, n := range c.s.Nodes.All() {
		if n.Accounts == model.AccountsOwn {
			private.Put(PrivateKey{n.Account, id}, None{})
		}
	}
	for k, r := range c.s.Ranks.All() {
		if r.Phase < model.RankExited {
			ranks.Put(NodeRankKey{r.Node, k}, None{})
		}
	}
	for id, g := range c.s.GPUs.All() {
		gpus.Put(model.AddressKey{Node: g.Node, Index: g.Index, GPU: id}, None{})
	}
	for k, s := range c.s.Slots.All() {
		if s.Owner != model.OwnerNone {
			owners.Put(OwnerKey{s.Rank, s.Allocation, k}, None{})
		}
	}
	for k, v := range c.s.Claims.All() {
		claims.Put(ClaimKey{v.Beneficiary, k}, None{})
	}
	same(c, SameOnReplay, "index ByFree at", c.s.ByFree, free.Table())
	same(c, SameOnReplay, "index Private at", c.s.Private, private.Table())
	same(c, SameOnReplay, "index NodeRanks at", c.s.NodeRanks, ranks.Table())
	same(c, SameOnReplay, "index NodeGPUs at", c.s.NodeGPUs, gpus.Table())
	same(c, SameOnReplay, "index Owners at", c.s.Owners, owners.Table())
	same(c, SameOnReplay, "index ClaimedFor at", c.s.ClaimedFor, claims.Table())
}

func checkAgeIndexes(c *checker) {
	ended, born := table.Table[EndedKey, None]{}.Fork(), table.Table[BornKey, None]{}.Fork()
	sketches := table.Table[SketchAgeKey, None]{}.Fork()
	waiting, attached := table.Table[model.TaskKey, model.AllocationID]{}.Fork(), table.Table[model.JobID, None]{}.Fork()
	heldFor := table.Table[HeldForKey, None]{}.Fork()
	for id, j := range c.s.Jobs.All() {
		if j.EndIndex > 0 {
			ended.Put(EndedKey{j.EndIndex, id}, None{})
		} else if j.Spec.Attached > 0 {
			attached.Put(id, None{})
		}
	}
	for k, r := range c.s.Requests.All() {
		born.Put(BornKey{r.Born, k}, None{})
	}
	for k, s := range c.s.Sketches.All() {
		sketches.Put(SketchAgeKey{s.Updated, k}, None{})
	}
	for id, a := range c.s.Allocations.All() {
		if a.State == model.AllocationQueued {
			waiting.Put(a.Turn, id)
		}
		if a.For != "" && !a.State.Terminal() {
			heldFor.Put(HeldForKey{a.For, id}, None{})
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
	anew := newCommit(digest{}, model.Hash{})
	for _, cell := range begin(c.s, Meta{}).list {
		number, name := cell.info()
		for row := range cell.rows() {
			anew.add(number, row)
		}
		c.hold(anew.digest.sums[number] == c.s.digest.sums[number], SameOnReplay, "the digest's sum of table %s is not that of its rows", name)
	}
}
