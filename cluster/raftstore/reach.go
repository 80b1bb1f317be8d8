package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// Keys of the stable store: raft's own, and the greatest index of a snapshot that this
// folder has ever held.
var (
	keyTerm     = []byte("CurrentTerm")
	keyVoteTerm = []byte("LastVoteTerm")
	keyVote     = []byte("LastVoteCand")
	keySnapshot = []byte("NewestSnapshot")
)

// checkWhole reads every entry and value of the folder, and checks that together they are all that the peer
// has acknowledged: each as it was written, and no entry missing between the newest snapshot and the end of
// the log.
func (s *Store) checkWhole() error {
	path := filepath.Join(s.opts.Dir, boltName)
	term, err := s.checkStable()
	if err != nil {
		return err
	}
	list, err := s.snaps.List()
	if err != nil {
		return unusable(filepath.Join(s.opts.Dir, snapshotFolder), "cannot list the snapshots", err)
	}
	var newest uint64
	for _, m := range list {
		newest = max(newest, m.Index)
	}
	floor, err := s.snapshotFloor()
	if err != nil {
		return err
	}
	first, errFirst := s.bolt.FirstIndex()
	last, errLast := s.bolt.LastIndex()
	if err := errors.Join(errFirst, errLast); err != nil {
		return corrupt(path, "its first or last entry cannot be found", err)
	}
	if err := s.checkEntries(path, first, last, newest, term); err != nil {
		return err
	}
	if floor > max(newest, last) {
		return s.unreached(newest, max(newest, last)+1, floor)
	}
	return nil
}

// checkStable checks the values that must not be forgotten, and returns the term.
func (s *Store) checkStable() (term uint64, err error) {
	for _, key := range [][]byte{keyVoteTerm, keyVote, []byte(KeyCommitted)} {
		if _, err := s.stable.Get(key); err != nil && !isNotFound(err) {
			return 0, err
		}
	}
	term, err = s.stable.GetUint64(keyTerm)
	if err != nil && !isNotFound(err) {
		return 0, err
	}
	return term, nil
}

// checkEntries checks every entry of the log, and that none is missing behind the newest snapshot. A gap
// below it is sound: an installed snapshot leaves one.
func (s *Store) checkEntries(path string, first, last, newest, term uint64) error {
	if last > newest && first > newest+1 {
		return s.unreached(newest, newest+1, first-1)
	}
	for i := first; i <= last && last != 0; i++ {
		var entry raft.Log
		err := s.logs.GetLog(i, &entry)
		switch {
		case errors.Is(err, raft.ErrLogNotFound):
			if i > newest {
				return s.unreached(newest, i, i)
			}
		case isFault(err):
			return err
		case err != nil:
			return corrupt(path, fmt.Sprintf("log entry %d cannot be read", i), err)
		case entry.Term > term:
			return corrupt(path, fmt.Sprintf("log entry %d is of term %d, and the peer remembers term %d only", i, entry.Term, term), nil)
		}
	}
	return nil
}

// unreached returns the fault of a folder whose snapshots and log do not meet.
func (s *Store) unreached(newest, from, to uint64) *Fault {
	has := "no snapshot is there"
	if newest > 0 {
		has = fmt.Sprintf("the newest snapshot is of entry %d", newest)
	}
	return corrupt(filepath.Join(s.opts.Dir, snapshotFolder), fmt.Sprintf("%s, and the log lacks entries %d to %d: "+
		"a snapshot or a part of the log is lost", has, from, to), nil)
}

// snapshotFloor returns the greatest index of a snapshot that was ever here.
func (s *Store) snapshotFloor() (uint64, error) {
	floor, err := s.stable.GetUint64(keySnapshot)
	if isNotFound(err) {
		return 0, nil
	}
	return floor, err
}

// raiseFloor records that there is a snapshot of an index, so that its loss is noticed.
func (s *Store) raiseFloor(index uint64) error {
	floor, err := s.snapshotFloor()
	if err != nil || index <= floor {
		return err
	}
	return s.stable.Set(keySnapshot, binary.BigEndian.AppendUint64(nil, index))
}
