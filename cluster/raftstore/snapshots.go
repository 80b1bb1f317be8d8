package raftstore

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	snapshotFolder = "snapshots"
	snapshotState  = "state.bin"
	snapshotTmp    = ".tmp"
	snapshotRetain = 2
)

// fileSnapshots is raft's own file snapshot store, whose sinks can also be
// synced while they are written.
type fileSnapshots struct {
	raft.SnapshotStore
	dir    string
	closed func(index uint64) error // called when a snapshot is complete; nil: nothing is
}

// openSnapshots opens the snapshot store of a folder, drops what a crash left
// half written, and refuses a folder whose newest snapshot is damaged. raft
// would fall back to the one before it and then miss the log entries between
// the two, which are gone.
func openSnapshots(dir string, log *slog.Logger) (*fileSnapshots, error) {
	// The store's own remarks repeat errors that it returns.
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotRetain, hclog.NewNullLogger())
	path := filepath.Join(dir, snapshotFolder)
	if err != nil {
		return nil, unusable(path, "cannot open the snapshot folder", err)
	}
	names, err := sweep(path, log)
	if err != nil {
		return nil, unusable(path, "cannot tidy the snapshot folder", err)
	}
	s := &fileSnapshots{SnapshotStore: files, dir: path}
	if err := checkNewest(s, path, names); err != nil {
		return nil, err
	}
	return s, nil
}

// sweep removes unfinished snapshots, which raft never does, and returns the
// names of the finished ones.
func sweep(path string, log *slog.Logger) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		switch {
		case !e.IsDir():
		case strings.HasSuffix(e.Name(), snapshotTmp):
			log.Info("removed an unfinished snapshot", "path", filepath.Join(path, e.Name()))
			if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
				return nil, err
			}
		default:
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// checkNewest verifies the newest snapshot. The newest is found by the names, TERM-INDEX-TIME: a snapshot
// with an unreadable description is left out of raft's list.
func checkNewest(files raft.SnapshotStore, path string, names []string) error {
	var newest snapshotName
	for _, name := range names {
		if n, ok := parseSnapshotName(name); ok && n.after(newest) {
			newest = n
		}
	}
	if newest.name == "" {
		return nil
	}
	where := filepath.Join(path, newest.name)
	list, err := files.List()
	if err != nil {
		return unusable(path, "cannot list the snapshots", err)
	}
	known := slices.ContainsFunc(list, func(m *raft.SnapshotMeta) bool { return m.ID == newest.name })
	if !known {
		return corrupt(where, "the newest snapshot's description (meta.json) cannot be read", nil)
	}
	_, body, err := files.Open(newest.name)
	if err != nil {
		return err
	}
	if err := body.Close(); err != nil {
		return unusable(where, "cannot close the newest snapshot", err)
	}
	return nil
}

// snapshotName is the parsed name of a snapshot's folder.
type snapshotName struct {
	name              string
	term, index, made uint64
}

func parseSnapshotName(name string) (snapshotName, bool) {
	n := snapshotName{name: name}
	_, err := fmt.Sscanf(name, "%d-%d-%d", &n.term, &n.index, &n.made)
	return n, err == nil
}

func (n snapshotName) after(o snapshotName) bool {
	return slices.Compare([]uint64{n.term, n.index, n.made}, []uint64{o.term, o.index, o.made}) > 0
}

// Create begins a snapshot whose sink has a Sync method.
func (s *fileSnapshots) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, trans raft.Transport,
) (raft.SnapshotSink, error) {
	sink, err := s.SnapshotStore.Create(version, index, term, conf, confIndex, trans)
	if err != nil {
		return nil, err
	}
	if _, err := sink.Write(snapSeal(version, term, index, conf, confIndex)); err != nil {
		return nil, errors.Join(err, sink.Cancel())
	}
	return &fileSink{
		SnapshotSink: sink, state: filepath.Join(s.dir, sink.ID()+snapshotTmp, snapshotState), index: index, closed: s.closed,
	}, nil
}

// size returns the bytes of all snapshots.
func (s *fileSnapshots) size() (int64, error) {
	list, err := s.List()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, m := range list {
		sum += m.Size
	}
	return sum, nil
}

// newest returns the index of the newest snapshot, and when it was taken, which its id has in milliseconds after term and index; zero:
// there is none.
func (s *fileSnapshots) newest() (index uint64, at time.Time) {
	list, err := s.List()
	if err != nil || len(list) == 0 {
		return 0, at
	}
	if ms, err := strconv.ParseInt(list[0].ID[strings.LastIndexByte(list[0].ID, '-')+1:], 10, 64); err == nil {
		at = time.UnixMilli(ms)
	}
	return list[0].Index, at
}

// fileSink is raft's file sink, and the path of the file that it writes.
type fileSink struct {
	raft.SnapshotSink
	state  string
	index  uint64
	closed func(index uint64) error // nil: done, or nothing to do
}

// Close completes the snapshot, and records its index.
func (s *fileSink) Close() error {
	err := s.SnapshotSink.Close()
	if note := s.closed; note != nil && err == nil {
		s.closed = nil
		return note(s.index)
	}
	return err
}

// Cancel drops the snapshot.
func (s *fileSink) Cancel() error {
	s.closed = nil
	return s.SnapshotSink.Cancel()
}

// Sync forces what has been written so far to the disk, so that the fsync at
// the end is short: a long one holds up the log's. fsync concerns the file, not
// the descriptor, so that one of our own serves.
func (s *fileSink) Sync() (err error) {
	f, err := os.OpenFile(s.state, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

// syncer is a sink that can be synced before it is closed.
type syncer interface{ Sync() error }

var (
	_ syncer    = (*fileSink)(nil)
	_ io.Writer = (*fileSink)(nil)
)
