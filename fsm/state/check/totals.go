package check

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// checkJobs: a job counts its tasks, and has ended when none is open.
func checkJobs(c *checker) {
	counts := map[model.JobID]model.Job{}
	for k, task := range c.s.Tasks.All() {
		n := counts[k.Job]
		n.Tasks++
		switch {
		case task.State == model.TaskQueued:
			n.Open++
		case task.State.Live():
			n.Open++
			n.Live++
		case task.State == model.TaskFailed:
			n.Failed++
		case task.State == model.TaskCanceled:
			n.Canceled++
		}
		counts[k.Job] = n
	}
	for id, j := range c.s.Jobs.All() {
		n := counts[id]
		checkNumbers(c, &j)
		c.hold(j.Tasks == n.Tasks && j.Tasks > 0, References, "job %s has %d of %d tasks", id, n.Tasks, j.Tasks)
		c.hold(j.Open == n.Open && j.Live == n.Live && j.Failed == n.Failed && j.Canceled == n.Canceled, TotalsAgree,
			"job %s counts open %d, live %d, failed %d, canceled %d; they are %d, %d, %d, %d", id,
			j.Open, j.Live, j.Failed, j.Canceled, n.Open, n.Live, n.Failed, n.Canceled)
		c.hold((n.Open == 0) == (j.EndIndex > 0), TotalsAgree, "job %s with %d open tasks ended at %d", id, n.Open, j.EndIndex)
	}
}

// checkMoved: a place to which a job was moved is that of a task that the cluster has had, and no two jobs that have not
// ended are at one.
func checkMoved(c *checker) {
	type spot struct {
		place model.Place
		turn  uint32
	}
	at := map[spot]model.JobID{}
	set := c.s.Settings()
	for id, j := range c.s.Jobs.All() {
		p := &j.Place
		if !p.Moved() {
			c.hold(*p == model.Place{}, References, "job %s was not moved and has a place: %+v", id, *p)
			continue
		}
		c.hold(p.Before != id && p.Before < set.NextJob && p.Task.Job < set.NextJob && p.Class.Valid() && p.Turn > 0 && p.Executed >= 0 &&
			p.User != "" && (p.GPUs == 0) == j.Spec.WithoutGPUs(), References, "job %s was moved to a place that there never was: %+v", id, *p)
		if j.Open == 0 {
			continue
		}
		k := spot{p.With(0, 0), p.Turn}
		other, taken := at[k]
		c.hold(!taken, References, "jobs %s and %s were moved to one place: %+v", other, id, *p)
		at[k] = id
	}
}

// checkThrottles: no job runs more of its tasks than allowed.
func checkThrottles(c *checker) {
	for id, j := range c.s.Jobs.All() {
		c.hold(j.Throttle == 0 || j.Live <= j.Throttle, WithinLimits, "job %s has %d live tasks, at most %d at once", id,
			j.Live, j.Throttle)
	}
}

// checkNodeUse: free, owned, claimed and unhealthy slots are all slots, and what jobs without GPUs hold is that of
// their ranks.
func checkNodeUse(c *checker) {
	counts := map[model.NodeID]model.NodeUse{}
	for k, slot := range c.s.Slots.All() {
		gpu, _ := c.s.GPUs.Get(k.GPU)
		n := counts[slot.Node]
		n.All++
		switch {
		case slot.Owner != model.OwnerNone:
			n.Owned++
		case !gpu.Usable():
			n.Unhealthy++
		case c.s.Claims.Has(k):
			n.Claimed++
		default:
			n.Free++
		}
		counts[slot.Node] = n
	}
	for _, r := range c.s.Ranks.All() {
		if r.Phase.Ended() {
			continue
		}
		n := counts[r.Node]
		n.Held.CPUs += r.CPUs
		n.Held.MemoryMB += r.MemoryMB
		counts[r.Node] = n
	}
	for id, u := range c.s.NodeUse.All() {
		n := counts[id]
		n.Node, n.Desired, n.Given = id, u.Desired, u.Given
		c.hold(u == n, TotalsAgree, "node %s counts %+v, its slots are %+v", id, u, n)
		c.hold(u.Given <= u.Desired, TotalsAgree, "node %s was given work at %d, and nothing has changed there since %d", id, u.Given, u.Desired)
	}
}

// checkUsage: each scope uses what its tasks and allocations have, and nothing else is counted.
func checkUsage(c *checker) {
	want := table.Table[model.ScopeKey, model.Usage]{}.Fork()
	use := func(project, user string, change func(*model.Usage)) {
		keys := []model.ScopeKey{{Kind: model.ScopeCluster}, {Kind: model.ScopeUser, Name: user}}
		if project != "" {
			keys = append(keys, model.ScopeKey{Kind: model.ScopeProject, Name: project})
		}
		for _, k := range keys {
			u, _ := want.Get(k)
			u.Scope = k
			change(&u)
			want.Put(k, u)
		}
	}
	for k, task := range c.s.Tasks.All() {
		job, _ := c.s.Jobs.Get(k.Job)
		if job.Spec.GPUs > 0 && job.Spec.Preemptible && (task.State == model.TaskQueued || task.State.Live()) {
			use(job.Spec.Project, job.Spec.User, func(u *model.Usage) { u.Yields++ })
		}
		if task.State == model.TaskQueued {
			use(job.Spec.Project, job.Spec.User, func(u *model.Usage) { u.Queued++ })
		} else if task.State.Live() && job.Spec.GPUs == 0 {
			use(job.Spec.Project, job.Spec.User, func(u *model.Usage) { u.CPULive++ })
		} else if task.State.Live() {
			use(job.Spec.Project, job.Spec.User, func(u *model.Usage) { u.Live++ })
		}
	}
	ended := uint64(0)
	for _, job := range c.s.Jobs.All() {
		if job.EndIndex > 0 {
			ended += uint64(job.Bytes)
		} else if job.Bytes > 0 {
			use(job.Spec.Project, job.Spec.User, func(u *model.Usage) { u.Bytes += uint64(job.Bytes) })
		}
	}
	settings := c.s.Settings()
	c.hold(settings.EndedBytes == ended, TotalsAgree, "ended jobs take %d bytes, counted are %d", ended, settings.EndedBytes)
	for _, a := range c.s.Allocations.All() {
		use(a.Project, a.User, func(u *model.Usage) { u.Services++ })
	}
	for _, slot := range c.s.Slots.All() {
		switch slot.Owner {
		case model.OwnerAttempt:
			job, _ := c.s.Jobs.Get(slot.Rank.Job)
			use(job.Spec.Project, job.Spec.User, func(u *model.Usage) { u.GPUs++ })
		case model.OwnerAllocation:
			a, _ := c.s.Allocations.Get(slot.Allocation)
			use(a.Project, a.User, func(u *model.Usage) { u.GPUs++ })
		case model.OwnerNone, model.OwnerCleaning, model.OwnerForeign:
		}
	}
	for k, r := range c.s.Ranks.All() {
		if job, _ := c.s.Jobs.Get(k.Job); !r.Phase.Ended() && r.CPUs > 0 {
			use(job.Spec.Project, job.Spec.User, func(u *model.Usage) { u.CPUs += r.CPUs })
		}
	}
	same(c, TotalsAgree, "the use of", c.s.Usage, want.Table())
	checkShares(c)
}

// checkShares: each user's share counts the GPUs that the user holds now.
func checkShares(c *checker) {
	held := map[model.ShareKey]uint32{}
	for _, slot := range c.s.Slots.All() {
		switch slot.Owner {
		case model.OwnerAttempt:
			job, _ := c.s.Jobs.Get(slot.Rank.Job)
			held[model.ShareKey{Project: job.Spec.Project, User: job.Spec.User}]++
		case model.OwnerAllocation:
			a, _ := c.s.Allocations.Get(slot.Allocation)
			held[model.ShareKey{Project: a.Project, User: a.User}]++
		case model.OwnerNone, model.OwnerCleaning, model.OwnerForeign:
		}
	}
	for k, share := range c.s.Shares.All() {
		c.hold(share.GPUs == held[k] && share.Used >= 0, TotalsAgree, "the share of %s %s counts %d GPUs and %d s, it holds %d",
			k.Project, k.User, share.GPUs, share.Used, held[k])
		delete(held, k)
	}
	c.hold(len(held) == 0, TotalsAgree, "%d users hold GPUs and have no share", len(held))
}

// checkLifetime: the totals count every existing task and attempt.
func checkLifetime(c *checker) {
	var open, done uint64
	for _, task := range c.s.Tasks.All() {
		if task.State.Terminal() {
			done++
		} else {
			open++
		}
	}
	n := c.s.Settings().Totals
	ended := n.Completed + n.Failed + n.Canceled
	c.hold(n.Submitted == ended+open, TotalsAgree, "%d tasks were submitted, %d have ended and %d are open", n.Submitted, ended, open)
	c.hold(n.EstimatesNear <= n.Estimates && n.HistoriesNear <= n.Histories && n.Estimates+n.Histories <= n.Attempts, TotalsAgree,
		"of %+v predictions more were right than made, or more made than attempts", n)
	c.hold(ended >= done, TotalsAgree, "%d tasks have ended, %d of them are here", ended, done)
	c.hold(n.Attempts >= uint64(c.s.Attempts.Len()), TotalsAgree, "%d attempts were made, %d are here", n.Attempts,
		c.s.Attempts.Len())
}

// same: two tables hold the same rows.
func same[K table.Key[K], R comparable](c *checker, i Invariant, what string, got, want table.Table[K, R]) {
	for k, w := range want.All() {
		g, found := got.Get(k)
		c.hold(found && g == w, i, "%s %v is %+v, its rows give %+v", what, k, g, w)
	}
	for k, g := range got.All() {
		c.hold(want.Has(k), i, "%s %v is %+v, no rows give it", what, k, g)
	}
}

// checkFit: the GPUs that are fit for work are counted.
func checkFit(c *checker) {
	var fit int64
	for _, g := range c.s.GPUs.All() {
		if n, _ := c.s.Nodes.Get(g.Node); n.Schedulable() && g.Usable() {
			fit += int64(g.Slots)
		}
	}
	c.hold(fit == c.s.FitGPUs, SameOnReplay, "%d GPUs are fit for work, %d are counted", fit, c.s.FitGPUs)
}

// checkTallies: the counted waits are those that have started, and every allocation that has not ended was
// counted as requested.
func checkTallies(c *checker) {
	var open, asked, granted, over, waits uint64
	tallied := 0
	for k, n := range c.s.Tallies.All() {
		switch k.Kind {
		case tally.Service:
			if k.Name != tally.Other {
				tallied++
			}
			asked += n.Counts[tally.Asked]
			granted += n.Counts[tally.Granted]
			gone := n.Counts[tally.Released] + n.Counts[tally.Expired] + n.Counts[tally.Lost]
			over += gone + n.Counts[tally.Withdrawn]
		case tally.Wait:
			waits += n.Total()
		case tally.Run:
		}
	}
	for _, a := range c.s.Allocations.All() {
		if !a.State.Terminal() {
			open++
		}
	}
	started := c.s.Settings().Totals.Started
	c.hold(tallied <= tally.Most, References, "%d services are counted by themselves", tallied)
	c.hold(waits == started+granted, TotalsAgree, "%d waits were counted of %d tasks and %d allocations", waits, started, granted)
	c.hold(asked == over+open, TotalsAgree, "%d allocations were asked for, %d have ended and %d have not", asked, over, open)
}

// moveTallies: they only grow.
func moveTallies(m *mover) {
	for k, n := range m.was.Tallies.All() {
		next, found := m.s.Tallies.Get(k)
		grown := found && next.Sum >= n.Sum
		for i := range n.Counts {
			grown = grown && next.Counts[i] >= n.Counts[i]
		}
		m.hold(grown, TotalsAgree, "the tally %s %s goes from %+v to %+v", k.Kind, k.Name, n, next)
	}
}

// checkWaits: a task waits since its submission or later, and since no instant that is to come but its begin. The time for
// which it has waited does not grow while it is held, and what it has ceded to others it has run.
func checkWaits(c *checker) {
	now := c.s.Settings().Clock
	for k, task := range c.s.Tasks.All() {
		job, _ := c.s.Jobs.Get(k.Job)
		c.hold(task.Since >= job.Submitted && task.Since <= max(now, job.Spec.Begin), OnlyForward,
			"task %s waits since %d, was submitted at %d and is to begin at %d", k, task.Since, job.Submitted, job.Spec.Begin)
		c.hold(task.Paused <= now && (task.State.Terminal() || task.Held == (task.Paused > 0)), OnlyForward,
			"task %s does not grow older since %d, and is held: %t", k, task.Paused, task.Held)
		c.hold(task.Waited >= 0 && (task.Started > 0 || task.Waited == 0) && task.Eligible() >= job.Submitted, TotalsAgree,
			"task %s started at %d after a wait of %s, and was submitted at %d", k, task.Started, task.Waited, job.Submitted)
		c.hold(task.Ceded >= 0 && task.Ceded <= task.Executed, TotalsAgree, "task %s has ceded %s of a run time of %s", k, task.Ceded, task.Executed)
		c.hold(task.Started == 0 || task.Started <= now, OnlyForward, "task %s started at %d", k, task.Started)
	}
}
