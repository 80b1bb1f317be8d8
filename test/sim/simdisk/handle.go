package simdisk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/hashicorp/raft"
)

// Handle is one process's use of a disk.
type Handle struct {
	killed chan struct{}

	mu  sync.Mutex
	dev *device // nil once killed
	vol *volume
}

// Kill takes the disk away from this process: from now on the handle works, at
// once and without faults, on a copy of its own, whatever its goroutines are
// still doing. Killing twice is killing once.
func (h *Handle) Kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dev == nil {
		return
	}
	h.dev, h.vol = nil, h.vol.clone()
	close(h.killed)
}

// Logs returns the raft log.
func (h *Handle) Logs() raft.LogStore { return logs{h} }

// Stable returns the store of term and vote.
func (h *Handle) Stable() raft.StableStore { return stable{h} }

// Snapshots returns the snapshot store.
func (h *Handle) Snapshots() raft.SnapshotStore { return snapshots{h} }

// Files returns the small files next to raft's stores.
func (h *Handle) Files() Files { return Files{h} }

// lend runs f on the disk's folder, unless the handle no longer has it.
func (h *Handle) lend(f func(*volume)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dev == nil {
		return false
	}
	f(h.vol)
	return true
}

// device returns the drive, or nil for a killed process.
func (h *Handle) device() *device {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dev
}

// run lets one operation take its time and perhaps fail.
func (h *Handle) run(o Op) error {
	dev := h.device()
	if dev == nil {
		return nil
	}
	if err := dev.run(o, h.killed); err != nil && h.device() != nil {
		return err
	}
	return nil
}

// read runs f on what the process sees.
func (h *Handle) read(o Op, f func(*image) error) error {
	if err := h.run(o); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return f(&h.vol.cache)
}

// write changes a file and syncs it.
func (h *Handle) write(o Op, file string, apply func(*image)) error {
	if err := h.run(o); err != nil {
		return err
	}
	h.mu.Lock()
	h.vol.write(file, apply)
	h.mu.Unlock()
	return h.sync(o+1, file)
}

// sync makes a file durable, or loses track of it.
func (h *Handle) sync(o Op, file string) error {
	err := h.run(o)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		h.vol.forget(file)
	case h.dev != nil && h.dev.lies():
		h.vol.syncLying()
	default:
		h.vol.sync(file)
	}
	return err
}

// boltFile is the file of log and stable store, as in raftstore: one for both.
const boltFile = "raft.db"

// logs is a handle as raft's log store.
type logs struct{ h *Handle }

func (l logs) FirstIndex() (index uint64, err error) {
	err = l.h.read(ReadLog, func(m *image) error {
		if len(m.logs) > 0 {
			index = m.logs[0].Index
		}
		return nil
	})
	return index, err
}

func (l logs) LastIndex() (index uint64, err error) {
	err = l.h.read(ReadLog, func(m *image) error {
		if n := len(m.logs); n > 0 {
			index = m.logs[n-1].Index
		}
		return nil
	})
	return index, err
}

func (l logs) GetLog(index uint64, log *raft.Log) error {
	return l.h.read(ReadLog, func(m *image) error {
		at, found := m.find(index)
		if !found {
			return raft.ErrLogNotFound
		}
		*log = *cloneLog(m.logs[at])
		return nil
	})
}

func (l logs) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

func (l logs) StoreLogs(entries []*raft.Log) error {
	copies := make([]*raft.Log, len(entries))
	for i, e := range entries {
		copies[i] = cloneLog(e)
	}
	return l.h.write(WriteLog, boltFile, func(m *image) { m.put(copies) })
}

func (l logs) DeleteRange(from, to uint64) error {
	return l.h.write(WriteLog, boltFile, func(m *image) { m.cut(from, to) })
}

// Errors of the stable store, with the texts that raft and bbolt give them.
var (
	errNotFound = errors.New("not found")
	errNoKey    = errors.New("key required")
)

// stable is a handle as raft's stable store.
type stable struct{ h *Handle }

func (s stable) Set(key, val []byte) error {
	if len(key) == 0 {
		return errNoKey
	}
	k, v := string(key), bytes.Clone(val)
	return s.h.write(WriteStable, boltFile, func(m *image) { m.kv[k] = v })
}

func (s stable) Get(key []byte) (val []byte, err error) {
	err = s.h.read(ReadStable, func(m *image) error {
		v, ok := m.kv[string(key)]
		if !ok {
			return errNotFound
		}
		val = bytes.Clone(v)
		return nil
	})
	return val, err
}

func (s stable) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

func (s stable) GetUint64(key []byte) (uint64, error) {
	val, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(val), nil
}
