package raftstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Stats are figures of a store for metrics and alarms.
type Stats struct {
	// LogBytes is the size of raft.db. bbolt never returns space to the file system: above 1 GiB the file is
	// worth compacting offline.
	LogBytes int64
	// FreePages is the number of unused pages of raft.db.
	FreePages int
	// FirstIndex and LastIndex bound the log entries; 0 means none.
	FirstIndex, LastIndex uint64
	// SnapshotBytes is the size of the stored snapshots.
	SnapshotBytes int64
	// SnapshotIndex and SnapshotAt are of the newest stored snapshot; zero means that there is none.
	SnapshotIndex uint64
	SnapshotAt    time.Time
	// Space is the space on the file system.
	Space Space
}

// Stats reads the figures; it takes two short read transactions and a look at
// three files.
func (s *Store) Stats() (Stats, error) {
	var st Stats
	var errs [5]error
	info, err := os.Stat(filepath.Join(s.opts.Dir, boltName))
	if err == nil {
		st.LogBytes = info.Size()
	}
	errs[0] = err
	st.FreePages = s.bolt.Stats().FreePageN
	st.FirstIndex, errs[1] = s.bolt.FirstIndex()
	st.LastIndex, errs[2] = s.bolt.LastIndex()
	st.SnapshotBytes, errs[3] = s.snaps.size()
	st.SnapshotIndex, st.SnapshotAt = s.snaps.newest()
	st.Space, errs[4] = s.FreeSpace()
	if err := errors.Join(errs[:]...); err != nil {
		return Stats{}, fmt.Errorf("read the figures of the raft store in %s: %w", s.opts.Dir, err)
	}
	return st, nil
}
