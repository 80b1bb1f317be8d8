package model

import (
	"cmp"
	"time"
)

// Settings is the one row that belongs to the cluster as a whole.
//
//berth:row
type Settings struct {
	Incarnation Incarnation `cbor:"1,keyasint,omitempty"`
	Level       uint32      `cbor:"2,keyasint,omitempty"` // feature level: gates new command kinds and outcomes
	Clock       Time        `cbor:"3,keyasint,omitempty"` // greatest accepted stamp of an entry
	Running     bool        `cbor:"4,keyasint,omitempty"` // placements and preemptions are made
	Standstill  bool        `cbor:"5,keyasint,omitempty"` // after a restore, until an operator resumes
	Policy      string      `cbor:"6,keyasint,omitempty"` // the order of the queue
	NextJob     JobID       `cbor:"7,keyasint,omitempty"`

	RequestsFrom Time   `cbor:"8,keyasint,omitempty"` // request ids born earlier are forgotten
	ArchivedTo   uint64 `cbor:"9,keyasint,omitempty"` // log index up to which history has left the state

	Retention Retention `cbor:"10,keyasint,omitempty"`
	Totals    Totals    `cbor:"11,keyasint,omitempty"`
	Topics    Topics    `cbor:"12,keyasint,omitempty"`
	Epochs    uint64    `cbor:"13,keyasint,omitempty"` // the greatest epoch of a node that was retired

	Tuning Tuning `cbor:"14,keyasint,omitempty"`
	Steer  Steer  `cbor:"15,keyasint,omitempty"`
	Pools  Pools  `cbor:"16,keyasint,omitempty"`

	Booking BookingCaps `cbor:"18,keyasint,omitempty"`
	Auth    Auth        `cbor:"19,keyasint,omitempty"`

	Audit AuditHead `cbor:"23,keyasint,omitempty"` // of the records of all requested changes

	Notify     Notify `cbor:"21,keyasint,omitempty"`
	Backlogged bool   `cbor:"22,keyasint,omitempty"` // a notice was given that many tasks wait, and none that they do no longer

	Services uint32 `cbor:"20,keyasint,omitempty"` // allocations that were ever requested

	Defaults Defaults `cbor:"25,keyasint,omitempty"`
	Import   Import   `cbor:"24,keyasint,omitempty"`

	Requests Requests `cbor:"26,keyasint,omitempty"`

	EndedBytes uint64 `cbor:"27,keyasint,omitempty"` // sum of Job.Bytes over the ended jobs in the state

	// The lock for restarts: the peer that may restart until an instant, and the key of what restarts it.
	Restarts     PeerID `cbor:"28,keyasint,omitempty"` // empty: none
	RestartKey   string `cbor:"29,keyasint,omitempty"`
	RestartUntil Time   `cbor:"30,keyasint,omitempty"`
}

// Retention sets how long ended jobs stay in the state.
type Retention struct {
	Jobs uint32        `cbor:"1,keyasint,omitempty"` // at most so many
	Age  time.Duration `cbor:"2,keyasint,omitempty"` // at most so long
}

// Totals count over the cluster's life; retention does not lower them.
type Totals struct {
	Submitted  uint64        `cbor:"1,keyasint,omitempty"` // tasks
	Completed  uint64        `cbor:"2,keyasint,omitempty"`
	Failed     uint64        `cbor:"3,keyasint,omitempty"`
	Canceled   uint64        `cbor:"4,keyasint,omitempty"`
	Attempts   uint64        `cbor:"5,keyasint,omitempty"`
	Lost       uint64        `cbor:"6,keyasint,omitempty"` // attempts that broken machines ended
	Preempted  uint64        `cbor:"7,keyasint,omitempty"`
	GPUSeconds uint64        `cbor:"8,keyasint,omitempty"` // of ended ranks, by their supervisors' clocks
	Waited     time.Duration `cbor:"9,keyasint,omitempty"` // of started tasks, from when each could have run to its first start, summed
	Started    uint64        `cbor:"10,keyasint,omitempty"`

	// How right the expected run times of placed attempts were, of those that ended by themselves: how many,
	// of these how many to a factor of two, and by how much they were off in all, see [PredictionError]. By
	// their users' estimates, and by earlier runs; attempts without known runs have no prediction.
	Estimates     uint64 `cbor:"11,keyasint,omitempty"`
	EstimatesNear uint64 `cbor:"12,keyasint,omitempty"`
	EstimatesOff  uint64 `cbor:"13,keyasint,omitempty"`
	Histories     uint64 `cbor:"14,keyasint,omitempty"`
	HistoriesNear uint64 `cbor:"15,keyasint,omitempty"`
	HistoriesOff  uint64 `cbor:"16,keyasint,omitempty"`

	Truth Truth `cbor:"18,keyasint,omitempty"` // of all users' estimates

	Wasted uint64 `cbor:"17,keyasint,omitempty"` // GPU-seconds of attempts that did not complete, from their last checkpoints on
}

// Topic is a part of the state that readers can wait for.
type Topic uint8

// The topics. A change of a lease wakes only readers that wait for leases.
const (
	TopicNode     Topic = 0 // nodes and what should run on them
	TopicJob      Topic = 1 // jobs, tasks, attempts, ranks, timelines
	TopicQueue    Topic = 2 // what waits, and in which order
	TopicFleet    Topic = 3 // GPUs, slots, claims, allocations
	TopicSettings Topic = 4 // settings, limits, peers
	TopicLease    Topic = 5

	TopicCount = 6
)

// String returns the topic's name.
func (t Topic) String() string {
	return NameOf(t, "node", "job", "queue", "fleet", "settings", "lease")
}

// Topics holds for each topic the log index of its last change.
type Topics [TopicCount]uint64

// TopicSet is a set of topics.
type TopicSet uint8

// Has reports whether t is in the set.
func (s TopicSet) Has(t Topic) bool { return s&(1<<t) != 0 }

// With returns the set with t in it.
func (s TopicSet) With(t Topic) TopicSet { return s | 1<<t }

// Peer is a member of the cluster as users and agents reach it.
//
//berth:row
type Peer struct {
	ID          PeerID `cbor:"1,keyasint,omitempty"`
	RaftAddress string `cbor:"2,keyasint,omitempty"`
	APIAddress  string `cbor:"3,keyasint,omitempty"`
	Level       uint32 `cbor:"4,keyasint,omitempty"` // the highest feature level of its program
	Version     string `cbor:"5,keyasint,omitempty"`
	Folder      string `cbor:"6,keyasint,omitempty"` // id of its data folder; once known, the peer id has no other
	PublicURL   string `cbor:"7,keyasint,omitempty"` // of the API, for users and browsers; empty: they use APIAddress
}

// ScopeKey names the scope of a limit or of use; the cluster's Name is empty.
type ScopeKey struct {
	Kind ScopeKind `cbor:"1,keyasint,omitempty"`
	Name string    `cbor:"2,keyasint,omitempty"`
}

// Compare orders by kind, then name.
func (k ScopeKey) Compare(o ScopeKey) int {
	return cmp.Or(cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Name, o.Name))
}

// String prints "cluster", "user alice", "project vision".
func (k ScopeKey) String() string {
	if k.Kind == ScopeCluster {
		return k.Kind.String()
	}
	return k.Kind.String() + " " + k.Name
}

// Usage is the use of a scope.
//
//berth:row
type Usage struct {
	Scope  ScopeKey `cbor:"1,keyasint,omitempty"`
	GPUs   uint32   `cbor:"2,keyasint,omitempty"`
	Live   uint32   `cbor:"3,keyasint,omitempty"` // tasks with a live attempt, of jobs with GPUs
	Queued uint32   `cbor:"4,keyasint,omitempty"`
	Yields uint32   `cbor:"5,keyasint,omitempty"` // tasks, queued or live, whose jobs may be suspended

	Bytes    uint64 `cbor:"6,keyasint,omitempty"` // sum of Job.Bytes over the jobs that have not ended
	Services uint32 `cbor:"7,keyasint,omitempty"` // allocations in the state, also those that have ended

	CPUs    uint32 `cbor:"20,keyasint,omitempty"` // cores that jobs without GPUs hold
	CPULive uint32 `cbor:"21,keyasint,omitempty"` // tasks with a live attempt, of jobs without GPUs
}

// Empty reports whether the row is empty, and need not be stored.
func (u Usage) Empty() bool {
	return u.GPUs == 0 && u.Live == 0 && u.Queued == 0 && u.Bytes == 0 && u.Services == 0 && u.CPUs == 0 && u.CPULive == 0
}

// Allocation is GPUs that a service holds, or waits for, without a job.
//
//berth:row
type Allocation struct {
	ID          AllocationID    `cbor:"1,keyasint,omitempty"`
	Service     string          `cbor:"2,keyasint,omitempty"`
	Workload    string          `cbor:"3,keyasint,omitempty"`
	User        string          `cbor:"4,keyasint,omitempty"`
	Project     string          `cbor:"5,keyasint,omitempty"`
	Class       Class           `cbor:"6,keyasint,omitempty"`
	Priority    uint8           `cbor:"7,keyasint,omitempty"` // as given, 1 to 10
	GPUs        uint32          `cbor:"8,keyasint,omitempty"`
	GPUModel    string          `cbor:"9,keyasint,omitempty"`
	GPUMemoryMB uint32          `cbor:"10,keyasint,omitempty"`
	TTL         time.Duration   `cbor:"11,keyasint,omitempty"` // 0: none
	Data        string          `cbor:"12,keyasint,omitempty"` // the service's own data, not interpreted
	State       AllocationState `cbor:"13,keyasint,omitempty"`
	Index       uint64          `cbor:"14,keyasint,omitempty"` // of the log entry that requested it
	Asked       Time            `cbor:"15,keyasint,omitempty"`
	Granted     Time            `cbor:"16,keyasint,omitempty"`
	Expires     Time            `cbor:"17,keyasint,omitempty"` // from then on a command may expire it; 0: never
	Ended       Time            `cbor:"18,keyasint,omitempty"`
	EndIndex    uint64          `cbor:"19,keyasint,omitempty"`
	Constraint  string          `cbor:"20,keyasint,omitempty"` // on which node, as of a job
	Nodelist    string          `cbor:"21,keyasint,omitempty"`
	Exclude     string          `cbor:"22,keyasint,omitempty"`
	Webhook     string          `cbor:"23,keyasint,omitempty"` // URL that is notified when it is granted and when it is lost; empty: none
	For         string          `cbor:"24,keyasint,omitempty"` // the requester's name of the user of the GPUs, which can have one live allocation; empty: the service's
	Job         JobID           `cbor:"25,keyasint,omitempty"` // the job with which it ends; 0: none
	Turn        TaskKey         `cbor:"26,keyasint,omitempty"` // its place among what waits, as of [TurnOf]
}

// Where returns the nodes on which the allocation may be.
func (a *Allocation) Where() Where {
	return Where{Constraint: a.Constraint, Nodelist: a.Nodelist, Exclude: a.Exclude}
}

// Spec returns the allocation as a job of one task on one node with the same requirements. Its time to live
// is its estimate: it may be renewed, so its end is unknown.
func (a *Allocation) Spec() Spec {
	return Spec{
		Name: a.Service, User: a.User, Project: a.Project, Class: a.Class, Priority: a.Priority, GPUs: a.GPUs, Nodes: 1,
		GPUModel: a.GPUModel, GPUMemoryMB: a.GPUMemoryMB, Constraint: a.Constraint, Nodelist: a.Nodelist, Exclude: a.Exclude,
		Estimate: a.TTL,
	}
}
