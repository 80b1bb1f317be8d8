package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// An entry's seal is stored in its Extensions, which raft stores and replicates with it: a version byte and a
// CRC-32C (RFC 3720), big-endian, over index, term, type and data. The leader that made the entry seals it,
// and every peer that stores, reads or sends the entry later checks that one seal. AppendedAt is left out:
// only metrics use it.
const (
	sealVersion = 1
	sealSize    = 1 + crc32.Size
	sealedHead  = 8 + 8 + 1 // index, term, type
)

// castagnoli is the polynomial of the checksums in raft.db.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errNoSeal  = errors.New("it has no checksum")
	errBadSeal = errors.New("it does not match its checksum")
)

func sealOf(log *raft.Log) [sealSize]byte {
	var head [sealedHead]byte
	binary.BigEndian.PutUint64(head[:], log.Index)
	binary.BigEndian.PutUint64(head[8:], log.Term)
	head[16] = byte(log.Type)
	sum := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, log.Data)
	seal := [sealSize]byte{sealVersion}
	binary.BigEndian.PutUint32(seal[1:], sum)
	return seal
}

// CheckSeal returns nil if an entry is unchanged since the leader that proposed it made it: its index, term,
// type and data match its checksum.
func CheckSeal(log *raft.Log) error {
	if len(log.Extensions) == 0 {
		return errNoSeal
	}
	if seal := sealOf(log); string(log.Extensions) != string(seal[:]) {
		return errBadSeal
	}
	return nil
}

// SealLogs returns a log store that seals the entries which this peer proposes, and
// checks the seal of every entry that it stores for another leader or reads: for apply,
// for replication, at the start. An entry that fails is a *Fault that names path.
func SealLogs(inner raft.LogStore, path string) raft.LogStore {
	return &sealedLogs{LogStore: inner, path: path}
}

var (
	_ raft.MonotonicLogStore = (*sealedLogs)(nil)
	_ Marked                 = (*sealedLogs)(nil)
)

type sealedLogs struct {
	raft.LogStore
	path      string
	committed highest // up to which index the entries are
}

// IsMonotonic reports whether the inner store is monotonic.
func (s *sealedLogs) IsMonotonic() bool {
	m, ok := s.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// GetLog reads one entry and checks its seal.
func (s *sealedLogs) GetLog(index uint64, log *raft.Log) error {
	if err := s.LogStore.GetLog(index, log); err != nil {
		return err
	}
	if err := s.unmark(index, log); err != nil {
		return err
	}
	return checkEntry(s.path, index, log)
}

// checkEntry returns the fault of an entry that is not what was stored at the index.
func checkEntry(path string, index uint64, log *raft.Log) error {
	if log.Index != index {
		return corrupt(path, fmt.Sprintf("log entry %d calls itself %d", index, log.Index), nil)
	}
	if err := CheckSeal(log); err != nil {
		return corrupt(path, fmt.Sprintf("log entry %d is damaged: %v", index, err), nil)
	}
	return nil
}

// StoreLog stores one entry as StoreLogs does.
func (s *sealedLogs) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

// StoreLogs seals entries without a seal, which raft has just made, and refuses entries that do not match
// their seal. The entries themselves get the seal: raft keeps them to apply them.
func (s *sealedLogs) StoreLogs(logs []*raft.Log) error {
	for _, log := range logs {
		if len(log.Extensions) == 0 {
			seal := sealOf(log)
			log.Extensions = seal[:]
		} else if err := CheckSeal(log); err != nil {
			return fmt.Errorf("%s: log entry %d, which is to be stored, is damaged: %w", s.path, log.Index, err)
		}
	}
	return s.LogStore.StoreLogs(s.marked(logs))
}

// SealStable returns a stable store that stores a checksum with each value, bound to its key. A value that
// does not match is a *Fault that names path.
func SealStable(inner raft.StableStore, path string) raft.StableStore {
	return &sealedStable{inner, path}
}

type sealedStable struct {
	inner raft.StableStore
	path  string
}

func stableSum(key, val []byte) uint32 {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, []byte{0})
	return crc32.Update(sum, castagnoli, val)
}

// Set stores a value with its checksum.
func (s *sealedStable) Set(key, val []byte) error {
	sealed := append(make([]byte, 0, len(val)+crc32.Size), val...)
	return s.inner.Set(key, binary.BigEndian.AppendUint32(sealed, stableSum(key, val)))
}

// Get reads a value and checks it.
func (s *sealedStable) Get(key []byte) ([]byte, error) {
	sealed, err := s.inner.Get(key)
	if err != nil {
		return nil, err
	}
	at := len(sealed) - crc32.Size
	if at < 0 || binary.BigEndian.Uint32(sealed[at:]) != stableSum(key, sealed[:at]) {
		return nil, corrupt(s.path, fmt.Sprintf("the value of %q, which holds its term, its vote or what is committed, does not match its checksum", key), nil)
	}
	return sealed[:at], nil
}

// SetUint64 stores a number as Set does.
func (s *sealedStable) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// GetUint64 reads a number as Get does.
func (s *sealedStable) GetUint64(key []byte) (uint64, error) {
	val, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(val) != 8 {
		return 0, corrupt(s.path, fmt.Sprintf("the value of %q is no number", key), nil)
	}
	return binary.BigEndian.Uint64(val), nil
}
