package cluster

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm"
)

// committedLogs is a log from which no entry that this peer knows as committed is cut off. Raft replaces entries of a follower that
// differ from the leader's; those are never committed, unless the disk of another peer was put back to an earlier state: such a peer
// has forgotten what it had acknowledged, and a majority with it elects a leader without these entries.
//
// The index is stored with each write of entries, so that it costs nothing there. The newest entries are committed after that: they are
// known as such after a start if other entries followed, or once nothing was written for [markRest].
type committedLogs struct {
	raft.LogStore

	where  string
	marks  raftstore.Marked // the same log; nil: it has no marks
	stable raft.StableStore
	now    func() uint64 // the index as Raft and the state know it: 0 after a start

	stored atomic.Uint64 // what the disk has of it
	kept   atomic.Uint64 // and what the stable store has
	wrote  atomic.Int64  // when entries were last stored, in nanoseconds since begun
	begun  time.Time
}

// markRest is how long no entries are stored before the index is by itself. Renewals of nodes come more often, so that a cluster at rest
// writes no more.
const markRest = 3 * time.Second

// IsMonotonic reports whether the inner store is monotonic.
func (l *committedLogs) IsMonotonic() bool {
	m, ok := l.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// known returns the index up to which entries are known as committed.
func (l *committedLogs) known() uint64 {
	known := max(l.now(), l.kept.Load())
	if l.marks != nil {
		known = max(known, l.marks.Committed())
	}
	return known
}

// StoreLog stores an entry.
func (l *committedLogs) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

// StoreLogs stores entries, and what is known as committed with them.
func (l *committedLogs) StoreLogs(logs []*raft.Log) error {
	known := l.known()
	if l.marks != nil {
		l.marks.Mark(known)
	}
	err := l.LogStore.StoreLogs(logs)
	if err == nil && l.marks != nil {
		l.stored.Store(known)
	}
	l.wrote.Store(int64(time.Since(l.begun)))
	return err
}

// DeleteRange deletes entries: the oldest ones, which a snapshot has, or the newest ones, which are none of the leader's.
func (l *committedLogs) DeleteRange(from, to uint64) error {
	first, err := l.FirstIndex()
	if err != nil {
		return err
	}
	last, err := l.LastIndex()
	if err != nil {
		return err
	}
	if from <= first || to < last {
		return l.LogStore.DeleteRange(from, to)
	}
	known := l.known()
	if from <= known {
		return &raftstore.Fault{
			Kind: raftstore.ErrForeign, Path: l.where,
			What: fmt.Sprintf("the leader lacks entries %d to %d, which the cluster had acknowledged: the disk of another peer was put back to an earlier state", from, min(known, to)),
			Do: "this peer stops and keeps them: stop the peers whose disk or machine was restored from a snapshot, keep this folder, and go on with it " +
				"by berth cluster recover (docs/operations.md, Disks that were put back)",
		}
	}
	if known > l.kept.Load() { // the marks go with the entries
		if err := l.keep(l.stable, known); err != nil {
			return err
		}
	}
	return l.LogStore.DeleteRange(from, to)
}

// keep stores an index by itself.
func (l *committedLogs) keep(stable raft.StableStore, known uint64) error {
	if err := stable.Set([]byte(raftstore.KeyCommitted), binary.BigEndian.AppendUint64(nil, known)); err != nil {
		return err
	}
	l.kept.Store(known)
	return nil
}

// save stores the index by itself, unless the disk has it.
func (l *committedLogs) save(stable raft.StableStore) error {
	known := l.known()
	if known <= max(l.stored.Load(), l.kept.Load()) {
		return nil
	}
	return l.keep(stable, known)
}

// rests reports whether no entries were stored lately.
func (l *committedLogs) rests() bool {
	return time.Since(l.begun)-time.Duration(l.wrote.Load()) >= markRest
}

// commitTeller is the state machine for raft, which tells of each commit before the entry is applied.
type commitTeller struct {
	*fsm.FSM

	tell func(index uint64)
}

// Apply applies an entry.
func (c commitTeller) Apply(entry *raft.Log) any {
	c.tell(entry.Index)
	return c.FSM.Apply(entry)
}
