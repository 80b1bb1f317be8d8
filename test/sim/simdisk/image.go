package simdisk

import (
	"bytes"
	"cmp"
	"hash/crc64"
	"maps"
	"slices"

	"github.com/hashicorp/raft"
)

// retain is how many snapshots are kept, as in raftstore.
const retain = 2

// image is the content of a data folder. Its values are never changed in
// place, so that a copy needs to copy only the tables.
type image struct {
	logs  []*raft.Log // by index, ascending; gaps are allowed, as in bbolt
	kv    map[string][]byte
	snaps []snapshot // newest first
	files map[string][]byte
}

// snapshot is a finished snapshot and the checksum that it had when written.
type snapshot struct {
	meta raft.SnapshotMeta
	body []byte
	sum  uint64
}

func newImage() image {
	return image{kv: map[string][]byte{}, files: map[string][]byte{}}
}

func (m *image) clone() image {
	return image{
		logs: slices.Clone(m.logs), kv: maps.Clone(m.kv),
		snaps: slices.Clone(m.snaps), files: maps.Clone(m.files),
	}
}

// find returns where the entry of an index is, or where it would be.
func (m *image) find(index uint64) (int, bool) {
	return slices.BinarySearchFunc(m.logs, index, func(l *raft.Log, i uint64) int { return cmp.Compare(l.Index, i) })
}

// put stores entries, each in place of the one that has its index.
func (m *image) put(logs []*raft.Log) {
	for _, l := range logs {
		at, found := m.find(l.Index)
		if found {
			m.logs[at] = l
		} else {
			m.logs = slices.Insert(m.logs, at, l)
		}
	}
}

// cut removes the entries from..to.
func (m *image) cut(from, to uint64) {
	low, _ := m.find(from)
	high, found := m.find(to)
	if found {
		high++
	}
	if low < high {
		m.logs = slices.Delete(m.logs, low, high)
	}
}

// add files a finished snapshot and drops those beyond the retained ones.
func (m *image) add(s snapshot) {
	m.snaps = slices.DeleteFunc(m.snaps, func(o snapshot) bool { return o.meta.ID == s.meta.ID })
	m.snaps = append(m.snaps, s)
	slices.SortFunc(m.snaps, func(a, b snapshot) int {
		return cmp.Or(cmp.Compare(b.meta.Term, a.meta.Term), cmp.Compare(b.meta.Index, a.meta.Index), cmp.Compare(b.meta.ID, a.meta.ID))
	})
	m.snaps = m.snaps[:min(retain, len(m.snaps))]
}

// spoil flips a bit of the newest snapshot and reports whether there is one.
func (m *image) spoil() bool {
	if len(m.snaps) == 0 {
		return false
	}
	s := m.snaps[0]
	s.body = append(bytes.Clone(s.body), 0)
	s.body[0] ^= 0x40
	m.snaps[0] = s
	return true
}

// checksum returns the one that raft's file snapshot store uses.
func checksum(body []byte) uint64 {
	return crc64.Checksum(body, crc64.MakeTable(crc64.ECMA))
}

// cloneLog copies an entry so that no caller can reach the one on the disk.
func cloneLog(l *raft.Log) *raft.Log {
	c := *l
	c.Data, c.Extensions = bytes.Clone(l.Data), bytes.Clone(l.Extensions)
	return &c
}
