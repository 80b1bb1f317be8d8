package simdisk

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// snapshotFolder is what is synced when a snapshot gets its name.
const snapshotFolder = "snapshots"

// snapshots is a handle as raft's snapshot store. Like raft's FileSnapshotStore
// it lists the newest two by term and index, and a snapshot exists from the
// moment that its sink has been closed without an error.
type snapshots struct{ h *Handle }

func (s snapshots) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	if version != 1 {
		return nil, fmt.Errorf("unsupported snapshot version %d", version)
	}
	if err := s.h.run(WriteSnapshot); err != nil {
		return nil, err
	}
	return &sink{h: s.h, meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%d-%d-%d", term, index, time.Now().UnixMilli()),
		Index: index, Term: term, Configuration: conf.Clone(), ConfigurationIndex: confIndex,
	}}, nil
}

func (s snapshots) List() (list []*raft.SnapshotMeta, err error) {
	err = s.h.read(ReadSnapshot, func(m *image) error {
		for _, snap := range m.snaps {
			list = append(list, new(snap.meta))
		}
		return nil
	})
	return list, err
}

func (s snapshots) Open(id string) (meta *raft.SnapshotMeta, body io.ReadCloser, err error) {
	err = s.h.read(ReadSnapshot, func(m *image) error {
		at := slices.IndexFunc(m.snaps, func(o snapshot) bool { return o.meta.ID == id })
		if at < 0 {
			return fmt.Errorf("open snapshot %s: %w", id, fs.ErrNotExist)
		}
		snap := m.snaps[at]
		if checksum(snap.body) != snap.sum {
			return errCRC
		}
		meta, body = new(snap.meta), io.NopCloser(bytes.NewReader(snap.body))
		return nil
	})
	return meta, body, err
}

// sink is a snapshot that is being written.
type sink struct {
	h      *Handle
	meta   raft.SnapshotMeta
	body   bytes.Buffer
	closed bool
}

func (s *sink) ID() string { return s.meta.ID }

// Write takes no time: the real sink has a buffer and leaves the rest to the
// kernel until it is closed.
func (s *sink) Write(b []byte) (int, error) {
	if s.closed {
		return 0, fs.ErrClosed
	}
	if dev := s.h.device(); dev != nil {
		if err := dev.fail(WriteSnapshot); err != nil {
			return 0, err
		}
	}
	return s.body.Write(b)
}

// Close syncs the data, gives the snapshot its name, and syncs that.
func (s *sink) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if err := s.h.run(SyncSnapshot); err != nil {
		return err
	}
	s.meta.Size = int64(s.body.Len())
	snap := snapshot{meta: s.meta, body: s.body.Bytes(), sum: checksum(s.body.Bytes())}
	return s.h.write(WriteSnapshot, snapshotFolder, func(m *image) { m.add(snap) })
}

// Cancel drops the snapshot.
func (s *sink) Cancel() error {
	s.closed = true
	return nil
}
