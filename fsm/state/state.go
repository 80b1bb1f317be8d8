package state

import (
	"cmp"
	"unique"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state/digest"
	"github.com/berth-gpu/berth/fsm/state/ledger"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// State is the cluster after some log entry. The zero State is that of an empty
// log. It is a value: copies are free and never change.
type State struct {
	Tables
	Indexes

	Index uint64 // of the last log entry that was applied
	Term  uint64 // of that entry

	// FitGPUs is how many GPUs are fit for work: healthy, and in service like their nodes, whether or not
	// they are held.
	FitGPUs int64

	Fingerprint digest.Digest
	Booked      *ledger.Ledger // nil: nothing is booked
}

// Tables are the stored rows: the content of snapshots and digests.
type Tables struct {
	Globals     table.Table[Only, model.Settings]
	Peers       table.Table[model.PeerID, model.Peer]
	Limits      table.Table[model.ScopeKey, model.Limit]
	Usage       table.Table[model.ScopeKey, model.Usage]
	Blobs       table.Table[model.Hash, model.Blob]
	Jobs        table.Table[model.JobID, model.Job]
	Tasks       table.Table[model.TaskKey, model.Task]
	Events      table.Table[model.EventKey, model.Event]
	Attempts    table.Table[model.AttemptKey, model.Attempt]
	Ranks       table.Table[model.RankKey, model.Rank]
	RankGPUs    table.Table[model.RankGPUKey, model.RankGPU]
	Nodes       table.Table[model.NodeID, model.Node]
	Leases      table.Table[model.NodeID, model.Lease]
	NodeUse     table.Table[model.NodeID, model.NodeUse]
	GPUs        table.Table[model.GPUID, model.GPU]
	Slots       table.Table[model.SlotKey, model.Slot]
	Claims      table.Table[model.SlotKey, model.Claim]
	Allocations table.Table[model.AllocationID, model.Allocation]
	Requests    table.Table[model.RequestKey, model.Request]
	RequestUse  table.Table[model.ActorName, model.RequestUse]
	Sketches    table.Table[model.SketchKey, model.Sketch]
	Shares      table.Table[model.ShareKey, model.Share]
	Weights     table.Table[model.ScopeKey, model.Weight]
	Accounts    table.Table[model.ScopeKey, model.Account]

	Dependencies table.Table[dependency.Key, dependency.Row]
	Bookings     table.Table[model.BookingID, model.Booking]

	Tokens     table.Table[model.Hash, model.Token]
	Sessions   table.Table[model.Hash, session.Row]
	Users      table.Table[model.UserName, model.User]
	Members    table.Table[model.MemberKey, model.Member]
	Tallies    table.Table[tally.Key, tally.Row]
	Webhooks   table.Table[outbox.WebhookID, outbox.Webhook]
	Outlets    table.Table[outbox.OutletID, outbox.Outlet]
	Deliveries table.Table[outbox.Key, outbox.Delivery]
	Warned     table.Table[model.AttemptKey, outbox.Warned]

	Certificates table.Table[membership.Member, membership.Certificate]
	Trusts       table.Table[Only, membership.Trust]
}

// Indexes are derived from the tables: other orders of the same rows.
type Indexes struct {
	// tasks with GPUs that wait for nothing but their turn: not held, their jobs wait for no others
	Queue      table.Table[QueueKey, None]
	CPUQueue   table.Table[QueueKey, None]                    // likewise, of jobs without GPUs
	Due        table.Table[DueKey, None]                      // of both, the ones not to be tried before an instant, by it
	LiveTasks  table.Table[model.TaskKey, None]               // tasks with a live attempt, of jobs with GPUs
	LiveCPU    table.Table[model.TaskKey, None]               // likewise, of jobs without GPUs
	ByFree     table.Table[FreeKey, None]                     // nodes, most free slots first
	Private    table.Table[PrivateKey, None]                  // nodes that run jobs of one user only
	Lacking    table.Table[PrivateKey, None]                  // nodes that lack the accounts of some users, by user
	NodeRanks  table.Table[NodeRankKey, None]                 // ranks that have not ended, by node
	NodeGPUs   table.Table[model.AddressKey, None]            // GPUs by node and place
	Owners     table.Table[OwnerKey, None]                    // slots that are not free, by owner
	ClaimedFor table.Table[ClaimKey, None]                    // claims by beneficiary
	Ended      table.Table[EndedKey, None]                    // jobs that have ended, oldest first
	Attached   table.Table[model.JobID, None]                 // jobs that have not ended and end with their client
	Awaited    table.Table[AwaitedKey, None]                  // dependencies that wait, by the awaited job
	Settling   table.Table[model.JobID, None]                 // jobs that have done, by their end or begin, what others wait for
	Delayed    table.Table[DelayedKey, None]                  // dependencies whose delay runs, by its end
	Deadlines  table.Table[DeadlineKey, None]                 // jobs that have not ended, by their deadline
	Born       table.Table[BornKey, None]                     // request ids, oldest first
	SketchAge  table.Table[SketchAgeKey, None]                // sketches, least recently fed first
	Waiting    table.Table[model.TaskKey, model.AllocationID] // allocations that wait, by turn
	HeldFor    table.Table[HeldForKey, None]                  // allocations that have not ended, by the user that the GPUs are for
	Outgoing   table.Table[OutgoingKey, None]                 // deliveries that wait, by when they are to be tried
	Delivered  table.Table[outbox.Key, None]                  // deliveries that have ended, oldest notice first
}

// Settings returns the cluster's one row of settings; zero before bootstrap.
func (s *State) Settings() model.Settings {
	g, _ := s.Globals.Get(Only{})
	return g
}

// Only is the key of a table with one row.
type Only struct{}

// Compare finds every Only equal.
func (Only) Compare(Only) int { return 0 }

// None is the row of an index whose keys contain everything.
type None struct{}

// QueueKey orders waiting tasks and services, so that all of one run - alike in all that an order may use
// except their place in the log - are together, first come first: a pass needs to look at the head of each
// only.
type QueueKey struct {
	Class model.Class
	Run   unique.Handle[Run] // shared by all keys of the run, which keeps keys short
	Task  model.TaskKey
	Since model.Time // when its job was submitted; follows from Task
}

// Run is the common part of waiting tasks of one class that differ in their place in the log only.
type Run struct {
	Project     string
	User        string
	Shape       model.Shape
	Expected    model.Step // run time that they are thought to need yet
	Executed    model.Step // run time that they have had, if Again
	Again       bool       // they have run before
	Preemptible bool
	Throttled   bool            // its job bounds how many of its tasks run at once
	Certain     model.Magnitude // of how long they hold GPUs at most
	Told        bool            // Expected follows from their user's estimate
	Service     bool            // they are services, which may be renewed for ever
	Place       model.Place     // that an operator has moved them to
}

// KeyOf returns the key that a task has, or would have, in the queue.
func KeyOf(task *model.Task, job *model.Job) QueueKey {
	run := Run{
		Project: job.Spec.Project, User: job.Spec.User, Shape: job.Spec.Shape(), Preemptible: job.Spec.Preemptible,
		Throttled: job.Throttle > 0, Certain: job.Spec.Magnitude(),
		Expected: model.StepOf(task.Expected), Again: task.Executed > 0, Told: job.Spec.Estimate > 0,
		Place: job.Place,
	}
	if run.Again {
		run.Executed = model.StepOf(task.Executed)
	}
	return QueueKey{Class: task.Class, Run: unique.Make(run), Task: task.Key, Since: task.Since}
}

// KeyOfService returns the key that a service has, or would have, in the queue.
func KeyOfService(a *model.Allocation) QueueKey {
	spec := a.Spec()
	run := Run{
		Project: a.Project, User: a.User, Shape: spec.Shape(), Expected: model.StepOf(Expect(&spec, &model.Sketch{}, 0)),
		Told: a.TTL > 0, Service: true,
	}
	return QueueKey{Class: a.Class, Run: unique.Make(run), Task: a.Turn, Since: a.Asked}
}

// Compare orders by class (highest first), run, since when they could run, log order. A key without a run
// comes before its class.
func (k QueueKey) Compare(o QueueKey) int {
	switch none := (unique.Handle[Run]{}); {
	case k.Class != o.Class:
		return cmp.Compare(o.Class, k.Class)
	case k.Run == o.Run:
		return cmp.Or(cmp.Compare(k.Since, o.Since), k.Task.Compare(o.Task))
	case k.Run == none:
		return -1
	case o.Run == none:
		return 1
	}
	return k.Run.Value().compare(o.Run.Value())
}

func (r Run) compare(o Run) int {
	return cmp.Or(cmp.Compare(r.Project, o.Project), cmp.Compare(r.User, o.User),
		cmp.Compare(r.Shape.GPUs, o.Shape.GPUs), cmp.Compare(r.Shape.Nodes, o.Shape.Nodes),
		cmp.Compare(r.Shape.MemoryMB, o.Shape.MemoryMB), cmp.Compare(r.Shape.Model, o.Shape.Model), r.Shape.Where.Compare(o.Shape.Where),
		cmp.Compare(r.Shape.Strategy, o.Shape.Strategy), cmp.Compare(r.Shape.MinGPUs, o.Shape.MinGPUs),
		cmp.Compare(r.Shape.CPUs, o.Shape.CPUs), cmp.Compare(r.Shape.HostMB, o.Shape.HostMB),
		cmp.Compare(r.Expected, o.Expected), cmp.Compare(r.Executed, o.Executed),
		model.CompareBools(r.Again, o.Again), model.CompareBools(r.Preemptible, o.Preemptible), model.CompareBools(r.Throttled, o.Throttled),
		cmp.Compare(r.Certain, o.Certain), model.CompareBools(r.Told, o.Told),
		model.CompareBools(r.Service, o.Service), r.Place.Compare(&o.Place))
}

// Digest returns a value that is equal on two peers exactly when they have applied the same entries with the
// same outcome.
func (s *State) Digest() model.Hash { return s.Fingerprint.Total() }

// Ledger returns what the GPUs count for bookings; nil: nothing is booked. It must not be changed.
func (s *State) Ledger() *ledger.Ledger { return s.Booked }
