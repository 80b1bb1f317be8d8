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

	list      []anyCell // the cells of all tables, in the order of snapshots
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

// cells are the stored tables within a transaction.
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

// indexes are the derived tables within a transaction.
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
	t.list = make([]anyCell, 0, tableCount)
	walk := tableWalk{t: t}
	walk.tables(&s.Tables)
	walk.indexes(&s.Indexes)
	return t
}

// close publishes the transaction's result.
func (t *tx) close(d digest) State {
	next := State{Index: t.meta.Index, Term: t.meta.Term, digest: d, ledger: t.book.close(t), FitGPUs: t.fit}
	walk := tableWalk{t: t, ends: true}
	walk.tables(&next.Tables)
	walk.indexes(&next.Indexes)
	return next
}

func ok() command.Result { return command.Result{} }

func refuse(code model.Code, format string, args ...any) command.Result {
	return command.Result{Code: code, Detail: fmt.Sprintf(format, args...)}
}
