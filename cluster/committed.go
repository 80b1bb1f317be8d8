package cluster

import (
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftstore"
)

// committedLogs is a log from which no entry that this peer knows as committed is cut off. Raft replaces entries of a follower that
// differ from the leader's; those are never committed, unless the disk of another peer was put back to an earlier state: such a peer
// has forgotten what it had acknowledged, and a majority with it elects a leader without these entries.
type committedLogs struct {
	raft.LogStore

	where string
	known func() uint64 // index up to which the entries are known as committed
}

// IsMonotonic reports whether the inner store is monotonic.
func (l *committedLogs) IsMonotonic() bool {
	m, ok := l.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
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
	if known := l.known(); from > first && to == last && from <= known {
		return &raftstore.Fault{
			Kind: raftstore.ErrForeign, Path: l.where,
			What: fmt.Sprintf("the leader lacks entries %d to %d, which the cluster had acknowledged: the disk of another peer was put back to an earlier state", from, min(known, to)),
			Do: "this peer stops and keeps them: stop the peers whose disk or machine was restored from a snapshot, keep this folder, and go on with it " +
				"by berth cluster recover (docs/operations.md, Disks that were put back)",
		}
	}
	return l.LogStore.DeleteRange(from, to)
}

// keepCommitted returns the log of this peer, from which no entry is cut off that this peer has applied, or has in its archive.
func (p *Peer) keepCommitted(logs raft.LogStore) raft.LogStore {
	if p.cfg.Tests.AnyFolder {
		return logs
	}
	return &committedLogs{logs, "peer " + string(p.cfg.Self.ID), func() uint64 { return max(p.fsm.State().Index, p.archived()) }}
}
