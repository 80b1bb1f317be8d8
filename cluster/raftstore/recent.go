package raftstore

import (
	"bytes"
	"sync"

	"github.com/hashicorp/raft"
)

// recentEntries is how many of the newest log entries a store keeps in memory. A leader reads the last entry
// for each follower after every CommitTimeout, entries or not; from bbolt that was a third of an idle
// leader's processor time.
const recentEntries = 32

var (
	_ raft.MonotonicLogStore = (*recentLogs)(nil)
	_ Marked                 = (*recentLogs)(nil)
)

// recentLogs is a log store that answers reads of the newest entries from memory. Unlike raft.LogCache, the
// entries in memory are copies, which neither the caller that stored an entry nor a reader can change, and an
// error of the inner store keeps its type.
type recentLogs struct {
	raft.LogStore

	mu        sync.Mutex
	ring      [recentEntries]raft.Log // by index modulo the length; the index 0 is an empty place
	deletions int                     // how many DeleteRange there have been
}

func withRecent(inner raft.LogStore) *recentLogs { return &recentLogs{LogStore: inner} }

// IsMonotonic reports whether the inner store is monotonic.
func (r *recentLogs) IsMonotonic() bool {
	m, ok := r.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// GetLog reads one entry, from memory where the entry is one of the newest.
func (r *recentLogs) GetLog(index uint64, log *raft.Log) error {
	r.mu.Lock()
	entry := r.ring[index%recentEntries]
	r.mu.Unlock()
	if index == 0 || entry.Index != index {
		return r.LogStore.GetLog(index, log)
	}
	*log = copyOf(&entry)
	return nil
}

// StoreLog stores one entry as StoreLogs does.
func (r *recentLogs) StoreLog(log *raft.Log) error { return r.StoreLogs([]*raft.Log{log}) }

// StoreLogs stores entries, and then keeps the newest of them in memory. Reads do not wait for the disk: until
// the entries are stored, the inner store answers for their indices.
func (r *recentLogs) StoreLogs(logs []*raft.Log) error {
	deletions := r.forget(logs)
	if err := r.LogStore.StoreLogs(logs); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deletions != deletions {
		return nil // a deletion in the meantime may have taken some of the entries
	}
	for _, log := range logs[max(0, len(logs)-recentEntries):] {
		r.ring[log.Index%recentEntries] = copyOf(log)
	}
	return nil
}

// forget empties the places of the entries and returns the number of deletions so far.
func (r *recentLogs) forget(logs []*raft.Log) (deletions int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, log := range logs {
		r.ring[log.Index%recentEntries] = raft.Log{}
	}
	return r.deletions
}

// DeleteRange deletes the entries from first to last.
func (r *recentLogs) DeleteRange(first, last uint64) error {
	r.mu.Lock()
	r.deletions++
	clear(r.ring[:])
	r.mu.Unlock()
	return r.LogStore.DeleteRange(first, last)
}

// copyOf returns an entry that shares no bytes with the given one.
func copyOf(log *raft.Log) raft.Log {
	c := *log
	c.Data, c.Extensions = bytes.Clone(log.Data), bytes.Clone(log.Extensions)
	return c
}
