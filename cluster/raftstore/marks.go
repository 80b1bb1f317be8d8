package raftstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// The last of the entries that are stored together has a mark behind its seal: up to which index the entries were known as committed at
// that time. Raft does not store that, and after a start a peer would not know which entries it has acknowledged. The mark is part of the
// entry, so it costs no write and no sync of its own. It is this folder's: no reader of the entry, and no other peer, gets it.
//
// A mark is a version byte, the index and a CRC-32C over entry and mark.
const (
	markVersion = 1
	markSize    = 1 + 8 + crc32.Size
)

// Marked is a log that knows, also after a start, up to which index its entries are committed at least.
type Marked interface {
	raft.LogStore
	// Mark notes that the entries up to an index are committed. What is stored next has that as its mark.
	Mark(index uint64)
	// Committed returns the greatest index that was noted, or was in the mark of an entry that was read.
	Committed() uint64
}

// KeyCommitted is the key of the stable store for an index up to which the entries are committed, where no entry could have it as its mark.
const KeyCommitted = "Committed"

// highest is a number that only grows.
type highest struct{ atomic.Uint64 }

func (h *highest) raise(to uint64) {
	for {
		was := h.Load()
		if to <= was || h.CompareAndSwap(was, to) {
			return
		}
	}
}

// markOf returns the mark of an entry.
func markOf(log *raft.Log, committed uint64) []byte {
	mark := binary.BigEndian.AppendUint64([]byte{markVersion}, committed)
	var head [sealedHead]byte
	binary.BigEndian.PutUint64(head[:], log.Index)
	binary.BigEndian.PutUint64(head[8:], log.Term)
	sum := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, mark)
	return binary.BigEndian.AppendUint32(mark, sum)
}

// marked returns entries as they are stored. The entries themselves stay as they are: raft keeps them.
func (s *sealedLogs) marked(logs []*raft.Log) []*raft.Log {
	known := s.committed.Load()
	if known == 0 || len(logs) == 0 {
		return logs
	}
	last := *logs[len(logs)-1]
	last.Extensions = slices.Concat(last.Extensions, markOf(&last, known))
	return append(slices.Clone(logs[:len(logs)-1]), &last)
}

// unmark takes the mark off an entry that was stored at an index, and notes what it says.
func (s *sealedLogs) unmark(index uint64, log *raft.Log) error {
	if len(log.Extensions) != sealSize+markSize {
		return nil
	}
	mark := log.Extensions[sealSize:]
	committed := binary.BigEndian.Uint64(mark[1:])
	if string(mark) != string(markOf(log, committed)) {
		return corrupt(s.path, fmt.Sprintf("log entry %d is damaged: its mark does not match its checksum", index), nil)
	}
	log.Extensions = log.Extensions[:sealSize:sealSize]
	s.committed.raise(committed)
	return nil
}

// Mark notes that the entries up to an index are committed.
func (s *sealedLogs) Mark(index uint64) { s.committed.raise(index) }

// Committed returns the greatest index that was noted or read.
func (s *sealedLogs) Committed() uint64 { return s.committed.Load() }

// Mark notes that the entries up to an index are committed.
func (r *recentLogs) Mark(index uint64) {
	if m, is := r.LogStore.(Marked); is {
		m.Mark(index)
	}
}

// Committed returns the greatest index that was noted or read.
func (r *recentLogs) Committed() uint64 {
	if m, is := r.LogStore.(Marked); is {
		return m.Committed()
	}
	return 0
}
