package raftstore

import "github.com/hashicorp/raft"

// Newest returns the term and the index of the newest entry of the folder, in its log or in a snapshot; zero: there is none.
// Of two peers the one with the higher term is newer, and with equal terms the one with the higher index (Ongaro and
// Ousterhout, "In Search of an Understandable Consensus Algorithm", section 5.4.1).
func (s *Store) Newest() (term, index uint64, err error) {
	snapshots, err := s.Snapshots().List()
	if err != nil {
		return 0, 0, err
	}
	for _, one := range snapshots {
		if one.Index > index {
			term, index = one.Term, one.Index
		}
	}
	last, err := s.Logs().LastIndex()
	if err != nil || last <= index {
		return term, index, err
	}
	var entry raft.Log
	err = s.Logs().GetLog(last, &entry)
	return entry.Term, last, err
}
