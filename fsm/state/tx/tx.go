package tx

import (
	"fmt"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
)

// Tx is one log entry being applied.
type Tx struct {
	cells
	indexes
	trail
	counts

	List      []AnyCell // the cells of all tables, in the order of snapshots
	Meta      state.Meta
	Settings  model.Settings // current values; finish makes a row of them
	Clock     model.Time
	Actor     string // of the current command
	Restoring bool   // rows come from a snapshot: counts are rows among them
	book      bookkeeper
	News      news
	Bounds    RequestBounds
	From      *state.State
}

// counts is what the entry counts.
type counts struct {
	Numbered uint64 // allocations that it has numbered
	fit      int64  // see State.FitGPUs
}

// trail is the entry's part for the archives.
type trail struct {
	Repeat  bool  // the current command got its former answer
	Repeats []int // the commands of which that is so
	Retired []model.JobID
}

// cells are the stored tables within a transaction.
type cells struct {
	globals     cell[state.Only, model.Settings]
	Peers       cell[model.PeerID, model.Peer]
	Limits      cell[model.ScopeKey, model.Limit]
	Usage       cell[model.ScopeKey, model.Usage]
	Blobs       cell[model.Hash, model.Blob]
	Jobs        cell[model.JobID, model.Job]
	Tasks       cell[model.TaskKey, model.Task]
	Events      cell[model.EventKey, model.Event]
	Attempts    cell[model.AttemptKey, model.Attempt]
	Ranks       cell[model.RankKey, model.Rank]
	RankGPUs    cell[model.RankGPUKey, model.RankGPU]
	Nodes       cell[model.NodeID, model.Node]
	Leases      cell[model.NodeID, model.Lease]
	NodeUse     cell[model.NodeID, model.NodeUse]
	GPUs        cell[model.GPUID, model.GPU]
	Slots       cell[model.SlotKey, model.Slot]
	Claims      cell[model.SlotKey, model.Claim]
	Allocations cell[model.AllocationID, model.Allocation]
	Requests    cell[model.RequestKey, model.Request]
	RequestUse  cell[model.ActorName, model.RequestUse]
	Sketches    cell[model.SketchKey, model.Sketch]
	Shares      cell[model.ShareKey, model.Share]
	Weights     cell[model.ScopeKey, model.Weight]
	Accounts    cell[model.ScopeKey, model.Account]

	Dependencies cell[dependency.Key, dependency.Row]
	Bookings     cell[model.BookingID, model.Booking]
	tallies      cell[tally.Key, tally.Row]

	Tokens   cell[model.Hash, model.Token]
	Sessions cell[model.Hash, session.Row]
	Users    cell[model.UserName, model.User]
	Members  cell[model.MemberKey, model.Member]

	Webhooks   cell[outbox.WebhookID, outbox.Webhook]
	Outlets    cell[outbox.OutletID, outbox.Outlet]
	Deliveries cell[outbox.Key, outbox.Delivery]
	Warned     cell[model.AttemptKey, outbox.Warned]

	Certificates cell[membership.Member, membership.Certificate]
	Trusts       cell[state.Only, membership.Trust]
}

// indexes are the derived tables within a transaction.
type indexes struct {
	queue      index[state.QueueKey, state.None]
	cpuQueue   index[state.QueueKey, state.None]
	due        index[state.DueKey, state.None]
	liveTasks  index[model.TaskKey, state.None]
	liveCPU    index[model.TaskKey, state.None]
	byFree     index[state.FreeKey, state.None]
	private    index[state.PrivateKey, state.None]
	lacking    index[state.PrivateKey, state.None]
	nodeRanks  index[state.NodeRankKey, state.None]
	NodeGPUs   index[model.AddressKey, state.None]
	Owners     index[state.OwnerKey, state.None]
	ClaimedFor index[state.ClaimKey, state.None]
	ended      index[state.EndedKey, state.None]
	attached   index[model.JobID, state.None]
	awaited    index[state.AwaitedKey, state.None]
	settling   index[model.JobID, state.None]
	delayed    index[state.DelayedKey, state.None]
	deadlines  index[state.DeadlineKey, state.None]
	Born       index[state.BornKey, state.None]
	SketchAge  index[state.SketchAgeKey, state.None]
	Waiting    index[model.TaskKey, model.AllocationID]
	HeldFor    index[state.HeldForKey, state.None]
	Outgoing   index[state.OutgoingKey, state.None]
	Delivered  index[outbox.Key, state.None]
}

// wakes returns a set of topics.
func wakes(topics ...model.Topic) (s model.TopicSet) {
	for _, t := range topics {
		s = s.With(t)
	}
	return s
}

// Begin opens a transaction on a state for the entry with the meta data m.
func Begin(s *state.State, m state.Meta) *Tx {
	t := &Tx{
		Meta: m, From: s, Settings: s.Settings(), book: bookkeeper{base: s.Booked}, counts: counts{fit: s.FitGPUs},
		Bounds: standardBounds(),
	}
	t.List = make([]AnyCell, 0, tableCount)
	walk := tableWalk{t: t}
	walk.tables(&s.Tables)
	walk.indexes(&s.Indexes)
	return t
}

// Close publishes the transaction's result.
func (t *Tx) Close(d digest.Digest) state.State {
	next := state.State{Index: t.Meta.Index, Term: t.Meta.Term, Fingerprint: d, Booked: t.book.close(t), FitGPUs: t.fit}
	walk := tableWalk{t: t, ends: true}
	walk.tables(&next.Tables)
	walk.indexes(&next.Indexes)
	return next
}

// OK returns the result of a command that was carried out.
func OK() command.Result { return command.Result{} }

// Refuse returns the result of a command that is refused: the reason as a code, and the text with the remedy.
func Refuse(code model.Code, format string, args ...any) command.Result {
	return command.Result{Code: code, Detail: fmt.Sprintf(format, args...)}
}
