package tx

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// tableCount is the number of stored tables.
const tableCount = 37

// tableWalk passes over the tables and indexes of a state at the begin of a transaction, which takes their
// contents from there, and at its end, which puts its own there.
type tableWalk struct {
	t    *Tx
	ends bool
}

// tables registers every stored table: its place in the transaction and in the state, its number in digests
// and snapshots, which is permanent, its name in messages, the topics that a change of a row wakes, the hook
// that keeps indexes and counts, and the key of a row. They come in the order of snapshots: a row comes after
// those that its hook looks up. The settings come last, since committing the others stamps the topics there.
func (v *tableWalk) tables(s *state.Tables) {
	t := v.t
	settings, job := wakes(model.TopicSettings), wakes(model.TopicJob)
	stored(v, &t.Peers, &s.Peers, 2, "peers", settings, nil, func(r model.Peer) model.PeerID { return r.ID })
	stored(v, &t.Limits, &s.Limits, 3, "limits", settings, nil, func(r model.Limit) model.ScopeKey { return r.Scope })
	stored(v, &t.Usage, &s.Usage, 4, "usage", 0, nil, func(r model.Usage) model.ScopeKey { return r.Scope })
	stored(v, &t.Blobs, &s.Blobs, 5, "blobs", 0, nil, func(r model.Blob) model.Hash { return r.Hash })
	stored(v, &t.Jobs, &s.Jobs, 6, "jobs", job, onJob, func(r model.Job) model.JobID { return r.ID })
	stored(v, &t.Dependencies, &s.Dependencies, 30, "dependencies", job, onDependency, func(r dependency.Row) dependency.Key { return r.Key })
	stored(v, &t.Tasks, &s.Tasks, 7, "tasks", job, onTask, func(r model.Task) model.TaskKey { return r.Key })
	stored(v, &t.Events, &s.Events, 8, "events", job, nil, func(r model.Event) model.EventKey { return r.Key })
	stored(v, &t.Attempts, &s.Attempts, 9, "attempts", job, onAttempt, func(r model.Attempt) model.AttemptKey { return r.Key })
	stored(v, &t.Ranks, &s.Ranks, 10, "ranks", job, onRank, func(r model.Rank) model.RankKey { return r.Key })
	stored(v, &t.RankGPUs, &s.RankGPUs, 20, "rank_gpus", job, nil, func(r model.RankGPU) model.RankGPUKey { return r.Key })
	v.fleet(s)
	stored(v, &t.Users, &s.Users, 26, "users", settings, nil, func(r model.User) model.UserName { return model.UserName(r.Name) })
	stored(v, &t.Members, &s.Members, 27, "members", settings, nil, func(r model.Member) model.MemberKey { return r.Key })
	stored(v, &t.Tokens, &s.Tokens, 25, "tokens", settings, nil, func(r model.Token) model.Hash { return r.Hash })
	stored(v, &t.Sessions, &s.Sessions, 36, "sessions", settings, nil, func(r session.Row) model.Hash { return r.Hash })
	stored(v, &t.Webhooks, &s.Webhooks, 29, "webhooks", settings, nil, func(r outbox.Webhook) outbox.WebhookID { return r.ID })
	stored(v, &t.Outlets, &s.Outlets, 31, "outlets", 0, nil, func(r outbox.Outlet) outbox.OutletID { return r.ID })
	stored(v, &t.Deliveries, &s.Deliveries, 32, "deliveries", job, onDelivery, func(r outbox.Delivery) outbox.Key { return r.Key })
	stored(v, &t.Warned, &s.Warned, 33, "warned", 0, nil, func(r outbox.Warned) model.AttemptKey { return r.Attempt })
	stored(v, &t.Certificates, &s.Certificates, 34, "certificates", settings, nil, func(r membership.Certificate) membership.Member { return r.Member })
	stored(v, &t.Trusts, &s.Trusts, 35, "trust", settings, nil, func(membership.Trust) state.Only { return state.Only{} })
	stored(v, &t.globals, &s.Globals, 1, "settings", 0, nil, func(model.Settings) state.Only { return state.Only{} })
}

// fleet registers the tables of nodes and of what is on them, and of what counts their use.
func (v *tableWalk) fleet(s *state.Tables) {
	t := v.t
	settings, node, fleet := wakes(model.TopicSettings), wakes(model.TopicNode), wakes(model.TopicFleet)
	stored(v, &t.Nodes, &s.Nodes, 11, "nodes", node, onNode, func(r model.Node) model.NodeID { return r.ID })
	stored(v, &t.Leases, &s.Leases, 12, "leases", wakes(model.TopicLease), nil, func(r model.Lease) model.NodeID { return r.Node })
	stored(v, &t.NodeUse, &s.NodeUse, 13, "node_use", node, onNodeUse, func(r model.NodeUse) model.NodeID { return r.Node })
	stored(v, &t.GPUs, &s.GPUs, 14, "gpus", fleet, onGPU, func(r model.GPU) model.GPUID { return r.ID })
	stored(v, &t.Claims, &s.Claims, 16, "claims", fleet, onClaim, func(r model.Claim) model.SlotKey { return r.Slot })
	stored(v, &t.Slots, &s.Slots, 15, "slots", fleet, onSlot, func(r model.Slot) model.SlotKey { return r.Key })
	stored(v, &t.Allocations, &s.Allocations, 17, "allocations", fleet.With(model.TopicQueue), onAllocation,
		func(r model.Allocation) model.AllocationID { return r.ID })
	stored(v, &t.RequestUse, &s.RequestUse, 41, "request_use", 0, nil, func(r model.RequestUse) model.ActorName { return model.ActorName(r.Actor) })
	stored(v, &t.Requests, &s.Requests, 18, "requests", 0, onRequest, func(r model.Request) model.RequestKey { return r.Key })
	stored(v, &t.Sketches, &s.Sketches, 19, "sketches", 0, onSketch, func(r model.Sketch) model.SketchKey { return r.Key })
	stored(v, &t.Shares, &s.Shares, 21, "shares", 0, nil, func(r model.Share) model.ShareKey { return r.Key })
	stored(v, &t.Weights, &s.Weights, 22, "weights", settings, nil, func(r model.Weight) model.ScopeKey { return r.Scope })
	stored(v, &t.Accounts, &s.Accounts, 23, "accounts", 0, nil, func(r model.Account) model.ScopeKey { return r.Scope })
	stored(v, &t.Bookings, &s.Bookings, 24, "bookings", settings, onBooking, func(r model.Booking) model.BookingID { return r.ID })
	stored(v, &t.tallies, &s.Tallies, 40, "tallies", 0, nil, func(r tally.Row) tally.Key { return r.Key })
}

// indexes registers every index.
func (v *tableWalk) indexes(x *state.Indexes) {
	t := v.t
	derived(v, &t.queue, &x.Queue)
	derived(v, &t.cpuQueue, &x.CPUQueue)
	derived(v, &t.due, &x.Due)
	derived(v, &t.liveTasks, &x.LiveTasks)
	derived(v, &t.liveCPU, &x.LiveCPU)
	derived(v, &t.byFree, &x.ByFree)
	derived(v, &t.private, &x.Private)
	derived(v, &t.lacking, &x.Lacking)
	derived(v, &t.nodeRanks, &x.NodeRanks)
	derived(v, &t.NodeGPUs, &x.NodeGPUs)
	derived(v, &t.Owners, &x.Owners)
	derived(v, &t.ClaimedFor, &x.ClaimedFor)
	derived(v, &t.ended, &x.Ended)
	derived(v, &t.attached, &x.Attached)
	derived(v, &t.Born, &x.Born)
	derived(v, &t.awaited, &x.Awaited)
	derived(v, &t.settling, &x.Settling)
	derived(v, &t.delayed, &x.Delayed)
	derived(v, &t.deadlines, &x.Deadlines)
	derived(v, &t.SketchAge, &x.SketchAge)
	derived(v, &t.Waiting, &x.Waiting)
	derived(v, &t.HeldFor, &x.HeldFor)
	derived(v, &t.Outgoing, &x.Outgoing)
	derived(v, &t.Delivered, &x.Delivered)
}

// stored takes a table from the state, or puts the transaction's there.
func stored[K table.Key[K], R comparable](v *tableWalk, c *cell[K, R], home *table.Table[K, R], number uint8, name string,
	topics model.TopicSet, hook func(t *Tx, old, next *R), key func(R) K,
) {
	if v.ends {
		*home = c.Now()
		return
	}
	c.t, c.base, c.number, c.name, c.wakes, c.hook, c.key = v.t, *home, number, name, topics, hook, key
	v.t.List = append(v.t.List, c)
}

// derived takes an index from the state, or puts the transaction's there.
func derived[K table.Key[K], R comparable](v *tableWalk, x *index[K, R], home *table.Table[K, R]) {
	if v.ends {
		*home = x.Now()
	} else {
		x.base = *home
	}
}
