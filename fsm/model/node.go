package model

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
	"time"
)

// Node is a GPU host with an agent.
//
//berth:row
type Node struct {
	ID       NodeID `cbor:"1,keyasint,omitempty"`
	Machine  string `cbor:"2,keyasint,omitempty"` // DMI product uuid or machine-id: which hardware
	Boot     string `cbor:"3,keyasint,omitempty"` // the kernel's boot id: which life of the hardware
	Lineage  string `cbor:"4,keyasint,omitempty"` // random, in the agent's data folder: which memory
	Session  string `cbor:"5,keyasint,omitempty"` // random, new with each agent process
	Epoch    uint64 `cbor:"6,keyasint,omitempty"` // grows with each registration
	Hostname string `cbor:"7,keyasint,omitempty"`
	Address  string `cbor:"8,keyasint,omitempty"` // where the agent listens
	Version  string `cbor:"9,keyasint,omitempty"`
	CPUs     uint32 `cbor:"10,keyasint,omitempty"`
	MemoryMB uint32 `cbor:"11,keyasint,omitempty"`

	Status     NodeStatus `cbor:"12,keyasint,omitempty"`
	Mode       NodeMode   `cbor:"13,keyasint,omitempty"`
	ModeReason string     `cbor:"14,keyasint,omitempty"`
	Registered Time       `cbor:"15,keyasint,omitempty"`
	RegIndex   uint64     `cbor:"16,keyasint,omitempty"` // the log entry of that registration

	LastBoot    string `cbor:"17,keyasint,omitempty"` // the boot before this one; neither comes back
	LastLineage string `cbor:"18,keyasint,omitempty"` // the data folder before this one, likewise

	Features string `cbor:"19,keyasint,omitempty"` // the isolation that the host allows, as the agent describes it

	Labels string `cbor:"20,keyasint,omitempty"` // that its agent reports, as [Labels] writes them
	Marks  string `cbor:"21,keyasint,omitempty"` // an operator's labels; they override Labels

	Trouble string `cbor:"22,keyasint,omitempty"` // why its agent cannot start jobs, such as a full disk; empty: it can

	Accounts Accounts `cbor:"23,keyasint,omitempty"` // under which it runs jobs
	Account  string   `cbor:"24,keyasint,omitempty"` // the agent's

	Refusals uint32 `cbor:"25,keyasint,omitempty"` // starts in a row that failed for a reason of the node's, as far as they count
	Refusal  string `cbor:"26,keyasint,omitempty"` // why the last of them failed
	Rests    Time   `cbor:"27,keyasint,omitempty"` // no work goes there until then, because of Refusals; 0: work may
	Missing  string `cbor:"28,keyasint,omitempty"` // users whose account it lacks, as its agent has found, one on each line
	Refuser  string `cbor:"29,keyasint,omitempty"` // user of the job whose start was the last of Refusals; empty: there are none
	Refused  Time   `cbor:"30,keyasint,omitempty"` // when the last of Refusals was counted; 0: there are none
}

// MaxMissing bounds the users in [Node.Missing].
const MaxMissing = 64

// MaxRefusals is how many starts in a row may fail for a reason of a node's before the node gets no work for a while.
const MaxRefusals = 3

// Bounds of the time for which a node gets no work after failed starts.
const (
	restFirst = time.Minute
	restMax   = time.Hour
)

// Refuses reports whether starts on the node have failed so often in a row that it gets one job at a time, after pauses.
func (n *Node) Refuses() bool { return n.Refusals >= MaxRefusals }

// Counts reports whether a failed start of a user's job is one more of Refusals. Of starts of one user's jobs that fail in a row
// only the first counts, so that no user alone can take a node from others. A user is alone while no job of another user
// waits: then up to [MaxRefusals] count, which is one short pause.
func (n *Node) Counts(user string, alone bool) bool {
	return user != n.Refuser || alone && !n.Refuses()
}

// Pause returns for how long a node that refuses starts gets no work after the last of them.
func (n *Node) Pause() time.Duration {
	return min(restFirst<<min(n.Refusals-min(n.Refusals, MaxRefusals), 10), restMax)
}

// Why returns why the node is degraded; empty: it is not.
func (n *Node) Why() string {
	if n.Trouble == "" && n.Refuses() {
		return Clip(fmt.Sprintf("%d starts in a row failed: %s", n.Refusals, n.Refusal))
	}
	return n.Trouble
}

// MissingUsers yields the users whose account the node lacks.
func (n *Node) MissingUsers() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range strings.Lines(n.Missing) {
			if !yield(strings.TrimSuffix(name, "\n")) {
				return
			}
		}
	}
}

// Lacks reports whether the node has no account for a user.
func (n *Node) Lacks(user string) bool {
	for name := range n.MissingUsers() {
		if name == user {
			return true
		}
	}
	return false
}

// Schedulable reports whether new work may go to the node: it is in contact, no operator
// has closed it, its agent can start jobs, and it does not rest after failed starts.
func (n *Node) Schedulable() bool {
	return n.Status == NodeUp && n.Mode == ModeOpen && n.Trouble == "" && n.Rests == 0
}

// Degraded reports whether the node is in contact and cannot start jobs, as its agent or its last starts show.
func (n *Node) Degraded() bool { return n.Status == NodeUp && (n.Trouble != "" || n.Refuses()) }

// Lease is the cluster's record of a node's contact. Renewals come every two
// seconds from every node, so it is a table of its own that wakes only liveness.
//
//berth:row
type Lease struct {
	Node  NodeID `cbor:"1,keyasint,omitempty"`
	Epoch uint64 `cbor:"2,keyasint,omitempty"`
	Seq   uint64 `cbor:"3,keyasint,omitempty"` // of the newest accepted renewal of this epoch
	Index uint64 `cbor:"4,keyasint,omitempty"` // the log entry that accepted it
	At    Time   `cbor:"5,keyasint,omitempty"` // the state's clock then; for display only
}

// GPU is a device of a node, as its agent last described it.
//
//berth:row
type GPU struct {
	ID       GPUID  `cbor:"1,keyasint,omitempty"`
	Node     NodeID `cbor:"2,keyasint,omitempty"`
	Index    uint32 `cbor:"3,keyasint,omitempty"` // in PCI order; for display
	Model    string `cbor:"4,keyasint,omitempty"`
	MemoryMB uint32 `cbor:"5,keyasint,omitempty"`
	PCI      string `cbor:"6,keyasint,omitempty"`
	NUMA     int32  `cbor:"7,keyasint,omitempty"`
	Link     string `cbor:"8,keyasint,omitempty"` // GPUs of a node with the same label are joined by NVLink
	Slots    uint8  `cbor:"9,keyasint,omitempty"` // how many owners it can have
	Health   Health `cbor:"10,keyasint,omitempty"`
	Why      string `cbor:"11,keyasint,omitempty"` // the reason of the verdict

	Mode       NodeMode `cbor:"12,keyasint,omitempty"` // an operator's setting
	ModeReason string   `cbor:"13,keyasint,omitempty"`

	Gone string `cbor:"14,keyasint,omitempty"` // boot of its node under which it was lost; empty: it is there, or was taken out between boots
}

// Usable reports whether work may be placed there.
func (g *GPU) Usable() bool { return g.Health.Usable() && g.Mode == ModeOpen }

// Slot is the unit of ownership of a GPU.
//
//berth:row
type Slot struct {
	Key        SlotKey      `cbor:"1,keyasint,omitempty"`
	Node       NodeID       `cbor:"2,keyasint,omitempty"`
	Owner      Owner        `cbor:"3,keyasint,omitempty"`
	Rank       RankKey      `cbor:"4,keyasint,omitempty"` // of an attempt, live or being cleaned up
	Allocation AllocationID `cbor:"5,keyasint,omitempty"` // likewise
	Since      uint64       `cbor:"6,keyasint,omitempty"` // the log entry of the last change
	Kill       bool         `cbor:"7,keyasint,omitempty"` // a foreign owner that an operator has condemned
}

// Claim reserves a slot for the beneficiary of a preemption.
//
//berth:row
type Claim struct {
	Slot        SlotKey `cbor:"1,keyasint,omitempty"`
	Node        NodeID  `cbor:"2,keyasint,omitempty"`
	Beneficiary TaskKey `cbor:"3,keyasint,omitempty"`
	Until       Time    `cbor:"4,keyasint,omitempty"` // from then on a command may expire it
	Index       uint64  `cbor:"5,keyasint,omitempty"`
}

// NodeUse counts a node's slots, the four parts of which add up to All, and what jobs without GPUs hold there.
//
//berth:row
type NodeUse struct {
	Node      NodeID `cbor:"1,keyasint,omitempty"`
	All       uint32 `cbor:"2,keyasint,omitempty"`
	Free      uint32 `cbor:"3,keyasint,omitempty"`
	Owned     uint32 `cbor:"4,keyasint,omitempty"`
	Claimed   uint32 `cbor:"5,keyasint,omitempty"` // free but kept for someone
	Unhealthy uint32 `cbor:"6,keyasint,omitempty"` // free but not usable
	Desired   uint64 `cbor:"7,keyasint,omitempty"` // log index of the last change of what should run there
	Given     uint64 `cbor:"8,keyasint,omitempty"` // log index at which it was last given work; 0: never
	Held      Room   `cbor:"20,keyasint,omitempty"`
}

// Room is cores and memory in MB of a node that jobs without GPUs hold, or may hold.
type Room struct {
	CPUs     uint32 `cbor:"1,keyasint,omitempty"`
	MemoryMB uint32 `cbor:"2,keyasint,omitempty"`
}

// Holds returns what a job without GPUs holds on each of its nodes; nothing for jobs with GPUs.
func (s *Spec) Holds() Room {
	if !s.WithoutGPUs() {
		return Room{}
	}
	return Room{s.CPUs, s.MemoryMB}
}

// Within reports whether so much may be held in addition to what is held already.
func (r Room) Within(held, room Room) bool {
	return uint64(held.CPUs)+uint64(r.CPUs) <= uint64(room.CPUs) && uint64(held.MemoryMB)+uint64(r.MemoryMB) <= uint64(room.MemoryMB)
}

// Less returns what is left of the room when so much of it is held; 0 if more is held than there is.
func (r Room) Less(held Room) Room {
	return Room{r.CPUs - min(r.CPUs, held.CPUs), r.MemoryMB - min(r.MemoryMB, held.MemoryMB)}
}

// RoomFor returns how much jobs without GPUs may hold on a node with so many GPUs: all of a node without GPUs, and of others CPUShare
// percent, rounded down but at least one core unless CPUShare is 0. A node that has not reported its cores or its memory has no room.
func (t *Tuning) RoomFor(n *Node, gpus uint32) Room {
	switch {
	case n.CPUs == 0 || n.MemoryMB == 0:
		return Room{}
	case gpus == 0:
		return Room{n.CPUs, n.MemoryMB}
	case t.CPUShare == 0:
		return Room{}
	}
	part := func(of uint32) uint32 { return uint32(uint64(of) * uint64(t.CPUShare) / 100) }
	return Room{max(part(n.CPUs), 1), part(n.MemoryMB)}
}

// MemoryPer returns the memory in MB of a job without GPUs that sets only its cores.
func (d *Defaults) MemoryPer(cpus uint32) uint32 {
	return uint32(min(uint64(cpus)*uint64(cmp.Or(d.MemoryPerCPU, 2000)), MaxMemoryGB*1000))
}

// AddressKey orders a node's GPUs by place.
type AddressKey struct {
	Node  NodeID
	Index uint32
	GPU   GPUID
}

// Compare orders by node, index, then GPU.
func (k AddressKey) Compare(o AddressKey) int {
	return cmp.Or(k.Node.Compare(o.Node), cmp.Compare(k.Index, o.Index), k.GPU.Compare(o.GPU))
}

func compareAll(a1, b1, a2, b2 string, a3, b3 uint64) int {
	return cmp.Or(cmp.Compare(a1, b1), cmp.Compare(a2, b2), cmp.Compare(a3, b3))
}

// CompareBools orders false before true.
func CompareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
