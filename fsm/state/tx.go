package state

import (
	"fmt"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// tx is one log entry being applied.
type tx struct {
	cells
	indexes
	trail
	counts

	meta      Meta
	settings  model.Settings // current values; finish makes a row of them
	clock     model.Time
	actor     string // of the current command
	restoring bool   // rows come from a snapshot: counts are rows among them
	book      bookkeeper
	news      news
	bounds    requestBounds
	from      *State
}

// counts is what the entry counts.
type counts struct {
	numbered uint64 // allocations that it has numbered
	fit      int64  // see State.FitGPUs
}

// trail is the entry's part for the archives.
type trail struct {
	repeat  bool  // the current command got its former answer
	repeats []int // the commands of which that is so
	retired []model.JobID
}

type cells struct {
	globals     cell[Only, model.Settings]
	peers       cell[model.PeerID, model.Peer]
	limits      cell[model.ScopeKey, model.Limit]
	usage       cell[model.ScopeKey, model.Usage]
	blobs       cell[model.Hash, model.Blob]
	jobs        cell[model.JobID, model.Job]
	tasks       cell[model.TaskKey, model.Task]
	events      cell[model.EventKey, model.Event]
	attempts    cell[model.AttemptKey, model.Attempt]
	ranks       cell[model.RankKey, model.Rank]
	rankGPUs    cell[model.RankGPUKey, model.RankGPU]
	nodes       cell[model.NodeID, model.Node]
	leases      cell[model.NodeID, model.Lease]
	nodeUse     cell[model.NodeID, model.NodeUse]
	gpus        cell[model.GPUID, model.GPU]
	slots       cell[model.SlotKey, model.Slot]
	claims      cell[model.SlotKey, model.Claim]
	allocations cell[model.AllocationID, model.Allocation]
	requests    cell[model.RequestKey, model.Request]
	requestUse  cell[model.ActorName, model.RequestUse]
	sketches    cell[model.SketchKey, model.Sketch]
	shares      cell[model.ShareKey, model.Share]
	weights     cell[model.ScopeKey, model.Weight]
	accounts    cell[model.ScopeKey, model.Account]

	dependencies cell[model.DependencyKey, model.Dependency]
	bookings     cell[model.BookingID, model.Booking]
	tallies      cell[model.TallyKey, model.Tally]

	tokens  cell[model.Hash, model.Token]
	users   cell[model.UserName, model.User]
	members cell[model.MemberKey, model.Member]

	webhooks   cell[model.WebhookID, model.Webhook]
	outlets    cell[model.OutletID, model.Outlet]
	deliveries cell[model.DeliveryKey, model.Delivery]
	warned     cell[model.AttemptKey, model.Warned]
}

type indexes struct {
	queue      index[QueueKey, None]
	due        index[DueKey, None]
	liveTasks  index[model.TaskKey, None]
	byFree     index[FreeKey, None]
	private    index[PrivateKey, None]
	nodeRanks  index[NodeRankKey, None]
	nodeGPUs   index[model.AddressKey, None]
	owners     index[OwnerKey, None]
	claimedFor index[ClaimKey, None]
	ended      index[EndedKey, None]
	attached   index[model.JobID, None]
	awaited    index[AwaitedKey, None]
	settling   index[model.JobID, None]
	deadlines  index[DeadlineKey, None]
	born       index[BornKey, None]
	sketchAge  index[SketchAgeKey, None]
	waiting    index[model.TaskKey, model.AllocationID]
	heldFor    index[HeldForKey, None]
	outgoing   index[OutgoingKey, None]
	delivered  index[model.DeliveryKey, None]
}

// wakes returns a set of topics.
func wakes(topics ...model.Topic) (s model.TopicSet) {
	for _, t := range topics {
		s = s.With(t)
	}
	return s
}

func begin(s *State, m Meta) *tx {
	t := &tx{meta: m, from: s, settings: s.Settings(), book: bookkeeper{base: s.ledger}, counts: counts{fit: s.FitGPUs}, bounds: standardBounds()}
	t.open(&s.Tables)
	t.indexes = indexes{
		queue: index[QueueKey, None]{base: s.Queue}, due: index[DueKey, None]{base: s.Due},
		liveTasks: index[model.TaskKey, None]{base: s.LiveTasks}, byFree: index[FreeKey, None]{base: s.ByFree},
		private:   index[PrivateKey, None]{base: s.Private},
		nodeRanks: index[NodeRankKey, None]{base: s.NodeRanks}, nodeGPUs: index[model.AddressKey, None]{base: s.NodeGPUs},
		owners: index[OwnerKey, None]{base: s.Owners}, claimedFor: index[ClaimKey, None]{base: s.ClaimedFor},
		ended: index[EndedKey, None]{base: s.Ended}, attached: index[model.JobID, None]{base: s.Attached}, born: index[BornKey, None]{base: s.Born},
		awaited: index[AwaitedKey, None]{base: s.Awaited}, settling: index[model.JobID, None]{base: s.Settling},
		deadlines: index[DeadlineKey, None]{base: s.Deadlines}, sketchAge: index[SketchAgeKey, None]{base: s.SketchAge},
		waiting: index[model.TaskKey, model.AllocationID]{base: s.Waiting}, heldFor: index[HeldForKey, None]{base: s.HeldFor},
		outgoing: index[OutgoingKey, None]{base: s.Outgoing}, delivered: index[model.DeliveryKey, None]{base: s.Delivered},
	}
	return t
}

// open gives every cell its table, its number for ever, and its hook.
func (t *tx) open(s *Tables) {
	t.globals = cell[Only, model.Settings]{
		number: 1, name: "settings", base: s.Globals,
		key: func(model.Settings) Only { return Only{} },
	}
	t.peers = cell[model.PeerID, model.Peer]{
		number: 2, name: "peers", base: s.Peers, wakes: wakes(model.TopicSettings),
		key: func(r model.Peer) model.PeerID { return r.ID },
	}
	t.limits = cell[model.ScopeKey, model.Limit]{
		number: 3, name: "limits", base: s.Limits,
		wakes: wakes(model.TopicSettings), key: func(r model.Limit) model.ScopeKey { return r.Scope },
	}
	t.usage = cell[model.ScopeKey, model.Usage]{
		number: 4, name: "usage", base: s.Usage,
		key: func(r model.Usage) model.ScopeKey { return r.Scope },
	}
	t.blobs = cell[model.Hash, model.Blob]{
		number: 5, name: "blobs", base: s.Blobs,
		key: func(r model.Blob) model.Hash { return r.Hash },
	}
	t.jobs = cell[model.JobID, model.Job]{
		number: 6, name: "jobs", base: s.Jobs, wakes: wakes(model.TopicJob),
		key: func(r model.Job) model.JobID { return r.ID }, hook: bind(t, onJob),
	}
	t.dependencies = cell[model.DependencyKey, model.Dependency]{
		number: 30, name: "dependencies", base: s.Dependencies, wakes: wakes(model.TopicJob),
		key: func(r model.Dependency) model.DependencyKey { return r.Key }, hook: bind(t, onDependency),
	}
	t.tasks = cell[model.TaskKey, model.Task]{
		number: 7, name: "tasks", base: s.Tasks, wakes: wakes(model.TopicJob),
		key: func(r model.Task) model.TaskKey { return r.Key }, hook: bind(t, onTask),
	}
	t.events = cell[model.EventKey, model.Event]{
		number: 8, name: "events", base: s.Events, wakes: wakes(model.TopicJob),
		key: func(r model.Event) model.EventKey { return r.Key },
	}
	t.attempts = cell[model.AttemptKey, model.Attempt]{
		number: 9, name: "attempts", base: s.Attempts,
		wakes: wakes(model.TopicJob), key: func(r model.Attempt) model.AttemptKey { return r.Key }, hook: bind(t, onAttempt),
	}
	t.ranks = cell[model.RankKey, model.Rank]{
		number: 10, name: "ranks", base: s.Ranks, wakes: wakes(model.TopicJob),
		key: func(r model.Rank) model.RankKey { return r.Key }, hook: bind(t, onRank),
	}
	t.rankGPUs = cell[model.RankGPUKey, model.RankGPU]{
		number: 20, name: "rank_gpus", base: s.RankGPUs,
		wakes: wakes(model.TopicJob), key: func(r model.RankGPU) model.RankGPUKey { return r.Key },
	}
	openFleet(t, s)
}

// openFleet is open for the nodes and what is on them.
func openFleet(t *tx, s *Tables) {
	t.nodes = cell[model.NodeID, model.Node]{
		number: 11, name: "nodes", base: s.Nodes, wakes: wakes(model.TopicNode),
		key: func(r model.Node) model.NodeID { return r.ID }, hook: bind(t, onNode),
	}
	t.leases = cell[model.NodeID, model.Lease]{
		number: 12, name: "leases", base: s.Leases, wakes: wakes(model.TopicLease),
		key: func(r model.Lease) model.NodeID { return r.Node },
	}
	t.nodeUse = cell[model.NodeID, model.NodeUse]{
		number: 13, name: "node_use", base: s.NodeUse,
		wakes: wakes(model.TopicNode), key: func(r model.NodeUse) model.NodeID { return r.Node }, hook: bind(t, onNodeUse),
	}
	t.gpus = cell[model.GPUID, model.GPU]{
		number: 14, name: "gpus", base: s.GPUs, wakes: wakes(model.TopicFleet),
		key: func(r model.GPU) model.GPUID { return r.ID }, hook: bind(t, onGPU),
	}
	t.slots = cell[model.SlotKey, model.Slot]{
		number: 15, name: "slots", base: s.Slots, wakes: wakes(model.TopicFleet),
		key: func(r model.Slot) model.SlotKey { return r.Key }, hook: bind(t, onSlot),
	}
	t.claims = cell[model.SlotKey, model.Claim]{
		number: 16, name: "claims", base: s.Claims, wakes: wakes(model.TopicFleet),
		key: func(r model.Claim) model.SlotKey { return r.Slot }, hook: bind(t, onClaim),
	}
	t.allocations = cell[model.AllocationID, model.Allocation]{
		number: 17, name: "allocations", base: s.Allocations,
		wakes: wakes(model.TopicFleet, model.TopicQueue), key: func(r model.Allocation) model.AllocationID { return r.ID },
		hook: bind(t, onAllocation),
	}
	t.sketches = cell[model.SketchKey, model.Sketch]{
		number: 19, name: "sketches", base: s.Sketches,
		key: func(r model.Sketch) model.SketchKey { return r.Key }, hook: bind(t, onSketch),
	}
	t.shares = cell[model.ShareKey, model.Share]{
		number: 21, name: "shares", base: s.Shares,
		key: func(r model.Share) model.ShareKey { return r.Key },
	}
	t.weights = cell[model.ScopeKey, model.Weight]{
		number: 22, name: "weights", base: s.Weights, wakes: wakes(model.TopicSettings),
		key: func(r model.Weight) model.ScopeKey { return r.Scope },
	}
	t.accounts = cell[model.ScopeKey, model.Account]{
		number: 23, name: "accounts", base: s.Accounts,
		key: func(r model.Account) model.ScopeKey { return r.Scope },
	}
	t.bookings = cell[model.BookingID, model.Booking]{
		number: 24, name: "bookings", base: s.Bookings, wakes: wakes(model.TopicSettings),
		key: func(r model.Booking) model.BookingID { return r.ID }, hook: bind(t, onBooking),
	}
	t.tallies = cell[model.TallyKey, model.Tally]{
		number: 40, name: "tallies", base: s.Tallies,
		key: func(r model.Tally) model.TallyKey { return r.Key },
	}
	openRequests(t, s)
	openPeople(t, s)
}

// openRequests is open for the request ids that are remembered.
func openRequests(t *tx, s *Tables) {
	t.requests = cell[model.RequestKey, model.Request]{
		number: 18, name: "requests", base: s.Requests,
		key: func(r model.Request) model.RequestKey { return r.Key }, hook: bind(t, onRequest),
	}
	t.requestUse = cell[model.ActorName, model.RequestUse]{
		number: 41, name: "request_use", base: s.RequestUse,
		key: func(r model.RequestUse) model.ActorName { return model.ActorName(r.Actor) },
	}
}

// openPeople is open for users, tokens and memberships.
func openPeople(t *tx, s *Tables) {
	t.tokens = cell[model.Hash, model.Token]{
		number: 25, name: "tokens", base: s.Tokens, wakes: wakes(model.TopicSettings),
		key: func(r model.Token) model.Hash { return r.Hash },
	}
	t.users = cell[model.UserName, model.User]{
		number: 26, name: "users", base: s.Users, wakes: wakes(model.TopicSettings),
		key: func(r model.User) model.UserName { return model.UserName(r.Name) },
	}
	t.members = cell[model.MemberKey, model.Member]{
		number: 27, name: "members", base: s.Members, wakes: wakes(model.TopicSettings),
		key: func(r model.Member) model.MemberKey { return r.Key },
	}
	openOutbox(t, s)
}

// openOutbox is open for notices and their deliveries.
func openOutbox(t *tx, s *Tables) {
	t.webhooks = cell[model.WebhookID, model.Webhook]{
		number: 29, name: "webhooks", base: s.Webhooks, wakes: wakes(model.TopicSettings),
		key: func(r model.Webhook) model.WebhookID { return r.ID },
	}
	t.outlets = cell[model.OutletID, model.Outlet]{
		number: 31, name: "outlets", base: s.Outlets,
		key: func(r model.Outlet) model.OutletID { return r.ID },
	}
	t.deliveries = cell[model.DeliveryKey, model.Delivery]{
		number: 32, name: "deliveries", base: s.Deliveries, wakes: wakes(model.TopicJob),
		key: func(r model.Delivery) model.DeliveryKey { return r.Key }, hook: bind(t, onDelivery),
	}
	t.warned = cell[model.AttemptKey, model.Warned]{
		number: 33, name: "warned", base: s.Warned,
		key: func(r model.Warned) model.AttemptKey { return r.Attempt },
	}
}

const tableCount = 34

// all returns the cells in the order of snapshots: a row comes after those that its hook looks up. The
// settings come last, since committing the others stamps the topics there.
func (t *tx) all() [tableCount]anyCell {
	return [tableCount]anyCell{
		&t.peers, &t.limits, &t.usage, &t.blobs, &t.jobs, &t.dependencies, &t.tasks, &t.events, &t.attempts,
		&t.ranks, &t.rankGPUs, &t.nodes, &t.leases, &t.nodeUse, &t.gpus, &t.claims, &t.slots, &t.allocations, &t.requestUse, &t.requests, &t.sketches,
		&t.shares, &t.weights, &t.accounts,
		&t.bookings, &t.tallies,
		&t.users, &t.members, &t.tokens,
		&t.webhooks, &t.outlets, &t.deliveries, &t.warned,
		&t.globals,
	}
}

// close publishes the transaction's result.
func (t *tx) close(d digest) State {
	return State{
		Tables: Tables{
			Globals: t.globals.now(), Peers: t.peers.now(), Limits: t.limits.now(), Usage: t.usage.now(),
			Blobs: t.blobs.now(), Jobs: t.jobs.now(), Dependencies: t.dependencies.now(), Tasks: t.tasks.now(), Events: t.events.now(),
			Attempts: t.attempts.now(), Ranks: t.ranks.now(), RankGPUs: t.rankGPUs.now(), Nodes: t.nodes.now(), Leases: t.leases.now(),
			NodeUse: t.nodeUse.now(), GPUs: t.gpus.now(), Slots: t.slots.now(), Claims: t.claims.now(),
			Allocations: t.allocations.now(), Requests: t.requests.now(), RequestUse: t.requestUse.now(), Sketches: t.sketches.now(),
			Shares: t.shares.now(), Weights: t.weights.now(), Accounts: t.accounts.now(),
			Bookings: t.bookings.now(), Tallies: t.tallies.now(),
			Tokens: t.tokens.now(), Users: t.users.now(), Members: t.members.now(),
			Webhooks: t.webhooks.now(), Outlets: t.outlets.now(), Deliveries: t.deliveries.now(), Warned: t.warned.now(),
		},
		Indexes: Indexes{
			Queue: t.queue.now(), Due: t.due.now(), LiveTasks: t.liveTasks.now(), ByFree: t.byFree.now(), Private: t.private.now(),
			NodeRanks: t.nodeRanks.now(), NodeGPUs: t.nodeGPUs.now(), Owners: t.owners.now(),
			ClaimedFor: t.claimedFor.now(), Ended: t.ended.now(), Attached: t.attached.now(),
			Awaited: t.awaited.now(), Settling: t.settling.now(), Deadlines: t.deadlines.now(), Born: t.born.now(), SketchAge: t.sketchAge.now(),
			Waiting: t.waiting.now(), HeldFor: t.heldFor.now(), Outgoing: t.outgoing.now(), Delivered: t.delivered.now(),
		},
		Index: t.meta.Index, Term: t.meta.Term, digest: d, ledger: t.book.close(t), FitGPUs: t.fit,
	}
}

// bind gives a hook its transaction.
func bind[R any](t *tx, hook func(t *tx, old, next *R)) func(old, next *R) {
	return func(old, next *R) { hook(t, old, next) }
}

func ok() command.Result { return command.Result{} }

func refuse(code model.Code, format string, args ...any) command.Result {
	return command.Result{Code: code, Detail: fmt.Sprintf(format, args...)}
}
