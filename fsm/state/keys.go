package state

import (
	"cmp"
	"iter"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/model/outbox"
)

// InLine reports whether a task waits for nothing but its turn and an instant: it is in the queue.
func InLine(job *model.Job, k *model.Task) bool {
	return k.State == model.TaskQueued && !k.Held && !k.Waits && !job.Blocked()
}

// ScopesOf returns the scopes whose limits and use concern a user of a project.
func ScopesOf(project, user string) []model.ScopeKey {
	s := make([]model.ScopeKey, 0, 3)
	s = append(s, model.ScopeKey{Kind: model.ScopeCluster}, model.ScopeKey{Kind: model.ScopeUser, Name: user})
	if project != "" {
		s = append(s, model.ScopeKey{Kind: model.ScopeProject, Name: project})
	}
	return s
}

// OutgoingKey orders pending deliveries by when they have to be tried.
type OutgoingKey struct {
	Next     model.Time
	Delivery outbox.Key
}

// Compare orders by time, then delivery.
func (k OutgoingKey) Compare(o OutgoingKey) int {
	if k.Next != o.Next {
		if k.Next < o.Next {
			return -1
		}
		return 1
	}
	return k.Delivery.Compare(o.Delivery)
}

// AwaitedKey orders dependencies by the job that is waited for.
type AwaitedKey struct {
	On   model.JobID
	Kind dependency.Kind
	Job  model.JobID
}

// Compare orders by the awaited job, then by what it must do, then by the job that waits.
func (k AwaitedKey) Compare(o AwaitedKey) int {
	return cmp.Or(cmp.Compare(k.On, o.On), cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Job, o.Job))
}

// DelayedKey orders dependencies whose delay runs by its end.
type DelayedKey struct {
	At  model.Time
	Row dependency.Key
}

// Compare orders by time, then dependency.
func (k DelayedKey) Compare(o DelayedKey) int {
	return cmp.Or(cmp.Compare(k.At, o.At), k.Row.Compare(o.Row))
}

// DeadlineKey orders jobs by their deadline.
type DeadlineKey struct {
	At  model.Time
	Job model.JobID
}

// Compare orders by time, then job.
func (k DeadlineKey) Compare(o DeadlineKey) int {
	return cmp.Or(cmp.Compare(k.At, o.At), cmp.Compare(k.Job, o.Job))
}

// DueKey orders tasks by the instant before which they must not be tried.
type DueKey struct {
	At   model.Time
	Task model.TaskKey
}

// Compare orders by time, then task.
func (k DueKey) Compare(o DueKey) int {
	return cmp.Or(cmp.Compare(k.At, o.At), k.Task.Compare(o.Task))
}

// FreeKey orders nodes by their free slots.
type FreeKey struct {
	Free  uint32
	Whole bool // nothing is there
	Node  model.NodeID
}

// Compare orders by free slots (most first), nodes that hold something first, then node.
func (k FreeKey) Compare(o FreeKey) int {
	return cmp.Or(cmp.Compare(o.Free, k.Free), model.CompareBools(k.Whole, o.Whole), k.Node.Compare(o.Node))
}

// PrivateKey orders nodes by a user: the only one whose jobs they run, or one whose account they lack.
type PrivateKey struct {
	User string
	Node model.NodeID
}

// Compare orders by user, then node.
func (k PrivateKey) Compare(o PrivateKey) int {
	return cmp.Or(cmp.Compare(k.User, o.User), k.Node.Compare(o.Node))
}

// PrivateOf returns the key of a node that runs jobs of one user only; false for other nodes.
func PrivateOf(n *model.Node) (PrivateKey, bool) {
	return PrivateKey{User: n.Account, Node: n.ID}, n.Accounts == model.AccountsOwn
}

// LackingOf yields the keys of a node by the users whose account it lacks. A node that runs jobs of one user only has none.
func LackingOf(n *model.Node) iter.Seq[PrivateKey] {
	return func(yield func(PrivateKey) bool) {
		if n.Accounts == model.AccountsOwn {
			return
		}
		for user := range n.MissingUsers() {
			if !yield(PrivateKey{User: user, Node: n.ID}) {
				return
			}
		}
	}
}

// NodeRankKey orders ranks by their node.
type NodeRankKey struct {
	Node model.NodeID
	Rank model.RankKey
}

// Compare orders by node, then rank.
func (k NodeRankKey) Compare(o NodeRankKey) int {
	return cmp.Or(k.Node.Compare(o.Node), k.Rank.Compare(o.Rank))
}

// OwnerKey orders slots by owner; of Rank and Allocation one is set.
type OwnerKey struct {
	Rank       model.RankKey
	Allocation model.AllocationID
	Slot       model.SlotKey
}

// Compare orders by rank, allocation, then slot.
func (k OwnerKey) Compare(o OwnerKey) int {
	return cmp.Or(k.Rank.Compare(o.Rank), k.Allocation.Compare(o.Allocation), k.Slot.Compare(o.Slot))
}

// ClaimKey orders claims by beneficiary.
type ClaimKey struct {
	Task model.TaskKey
	Slot model.SlotKey
}

// Compare orders by task, then slot.
func (k ClaimKey) Compare(o ClaimKey) int {
	return cmp.Or(k.Task.Compare(o.Task), k.Slot.Compare(o.Slot))
}

// EndedKey orders jobs by the log entry of their end.
type EndedKey struct {
	Index uint64
	Job   model.JobID
}

// Compare orders by index, then job.
func (k EndedKey) Compare(o EndedKey) int {
	return cmp.Or(cmp.Compare(k.Index, o.Index), k.Job.Compare(o.Job))
}

// BornKey orders request ids by age: first those without a time, then the others.
type BornKey struct {
	Born    model.Time
	Request model.RequestKey
}

// FirstTimed is before all keys of ids that have a time, and after all others.
var FirstTimed = BornKey{Request: model.RequestKey{Drawn: 1}}

// Compare orders ids without a time before the others, then by age, then by key.
func (k BornKey) Compare(o BornKey) int {
	timed := func(k BornKey) int { return int(min(k.Request.Drawn, 1)) }
	return cmp.Or(cmp.Compare(timed(k), timed(o)), cmp.Compare(k.Born, o.Born), k.Request.Compare(o.Request))
}

// SketchAgeKey orders sketches by their last use, those of jobs without GPUs before all others.
type SketchAgeKey struct {
	Updated uint64
	Sketch  model.SketchKey
}

// Compare orders by whether there are GPUs, then by last use, then by key.
func (k SketchAgeKey) Compare(o SketchAgeKey) int {
	return cmp.Or(model.CompareBools(k.Sketch.GPUs > 0, o.Sketch.GPUs > 0), cmp.Compare(k.Updated, o.Updated), k.Sketch.Compare(o.Sketch))
}

// HeldForKey orders allocations by the user that they are for, as named by the requester.
type HeldForKey struct {
	For string
	ID  model.AllocationID
}

// Compare orders by that name, then id.
func (k HeldForKey) Compare(o HeldForKey) int {
	return cmp.Or(cmp.Compare(k.For, o.For), k.ID.Compare(o.ID))
}
