package raftstore

import (
	"io"

	"github.com/hashicorp/raft"
)

// Logs returns inner under watch. Like raft.LogCache it implements IsMonotonic for the inner store, which is
// the only optional method that raft calls.
func (w *Watchdog) Logs(inner raft.LogStore) raft.LogStore { return &watchedLogs{w, inner} }

// Stable returns inner under watch.
func (w *Watchdog) Stable(inner raft.StableStore) raft.StableStore { return &watchedStable{w, inner} }

// Snapshots returns inner under watch, including its sinks.
func (w *Watchdog) Snapshots(inner raft.SnapshotStore) raft.SnapshotStore {
	return &watchedSnapshots{w, inner}
}

var (
	_ raft.MonotonicLogStore = (*watchedLogs)(nil)
	_ syncer                 = (*watchedSink)(nil)
)

type watchedLogs struct {
	dog   *Watchdog
	inner raft.LogStore
}

// IsMonotonic reports whether the inner store is monotonic.
func (l *watchedLogs) IsMonotonic() bool {
	m, ok := l.inner.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

func (l *watchedLogs) FirstIndex() (index uint64, err error) {
	err = l.dog.do("FirstIndex", false, func() (err error) { index, err = l.inner.FirstIndex(); return })
	return index, err
}

func (l *watchedLogs) LastIndex() (index uint64, err error) {
	err = l.dog.do("LastIndex", false, func() (err error) { index, err = l.inner.LastIndex(); return })
	return index, err
}

func (l *watchedLogs) GetLog(index uint64, log *raft.Log) error {
	return l.dog.doOrHold("GetLog", func() error { return l.inner.GetLog(index, log) })
}

func (l *watchedLogs) StoreLog(log *raft.Log) error {
	return l.dog.do("StoreLog", false, func() error { return l.inner.StoreLog(log) })
}

func (l *watchedLogs) StoreLogs(logs []*raft.Log) error {
	return l.dog.do("StoreLogs", false, func() error { return l.inner.StoreLogs(logs) })
}

func (l *watchedLogs) DeleteRange(from, to uint64) error {
	return l.dog.do("DeleteRange", false, func() error { return l.inner.DeleteRange(from, to) })
}

type watchedStable struct {
	dog   *Watchdog
	inner raft.StableStore
}

func (s *watchedStable) Set(key, val []byte) error {
	return s.dog.do("Set", false, func() error { return s.inner.Set(key, val) })
}

func (s *watchedStable) Get(key []byte) (val []byte, err error) {
	err = s.dog.do("Get", false, func() (err error) { val, err = s.inner.Get(key); return })
	return val, err
}

func (s *watchedStable) SetUint64(key []byte, val uint64) error {
	return s.dog.doOrHold("SetUint64", func() error { return s.inner.SetUint64(key, val) })
}

func (s *watchedStable) GetUint64(key []byte) (val uint64, err error) {
	err = s.dog.do("GetUint64", false, func() (err error) { val, err = s.inner.GetUint64(key); return })
	return val, err
}

type watchedSnapshots struct {
	dog   *Watchdog
	inner raft.SnapshotStore
}

func (s *watchedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, trans raft.Transport,
) (raft.SnapshotSink, error) {
	var sink raft.SnapshotSink
	err := s.dog.do("snapshot Create", true, func() (err error) {
		sink, err = s.inner.Create(version, index, term, conf, confIndex, trans)
		return
	})
	if err != nil {
		return nil, err
	}
	return &watchedSink{s.dog, sink}, nil
}

func (s *watchedSnapshots) List() (list []*raft.SnapshotMeta, err error) {
	err = s.dog.do("snapshot List", true, func() (err error) { list, err = s.inner.List(); return })
	return list, err
}

func (s *watchedSnapshots) Open(id string) (meta *raft.SnapshotMeta, body io.ReadCloser, err error) {
	err = s.dog.do("snapshot Open", true, func() (err error) { meta, body, err = s.inner.Open(id); return })
	return meta, body, err
}

type watchedSink struct {
	dog   *Watchdog
	inner raft.SnapshotSink
}

func (s *watchedSink) ID() string { return s.inner.ID() }

func (s *watchedSink) Write(b []byte) (n int, err error) {
	err = s.dog.do("snapshot Write", true, func() (err error) { n, err = s.inner.Write(b); return })
	return n, err
}

func (s *watchedSink) Close() error { return s.dog.do("snapshot Close", true, s.inner.Close) }

func (s *watchedSink) Cancel() error { return s.dog.do("snapshot Cancel", true, s.inner.Cancel) }

// Sync syncs the inner sink if it supports that.
func (s *watchedSink) Sync() error {
	if y, ok := s.inner.(syncer); ok {
		return s.dog.do("snapshot Sync", true, y.Sync)
	}
	return nil
}
