package model

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"strconv"
	"strings"
)

// JobID numbers jobs densely in the order of the log, from 1. Apply assigns it.
type JobID uint64

// Compare orders job ids by number, which is the order of submission.
func (id JobID) Compare(o JobID) int { return cmp.Compare(id, o) }

// String returns the id as users see it: the number in decimal.
func (id JobID) String() string { return strconv.FormatUint(uint64(id), 10) }

// NodeID names a GPU host for as long as its agent's data folder lives.
type NodeID string

// Compare orders node ids as bytes.
func (id NodeID) Compare(o NodeID) int { return strings.Compare(string(id), string(o)) }

// GPUID is a GPU's UUID as its driver reports it; MIG devices have one of their own.
type GPUID string

// Compare orders GPU ids as bytes.
func (id GPUID) Compare(o GPUID) int { return strings.Compare(string(id), string(o)) }

// AllocationID names GPUs held by a service without a job.
type AllocationID string

// Compare orders allocation ids as bytes.
func (id AllocationID) Compare(o AllocationID) int {
	return strings.Compare(string(id), string(o))
}

// AllocationOf returns the id of a service's allocation of a number: "training-17".
func AllocationOf(service string, number uint64) AllocationID {
	return AllocationID(service + "-" + strconv.FormatUint(number, 10))
}

// PeerID names a peer for as long as its data folder lives.
type PeerID string

// Compare orders peer ids as bytes.
func (id PeerID) Compare(o PeerID) int { return strings.Compare(string(id), string(o)) }

// TaskKey names one task of a job; a job that is no array has task 0 only.
type TaskKey struct {
	Job  JobID  `cbor:"1,keyasint,omitempty"`
	Task uint32 `cbor:"2,keyasint,omitempty"`
}

// Compare orders by job, then task.
func (k TaskKey) Compare(o TaskKey) int {
	return cmp.Or(cmp.Compare(k.Job, o.Job), cmp.Compare(k.Task, o.Task))
}

// String prints job, or job.task for a task that is not the first.
func (k TaskKey) String() string {
	if k.Task == 0 {
		return k.Job.String()
	}
	return k.Job.String() + "." + strconv.FormatUint(uint64(k.Task), 10)
}

// IsTurn reports whether the key is that of a waiting service instead of a task's, see [TurnOf].
func (k TaskKey) IsTurn() bool { return k.Task > MaxIndex }

// TurnOf returns the place of a cluster's nth service, from 0, among the waiting tasks: after those of the
// job that was submitted last before it.
func TurnOf(last JobID, n uint32) TaskKey { return TaskKey{last, MaxIndex + 1 + n} }

// Attempt names the task's attempt number n.
func (k TaskKey) Attempt(n uint32) AttemptKey { return AttemptKey{k.Job, k.Task, n} }

// AttemptKey names one try to run a task; N counts from 1.
type AttemptKey struct {
	Job  JobID  `cbor:"1,keyasint,omitempty"`
	Task uint32 `cbor:"2,keyasint,omitempty"`
	N    uint32 `cbor:"3,keyasint,omitempty"`
}

// Compare orders by job, task, then attempt number.
func (k AttemptKey) Compare(o AttemptKey) int {
	return cmp.Or(cmp.Compare(k.Job, o.Job), cmp.Compare(k.Task, o.Task), cmp.Compare(k.N, o.N))
}

// String prints the task and the attempt number: "17#2", "17.3#1".
func (k AttemptKey) String() string {
	return k.TaskKey().String() + "#" + strconv.FormatUint(uint64(k.N), 10)
}

// TaskKey returns the task that the attempt belongs to.
func (k AttemptKey) TaskKey() TaskKey { return TaskKey{k.Job, k.Task} }

// Rank names the attempt's rank r.
func (k AttemptKey) Rank(r uint32) RankKey { return RankKey{k.Job, k.Task, k.N, r} }

// RankKey names the part of an attempt that runs on one node; ranks count from 0.
type RankKey struct {
	Job  JobID  `cbor:"1,keyasint,omitempty"`
	Task uint32 `cbor:"2,keyasint,omitempty"`
	N    uint32 `cbor:"3,keyasint,omitempty"`
	Rank uint32 `cbor:"4,keyasint,omitempty"`
}

// Compare orders by attempt, then rank.
func (k RankKey) Compare(o RankKey) int {
	return cmp.Or(k.Attempt().Compare(o.Attempt()), cmp.Compare(k.Rank, o.Rank))
}

// String prints attempt and rank: "17#2/0".
func (k RankKey) String() string {
	return k.Attempt().String() + "/" + strconv.FormatUint(uint64(k.Rank), 10)
}

// Attempt returns the attempt that the rank belongs to.
func (k RankKey) Attempt() AttemptKey { return AttemptKey{k.Job, k.Task, k.N} }

// SlotKey names the unit of ownership: a share of a GPU. Today each GPU has one slot, number 0; shares by
// declared memory will have more.
type SlotKey struct {
	GPU  GPUID `cbor:"1,keyasint,omitempty"`
	Slot uint8 `cbor:"2,keyasint,omitempty"`
}

// Compare orders by GPU, then slot.
func (k SlotKey) Compare(o SlotKey) int {
	return cmp.Or(k.GPU.Compare(o.GPU), cmp.Compare(k.Slot, o.Slot))
}

// Incarnation is 128 random bits that name one life of a cluster's state: new at bootstrap, at a restore and
// at a recovery. Data with another incarnation belongs to another past.
type Incarnation [16]byte

// IsZero reports whether the cluster has not been bootstrapped.
func (i Incarnation) IsZero() bool { return i == Incarnation{} }

// Hash is a SHA-256 sum; as a key it names content.
type Hash [32]byte

// Compare orders hashes as bytes.
func (h Hash) Compare(o Hash) int { return bytes.Compare(h[:], o[:]) }

// String returns the hash in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether the hash is unset.
func (h Hash) IsZero() bool { return h == Hash{} }
