package raftstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// A snapshot's state.bin begins with a seal: a magic text and a CRC-32C, big-endian, over what meta.json
// contains about the state: term, index and configuration. raft's own checksum covers the bytes of state.bin,
// so the two together cover both files.
const (
	snapMagic    = "BERTHSN1"
	snapSealSize = len(snapMagic) + crc32.Size
)

var errMeta = errors.New("its description (meta.json) does not match its checksum")

func snapSeal(version raft.SnapshotVersion, term, index uint64, conf raft.Configuration, confIndex uint64) []byte {
	head := binary.BigEndian.AppendUint64(nil, uint64(version))
	head = binary.BigEndian.AppendUint64(head, term)
	head = binary.BigEndian.AppendUint64(head, index)
	head = binary.BigEndian.AppendUint64(head, confIndex)
	head = append(head, raft.EncodeConfiguration(conf)...)
	return binary.BigEndian.AppendUint32([]byte(snapMagic), crc32.Checksum(head, castagnoli))
}

// Open opens a snapshot whose state and description are as they were written; any other is a *Fault. raft
// opens a snapshot to restore it, and to send it to another peer.
func (s *fileSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, body, err := s.SnapshotStore.Open(id)
	if err != nil {
		if isNotFound(err) {
			return nil, nil, err
		}
		return nil, nil, corrupt(filepath.Join(s.dir, id), "the snapshot is damaged", err)
	}
	seal := make([]byte, snapSealSize)
	_, err = io.ReadFull(body, seal)
	if file, errStat := os.Stat(filepath.Join(s.dir, id, snapshotState)); err == nil && (errStat != nil || file.Size() != meta.Size) {
		err = errors.Join(errMeta, errStat)
	}
	if err == nil && string(seal) != string(snapSeal(meta.Version, meta.Term, meta.Index, meta.Configuration, meta.ConfigurationIndex)) {
		err = errMeta
	}
	if err != nil {
		return nil, nil, corrupt(filepath.Join(s.dir, id), "the snapshot is damaged", errors.Join(err, body.Close()))
	}
	meta.Size -= int64(snapSealSize)
	return meta, body, nil
}

// List returns the snapshots, newest first, with the size of their states.
func (s *fileSnapshots) List() ([]*raft.SnapshotMeta, error) {
	list, err := s.SnapshotStore.List()
	for _, m := range list {
		m.Size = max(0, m.Size-int64(snapSealSize))
	}
	return list, err
}
