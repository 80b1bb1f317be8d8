package check

import (
	"crypto/sha256"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// checkReferences: rows are under their keys, and name existing rows.
func checkReferences(c *checker) {
	checkPlaces(c)
	checkJobRefs(c)
	checkTimelines(c)
	checkBlobs(c)
	checkRankRefs(c)
	checkNodeRefs(c)
	checkGPURefs(c)
	checkClaimRefs(c)
	checkRequestRefs(c)
	set := c.s.Settings()
	c.hold(set.Level > 0, References, "the feature level is %d", set.Level)
	c.hold(set.Defaults.Validate() == nil, References, "the defaults %+v are not allowed: %v", set.Defaults, set.Defaults.Validate())
	c.hold(c.s.Sketches.Len() <= state.MaxSketches, References, "%d sketches are kept", c.s.Sketches.Len())
	for k, r := range c.s.Sketches.All() {
		c.hold(r.Peaks <= r.Count && (r.PeakMB > 0) == (r.Peaks > 0) && r.PeakMB <= model.MaxPeakMB, References, "the sketch of %+v is %+v", k, r)
	}
}

// checkPlaces: a row's key is the one under which it is stored.
func checkPlaces(c *checker) {
	s := c.s
	placed(c, s.Peers, func(r *model.Peer) model.PeerID { return r.ID })
	placed(c, s.Limits, func(r *model.Limit) model.ScopeKey { return r.Scope })
	placed(c, s.Usage, func(r *model.Usage) model.ScopeKey { return r.Scope })
	placed(c, s.Blobs, func(r *model.Blob) model.Hash { return r.Hash })
	placed(c, s.Jobs, func(r *model.Job) model.JobID { return r.ID })
	placed(c, s.Dependencies, func(r *dependency.Row) dependency.Key { return r.Key })
	placed(c, s.Tasks, func(r *model.Task) model.TaskKey { return r.Key })
	placed(c, s.Events, func(r *model.Event) model.EventKey { return r.Key })
	placed(c, s.Attempts, func(r *model.Attempt) model.AttemptKey { return r.Key })
	placed(c, s.Ranks, func(r *model.Rank) model.RankKey { return r.Key })
	placed(c, s.RankGPUs, func(r *model.RankGPU) model.RankGPUKey { return r.Key })
	placed(c, s.Nodes, func(r *model.Node) model.NodeID { return r.ID })
	placed(c, s.Leases, func(r *model.Lease) model.NodeID { return r.Node })
	placed(c, s.NodeUse, func(r *model.NodeUse) model.NodeID { return r.Node })
	placed(c, s.GPUs, func(r *model.GPU) model.GPUID { return r.ID })
	placed(c, s.Slots, func(r *model.Slot) model.SlotKey { return r.Key })
	placed(c, s.Claims, func(r *model.Claim) model.SlotKey { return r.Slot })
	placed(c, s.Allocations, func(r *model.Allocation) model.AllocationID { return r.ID })
	placed(c, s.Requests, func(r *model.Request) model.RequestKey { return r.Key })
	placed(c, s.RequestUse, func(r *model.RequestUse) model.ActorName { return model.ActorName(r.Actor) })
	placed(c, s.Sketches, func(r *model.Sketch) model.SketchKey { return r.Key })
	placed(c, s.Bookings, func(r *model.Booking) model.BookingID { return r.ID })
	placed(c, s.Tokens, func(r *model.Token) model.Hash { return r.Hash })
	placed(c, s.Sessions, func(r *session.Row) model.Hash { return r.Hash })
	placed(c, s.Users, func(r *model.User) model.UserName { return model.UserName(r.Name) })
	placed(c, s.Members, func(r *model.Member) model.MemberKey { return r.Key })
	placed(c, s.Tallies, func(r *tally.Row) tally.Key { return r.Key })
	placed(c, s.Webhooks, func(r *outbox.Webhook) outbox.WebhookID { return r.ID })
	placed(c, s.Outlets, func(r *outbox.Outlet) outbox.OutletID { return r.ID })
	placed(c, s.Deliveries, func(r *outbox.Delivery) outbox.Key { return r.Key })
	placed(c, s.Warned, func(r *outbox.Warned) model.AttemptKey { return r.Attempt })
	placed(c, s.Certificates, func(r *membership.Certificate) membership.Member { return r.Member })
	placed(c, s.Trusts, func(*membership.Trust) state.Only { return state.Only{} })
}

func placed[K table.Key[K], R any](c *checker, rows table.Table[K, R], key func(*R) K) {
	for k, row := range rows.All() {
		c.hold(key(&row) == k, References, "a row of key %v lies under %v", key(&row), k)
	}
}

func checkJobRefs(c *checker) {
	next := c.s.Settings().NextJob
	for id := range c.s.Jobs.All() {
		c.hold(id > 0 && id < next, NothingLost, "job %s exists, the next is to be %s", id, next)
	}
	for k := range c.s.Tasks.All() {
		j, found := c.s.Jobs.Get(k.Job)
		c.hold(found && (j.Spec.Array != "" || k.Task < j.Tasks), References, "task %s has no job", k)
	}
	for k, v := range c.s.Tasks.All() {
		j, _ := c.s.Jobs.Get(k.Job)
		c.hold(v.NotBefore == 0 || v.Attempts > 0 || v.NotBefore == j.Spec.Begin, References,
			"task %s was never tried and is not to be before %d", k, v.NotBefore)
		c.hold(v.Avoid == 0 || v.Avoid == v.Attempts && v.State == model.TaskQueued && (v.Held || v.NotBefore > 0), References,
			"task %s keeps off the GPUs of attempt %d without a backoff", k, v.Avoid)
	}
	for k := range c.s.Attempts.All() {
		c.hold(c.s.Tasks.Has(k.TaskKey()) && k.N > 0, References, "attempt %s has no task", k)
	}
}

// checkTimelines: a task's lines are its first ones and its latest, without a gap.
func checkTimelines(c *checker) {
	lines := map[model.TaskKey]uint32{}
	for k := range c.s.Events.All() {
		key := model.TaskKey{Job: k.Job, Task: k.Task}
		task, found := c.s.Tasks.Get(key)
		limit, head := timelineBounds(c, k.Job)
		lines[key]++
		c.hold(found && k.Seq < task.Events, References, "line %d of task %s is beyond its timeline", k.Seq, key)
		c.hold(k.Seq < head || k.Seq >= head+task.Folded, References, "line %d of task %s should be folded away", k.Seq, key)
		c.hold(lines[key] <= limit, References, "task %s has more than %d lines", key, limit)
	}
	for k, task := range c.s.Tasks.All() {
		c.hold(lines[k] == task.Events-task.Folded, References, "task %s has %d lines, it counts %d less %d folded", k,
			lines[k], task.Events, task.Folded)
	}
}

func timelineBounds(c *checker, id model.JobID) (limit, head uint32) {
	if j, _ := c.s.Jobs.Get(id); j.Array() {
		return state.ArrayMax, state.ArrayHead
	}
	return state.TimelineMax, state.TimelineHead
}

func checkBlobs(c *checker) {
	refs := map[model.Hash]uint32{}
	for id, j := range c.s.Jobs.All() {
		c.hold(j.Purged == 0 || j.Open == 0, References, "job %s has no texts since %d, and %d open tasks", id, j.Purged, j.Open)
		for _, h := range []model.Hash{j.Script, j.Env, j.Stdin, j.SubmitEnv} {
			refs[h]++
			c.hold(h.IsZero() || j.Purged == 0, References, "job %s names content %s, which was removed at %d", id, h, j.Purged)
			c.hold(h.IsZero() || c.s.Blobs.Has(h), References, "job %s names content %s, which is not there", id, h)
		}
	}
	for h, b := range c.s.Blobs.All() {
		c.hold(b.Refs == refs[h], TotalsAgree, "content %s counts %d jobs of %d", h, b.Refs, refs[h])
		c.hold(sha256.Sum256([]byte(b.Data)) == h, References, "content %s is something else", h)
	}
}

func checkRankRefs(c *checker) {
	for k, r := range c.s.Ranks.All() {
		a, found := c.s.Attempts.Get(k.Attempt())
		c.hold(found && k.Rank < a.Ranks, References, "rank %s has no attempt", k)
		c.hold(r.Phase.Ended() || c.s.Nodes.Has(r.Node), References, "rank %s lives on node %s, which is not there", k, r.Node)
	}
	given := map[model.RankKey]uint32{}
	for k := range c.s.RankGPUs.All() {
		given[k.Rank]++
		c.hold(c.s.Ranks.Has(k.Rank), References, "GPU %s was given to rank %s, which is not there", k.GPU, k.Rank)
	}
	for k, r := range c.s.Ranks.All() {
		c.hold(given[k] == r.GPUs, References, "rank %s was given %d GPUs, on record are %d", k, r.GPUs, given[k])
	}
}

func checkNodeRefs(c *checker) {
	for id, n := range c.s.Nodes.All() {
		lease, found := c.s.Leases.Get(id)
		c.hold(found && lease.Epoch == n.Epoch && n.Epoch > 0, References, "node %s is of epoch %d, its lease of %d", id, n.Epoch, lease.Epoch)
		c.hold(c.s.NodeUse.Has(id), References, "node %s has no counts", id)
		c.hold(n.Status >= model.NodeUp && n.Status <= model.NodeDead, References, "node %s is in status %d", id, n.Status)
		c.hold((n.Rests == 0 || n.Refuses()) && (n.Refusals > 0 || n.Refusal == ""), References, "node %s rests until %d after %d refusals (%q)", id, n.Rests, n.Refusals, n.Refusal)
		c.hold((n.Refusals > 0) == (n.Refuser != "") && (n.Refusals > 0 || n.Refused == 0) && n.Refused <= c.s.Settings().Clock, References,
			"node %s counts %d refusals, the last of them for %q at %d", id, n.Refusals, n.Refuser, n.Refused)
	}
	for id := range c.s.Leases.All() {
		c.hold(c.s.Nodes.Has(id), References, "the lease of node %s has no node", id)
	}
	for id := range c.s.NodeUse.All() {
		c.hold(c.s.Nodes.Has(id), References, "the counts of node %s have no node", id)
	}
}

func checkGPURefs(c *checker) {
	for id, g := range c.s.GPUs.All() {
		c.hold(c.s.Nodes.Has(g.Node), References, "GPU %s is on node %s, which is not there", id, g.Node)
		c.hold(g.Slots > 0 && g.Health.Valid(), References, "GPU %s has %d slots and health %d", id, g.Slots, g.Health)
		for n := range g.Slots {
			slot, found := c.s.Slots.Get(model.SlotKey{GPU: id, Slot: n})
			c.hold(found && slot.Node == g.Node, References, "slot %d of GPU %s is not with it", n, id)
		}
	}
	for k := range c.s.Slots.All() {
		g, found := c.s.GPUs.Get(k.GPU)
		c.hold(found && k.Slot < g.Slots, References, "slot %v has no GPU", k)
	}
}

// checkClaimRefs: a claim is for a waiting task or service, on an existing slot.
func checkClaimRefs(c *checker) {
	for k, v := range c.s.Claims.All() {
		slot, found := c.s.Slots.Get(k)
		c.hold(found && slot.Node == v.Node, References, "the claim on %v has no slot on node %s", k, v.Node)
		task, found := c.s.Tasks.Get(v.Beneficiary)
		waits := found && task.State == model.TaskQueued && !task.Held || c.s.Waiting.Has(v.Beneficiary)
		c.hold(waits, References, "%v is kept for %s, which does not wait for it", k, v.Beneficiary)
	}
}

// checkRequestRefs: no two requests were answered with the same new job.
func checkRequestRefs(c *checker) {
	next := c.s.Settings().NextJob
	brought := map[model.JobID]bool{}
	for k, r := range c.s.Requests.All() {
		c.hold(r.Index <= c.s.Index, References, "request %v was answered at %d, which is to come", k, r.Index)
		if command.Kind(r.Kind) == command.KindSubmit {
			c.hold(r.Job > 0 && r.Job < next, NothingLost, "request %v was answered with job %s, which never was", k, r.Job)
			c.hold(!brought[r.Job], NothingLost, "request %v and another were answered with job %s", k, r.Job)
			brought[r.Job] = true
		}
	}
	c.hold(c.s.Requests.Len() <= state.MaxRequests, References, "%d request ids are kept", c.s.Requests.Len())
	checkRequestUse(c)
}

// checkRequestUse: the request ids of each actor are counted, and within the actor's share.
func checkRequestUse(c *checker) {
	want, untimed := table.Table[model.ActorName, model.RequestUse]{}.Fork(), uint64(0)
	for k := range c.s.Requests.All() {
		use, _ := want.Get(model.ActorName(k.Actor))
		use.Actor = k.Actor
		if k.Drawn > 0 {
			use.Timed++
		} else {
			use.Untimed++
			untimed++
		}
		want.Put(model.ActorName(k.Actor), use)
	}
	for name, use := range c.s.RequestUse.All() {
		n, found := want.Get(name)
		n.Actor, n.From = string(name), use.From
		if found || use.From > c.s.Settings().RequestsFrom {
			want.Put(name, n)
		}
		c.hold(use.Timed+use.Untimed <= state.MaxRequestsOf, WithinLimits, "%d request ids of %s are kept", use.Timed+use.Untimed, name)
	}
	same(c, TotalsAgree, "the count of request ids of", c.s.RequestUse, want.Table())
	c.hold(untimed == c.s.Settings().Requests.Untimed, TotalsAgree, "%d request ids without a time are kept, %d are counted", untimed,
		c.s.Settings().Requests.Untimed)
}
