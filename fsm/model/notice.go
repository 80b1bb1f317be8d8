package model

import (
	"cmp"
	"strings"
	"time"
)

// NoticeKind is the kind of a notice.
type NoticeKind uint8

// The kinds of notices. Numbers are for ever: they are in the outbox and as bits in webhooks' selections.
const (
	NoticeJobQueued    NoticeKind = 1
	NoticeJobScheduled NoticeKind = 2
	NoticeJobStarted   NoticeKind = 3
	NoticeJobCompleted NoticeKind = 4
	NoticeJobFailed    NoticeKind = 5
	NoticeJobCanceled  NoticeKind = 6
	NoticeJobPreempted NoticeKind = 7 // sent back to the queue for others
	NoticeJobRequeued  NoticeKind = 8 // sent back for another reason
	NoticeJobLost      NoticeKind = 9 // sent back because a machine of it broke
	NoticeJobNearLimit NoticeKind = 10

	NoticeNodeRegistered NoticeKind = 16
	NoticeNodeSuspect    NoticeKind = 17
	NoticeNodeBack       NoticeKind = 19
	NoticeNodeDraining   NoticeKind = 20
	NoticeNodeDrained    NoticeKind = 21
	NoticeNodeCordoned   NoticeKind = 22
	NoticeNodeOpened     NoticeKind = 23
	NoticeNodeDead       NoticeKind = 24
	NoticeNodeRetired    NoticeKind = 25
	NoticeNodeDegraded   NoticeKind = 26 // its agent cannot start jobs, such as on a full disk
	NoticeNodeRecovered  NoticeKind = 27 // it can again

	NoticeGPUHealth      NoticeKind = 32
	NoticeGPUQuarantined NoticeKind = 33
	NoticeGPUBack        NoticeKind = 34

	NoticeAllocationQueued   NoticeKind = 40
	NoticeAllocationGranted  NoticeKind = 41
	NoticeAllocationReleased NoticeKind = 42
	NoticeAllocationExpired  NoticeKind = 43
	NoticeAllocationLost     NoticeKind = 44

	NoticeLeader        NoticeKind = 48
	NoticeBacklog       NoticeKind = 49 // as many tasks wait as an operator's threshold
	NoticeBacklogCaught NoticeKind = 50
	NoticeNearlyFull    NoticeKind = 51 // something that has a bound has reached nine tenths of it

	NoticeTest NoticeKind = 56 // a test of a webhook
)

var noticeNames = [64]string{
	NoticeJobQueued: "job.queued", NoticeJobScheduled: "job.scheduled", NoticeJobStarted: "job.started",
	NoticeJobCompleted: "job.completed", NoticeJobFailed: "job.failed", NoticeJobCanceled: "job.canceled",
	NoticeJobPreempted: "job.preempted", NoticeJobRequeued: "job.requeued", NoticeJobLost: "job.lost",
	NoticeJobNearLimit: "job.near_limit",

	NoticeNodeRegistered: "node.registered", NoticeNodeSuspect: "node.suspect",
	NoticeNodeBack: "node.back", NoticeNodeDraining: "node.draining", NoticeNodeDrained: "node.drained",
	NoticeNodeCordoned: "node.cordoned", NoticeNodeOpened: "node.opened", NoticeNodeDead: "node.dead",
	NoticeNodeRetired: "node.retired", NoticeNodeDegraded: "node.degraded", NoticeNodeRecovered: "node.recovered",

	NoticeGPUHealth: "gpu.health", NoticeGPUQuarantined: "gpu.quarantined", NoticeGPUBack: "gpu.back",

	NoticeAllocationQueued: "allocation.queued", NoticeAllocationGranted: "allocation.granted",
	NoticeAllocationReleased: "allocation.released", NoticeAllocationExpired: "allocation.expired",
	NoticeAllocationLost: "allocation.lost",

	NoticeLeader: "cluster.leader", NoticeBacklog: "queue.backlog", NoticeBacklogCaught: "queue.backlog_over",
	NoticeNearlyFull: "cluster.nearly_full",
	NoticeTest:       "test",
}

// String returns the kind's name, such as "job.started".
func (k NoticeKind) String() string {
	if int(k) < len(noticeNames) && noticeNames[k] != "" {
		return noticeNames[k]
	}
	return "unknown"
}

// NoticeSet is a set of kinds of notices, one bit each.
type NoticeSet uint64

// AllNotices returns the kinds that a webhook may ask for: all but tests, which it always gets.
func AllNotices() (s NoticeSet) {
	for _, k := range NoticeKinds() {
		if k != NoticeTest {
			s = s.With(k)
		}
	}
	return s
}

// JobNotices returns the kinds that a job's own webhook may ask for.
func JobNotices() (s NoticeSet) {
	for k := NoticeJobQueued; k <= NoticeJobNearLimit; k++ {
		s = s.With(k)
	}
	return s
}

// Has reports whether k is in the set.
func (s NoticeSet) Has(k NoticeKind) bool { return k < 64 && s&(1<<k) != 0 }

// With returns the set with k in it.
func (s NoticeSet) With(k NoticeKind) NoticeSet { return s | 1<<k }

// Within reports whether every kind of s is in o.
func (s NoticeSet) Within(o NoticeSet) bool { return s&^o == 0 }

// Names returns the names of the kinds in the set, in the order of their numbers.
func (s NoticeSet) Names() []string {
	out := []string{}
	for k := range NoticeKind(64) {
		if s.Has(k) {
			out = append(out, k.String())
		}
	}
	return out
}

// ParseNotices parses names of kinds: "job.started", "started" for those of jobs, "job.*" for all with that
// prefix, "*" for all that are allowed. Its error names the mistake and lists the allowed names.
func ParseNotices(list []string, allowed NoticeSet) (s NoticeSet, err error) {
	for _, text := range list {
		text = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "-", "_")
		found := NoticeSet(0)
		for _, k := range NoticeKinds() {
			name := k.String()
			group, all := strings.CutSuffix(text, "*")
			if allowed.Has(k) && (name == text || name == "job."+text || all && strings.HasPrefix(name, group)) {
				found = found.With(k)
			}
		}
		if found == 0 {
			return 0, want("events", "among %s, or such as job.* for several; %q is not", strings.Join(allowed.Names(), ", "), Clip(text))
		}
		s |= found
	}
	return s, nil
}

// Notice is one event, for followers of events and for webhooks. It follows from a log entry alone, so that
// it is the same on every peer.
type Notice struct {
	Life    uint32     `cbor:"1,keyasint,omitempty"` // first 32 bits of the incarnation
	Index   uint64     `cbor:"2,keyasint,omitempty"` // of the log entry
	Ordinal uint32     `cbor:"3,keyasint,omitempty"` // from 1, among those of the entry
	Kind    NoticeKind `cbor:"4,keyasint,omitempty"`
	At      Time       `cbor:"5,keyasint,omitempty"` // by the state's clock
	Actor   string     `cbor:"6,keyasint,omitempty"` // the sender of the command; empty: the log itself

	Job        JobID        `cbor:"7,keyasint,omitempty"` // 0: it is about no job
	Task       uint32       `cbor:"8,keyasint,omitempty"`
	Part       bool         `cbor:"9,keyasint,omitempty"`  // it is about one task of an array
	N          uint32       `cbor:"10,keyasint,omitempty"` // the attempt; 0: none
	Node       NodeID       `cbor:"11,keyasint,omitempty"`
	GPU        GPUID        `cbor:"12,keyasint,omitempty"`
	Allocation AllocationID `cbor:"13,keyasint,omitempty"`
	Peer       string       `cbor:"14,keyasint,omitempty"`

	Name     string `cbor:"15,keyasint,omitempty"` // of the job or the service
	User     string `cbor:"16,keyasint,omitempty"` // its owner; empty: none
	Project  string `cbor:"17,keyasint,omitempty"`
	Priority uint8  `cbor:"18,keyasint,omitempty"` // as it was given
	Since    Time   `cbor:"19,keyasint,omitempty"` // when the job or the allocation was requested
	Reason   Reason `cbor:"20,keyasint,omitempty"`
	Detail   string `cbor:"21,keyasint,omitempty"` // as text
	Places   string `cbor:"22,keyasint,omitempty"` // of a granted allocation: the GPUs' indices on Node, separated by spaces
	Count    uint64 `cbor:"23,keyasint,omitempty"` // tasks that wait, an attempt's exit code, or how many there are of what is nearly full

	Waited time.Duration `cbor:"24,keyasint,omitempty"` // of a start: how long the task has waited
}

// Place returns the notice's place.
func (n *Notice) Place() NoticePlace { return NoticePlace{n.Index, n.Ordinal} }

// NoticePlace is the place of a notice in the log's order. Ordinal 0 is before all notices of an entry.
type NoticePlace struct {
	Index   uint64
	Ordinal uint32
}

// Compare orders by log entry, then within it.
func (p NoticePlace) Compare(o NoticePlace) int {
	return cmp.Or(cmp.Compare(p.Index, o.Index), cmp.Compare(p.Ordinal, o.Ordinal))
}

// LifeOf returns the part of an incarnation that is in notices.
func LifeOf(i Incarnation) uint32 {
	return uint32(i[0])<<24 | uint32(i[1])<<16 | uint32(i[2])<<8 | uint32(i[3])
}

// NoticeKinds returns all kinds by number.
func NoticeKinds() (out []NoticeKind) {
	for k, name := range noticeNames {
		if name != "" {
			out = append(out, NoticeKind(k))
		}
	}
	return out
}
