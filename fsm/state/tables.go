package state

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// tableCount is the number of stored tables.
const tableCount = 34

// tableWalk passes over the tables and indexes of a state at the begin of a transaction, which takes their
// contents from there, and at its end, which puts its own there.
type tableWalk struct {
	t    *tx
	ends bool
}

// tables registers every stored table: its place in the transaction and in the state, its number in digests
// and snapshots, which is permanent, its name in messages, the topics that a change of a row wakes, the hook
// that keeps indexes and counts, and the key of a row. They come in the order of snapshots: a row comes after
// those that its hook looks up. The settings come last, since committing the others stamps the topics there.
func (v *tableWalk) tables(s *Tables) {
	t := v.t
	settings, job := wakes(model.TopicSettings), wakes(model.TopicJob)
	stored(v, &t.peers, &s.Peers, 2, "peers", settings, nil, func(r model.Peer) model.PeerID { return r.ID })
	stored(v, &t.limits, &s.Limits, 3, "limits", settings, nil, func(r model.Limit) model.ScopeKey { return r.Scope })
	stored(v, &t.usage, &s.Usage, 4, "usage", 0, nil, func(r model.Usage) model.ScopeKey { return r.Scope })
	stored(v, &t.blobs, &s.Blobs, 5, "blobs", 0, nil, func(r model.Blob) model.Hash { return r.Hash })
	stored(v, &t.jobs, &s.Jobs, 6, "jobs", job, onJob, func(r model.Job) model.JobID { return r.ID })
	stored(v, &t.dependencies, &s.Dependencies, 30, "dependencies", job, onDependency, func(r model.Dependency) model.DependencyKey { return r.Key })
	stored(v, &t.tasks, &s.Tasks, 7, "tasks", job, onTask, func(r model.Task) model.TaskKey { return r.Key })
	stored(v, &t.events, &s.Events, 8, "events", job, nil, func(r model.Event) model.EventKey { return r.Key })
	stored(v, &t.attempts, &s.Attempts, 9, "attempts", job, onAttempt, func(r model.Attempt) model.AttemptKey { return r.Key })
	stored(v, &t.ranks, &s.Ranks, 10, "ranks", job, onRank, func(r model.Rank) model.RankKey { return r.Key })
	stored(v, &t.rankGPUs, &s.RankGPUs, 20, "rank_gpus", job, nil, func(r model.RankGPU) model.RankGPUKey { return r.Key })
	v.fleet(s)
	stored(v, &t.users, &s.Users, 26, "users", settings, nil, func(r model.User) model.UserName { return model.UserName(r.Name) })
	stored(v, &t.members, &s.Members, 27, "members", settings, nil, func(r model.Member) model.MemberKey { return r.Key })
	stored(v, &t.tokens, &s.Tokens, 25, "tokens", settings, nil, func(r model.Token) model.Hash { return r.Hash })
	stored(v, &t.webhooks, &s.Webhooks, 29, "webhooks", settings, nil, func(r model.Webhook) model.WebhookID { return r.ID })
	stored(v, &t.outlets, &s.Outlets, 31, "outlets", 0, nil, func(r model.Outlet) model.OutletID { return r.ID })
	stored(v, &t.deliveries, &s.Deliveries, 32, "deliveries", job, onDelivery, func(r model.Delivery) model.DeliveryKey { return r.Key })
	stored(v, &t.warned, &s.Warned, 33, "warned", 0, nil, func(r model.Warned) model.AttemptKey { return r.Attempt })
	stored(v, &t.globals, &s.Globals, 1, "settings", 0, nil, func(model.Settings) Only { return Only{} })
}

// fleet registers the tables of nodes and of what is on them, and of what counts their use.
func (v *tableWalk) fleet(s *Tables) {
	t := v.t
	settings, node, fleet := wakes(model.TopicSettings), wakes(model.TopicNode), wakes(model.TopicFleet)
	stored(v, &t.nodes, &s.Nodes, 11, "nodes", node, onNode, func(r model.Node) model.NodeID { return r.ID })
	stored(v, &t.leases, &s.Leases, 12, "leases", wakes(model.TopicLease), nil, func(r model.Lease) model.NodeID { return r.Node })
	stored(v, &t.nodeUse, &s.NodeUse, 13, "node_use", node, onNodeUse, func(r model.NodeUse) model.NodeID { return r.Node })
	stored(v, &t.gpus, &s.GPUs, 14, "gpus", fleet, onGPU, func(r model.GPU) model.GPUID { return r.ID })
	stored(v, &t.claims, &s.Claims, 16, "claims", fleet, onClaim, func(r model.Claim) model.SlotKey { return r.Slot })
	stored(v, &t.slots, &s.Slots, 15, "slots", fleet, onSlot, func(r model.Slot) model.SlotKey { return r.Key })
	stored(v, &t.allocations, &s.Allocations, 17, "allocations", fleet.With(model.TopicQueue), onAllocation, func(r model.Allocation) model.AllocationID { return r.ID })
	stored(v, &t.requestUse, &s.RequestUse, 41, "request_use", 0, nil, func(r model.RequestUse) model.ActorName { return model.ActorName(r.Actor) })
	stored(v, &t.requests, &s.Requests, 18, "requests", 0, onRequest, func(r model.Request) model.RequestKey { return r.Key })
	stored(v, &t.sketches, &s.Sketches, 19, "sketches", 0, onSketch, func(r model.Sketch) model.SketchKey { return r.Key })
	stored(v, &t.shares, &s.Shares, 21, "shares", 0, nil, func(r model.Share) model.ShareKey { return r.Key })
	stored(v, &t.weights, &s.Weights, 22, "weights", settings, nil, func(r model.Weight) model.ScopeKey { return r.Scope })
	stored(v, &t.accounts, &s.Accounts, 23, "accounts", 0, nil, func(r model.Account) model.ScopeKey { return r.Scope })
	stored(v, &t.bookings, &s.Bookings, 24, "bookings", settings, onBooking, func(r model.Booking) model.BookingID { return r.ID })
	stored(v, &t.tallies, &s.Tallies, 40, "tallies", 0, nil, func(r model.Tally) model.TallyKey { return r.Key })
}

// indexes registers every index.
func (v *tableWalk) indexes(x *Indexes) {
	t := v.t
	derived(v, &t.queue, &x.Queue)
	derived(v, &t.due, &x.Due)
	derived(v, &t.liveTasks, &x.LiveTasks)
	derived(v, &t.byFree, &x.ByFree)
	derived(v, &t.private, &x.Private)
	derived(v, &t.nodeRanks, &x.NodeRanks)
	derived(v, &t.nodeGPUs, &x.NodeGPUs)
	derived(v, &t.owners, &x.Owners)
	derived(v, &t.claimedFor, &x.ClaimedFor)
	derived(v, &t.ended, &x.Ended)
	derived(v, &t.attached, &x.Attached)
	derived(v, &t.born, &x.Born)
	derived(v, &t.awaited, &x.Awaited)
	derived(v, &t.settling, &x.Settling)
	derived(v, &t.deadlines, &x.Deadlines)
	derived(v, &t.sketchAge, &x.SketchAge)
	derived(v, &t.waiting, &x.Waiting)
	derived(v, &t.heldFor, &x.HeldFor)
	derived(v, &t.outgoing, &x.Outgoing)
	derived(v, &t.delivered, &x.Delivered)
}

// stored takes a table from the state, or puts the transaction's there.
func stored[K table.Key[K], R comparable](v *tableWalk, c *cell[K, R], home *table.Table[K, R], number uint8, name string,
	topics model.TopicSet, hook func(t *tx, old, next *R), key func(R) K,
) {
	if v.ends {
		*home = c.now()
		return
	}
	c.t, c.base, c.number, c.name, c.wakes, c.hook, c.key = v.t, *home, number, name, topics, hook, key
	v.t.list = append(v.t.list, c)
}

// derived takes an index from the state, or puts the transaction's there.
func derived[K table.Key[K], R comparable](v *tableWalk, x *index[K, R], home *table.Table[K, R]) {
	if v.ends {
		*home = x.now()
	} else {
		x.base = *home
	}
}
