package raftstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/berth-gpu/berth/cluster/upgrade"
)

// Options select a folder and its owner. Dir is required; the zero value of every other field is the usual
// choice.
type Options struct {
	// Dir is the peer's data folder, made if it does not exist.
	Dir string
	// PeerID is the peer that the folder must belong to. Empty takes the folder's own peer, or generates an
	// id for a new folder.
	PeerID string
	// ClusterID is the cluster that the folder must belong to. Empty takes any;
	// see Store.SetCluster.
	ClusterID string
	// MinFree is the least free space to start with, in bytes; 0 means
	// DefaultMinFree.
	MinFree uint64
	// Ballast is the size of the ballast file in bytes; 0 means DefaultBallast,
	// negative means none.
	Ballast int64
	// LockTimeout bounds the wait for a raft.db that another process has open;
	// 0 means one second.
	LockTimeout time.Duration
	// Deep makes Open also run bbolt's own check of raft.db. Every log entry is
	// read and checked in any case.
	Deep bool
	// Level is the greatest feature level that the program knows: the folder of a peer whose cluster is beyond that is
	// refused. 0: any is taken.
	Level uint32
	// Logger logs what Open cleaned up; nil drops the messages.
	Logger *slog.Logger

	statfs func(string) (Space, error) // tests put a small disk here
}

func (o Options) withDefaults() Options {
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	if o.Ballast == 0 {
		o.Ballast = DefaultBallast
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.statfs == nil {
		o.statfs = spaceOf
	}
	return o
}

// Store is one peer's open data folder. It is safe for concurrent use, except for Close, which comes after
// raft has been shut down.
type Store struct {
	opts  Options
	lock  *os.File
	id    identityCell
	bolt  *raftboltdb.BoltStore
	snaps *fileSnapshots

	logs   raft.LogStore    // bolt, with checksums
	recent raft.LogStore    // logs, the newest entries from memory
	stable raft.StableStore // likewise

	program    upgrade.Record
	hasProgram bool
}

// Open locks a data folder for this process and opens its content. It refuses an unusable folder with a
// *Fault, and changes nothing in a folder that it refuses, except for the lock file and other users' access
// to the folder.
func Open(opts Options) (*Store, error) {
	if opts.Dir == "" {
		return nil, errors.New("open the raft store: no data folder was named; set server.data_dir (--data-dir)")
	}
	opts = opts.withDefaults()
	if err := prepareFolder(opts.Dir, opts.Logger); err != nil {
		return nil, err
	}
	lock, err := lockFolder(opts.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, lock: lock}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open does what needs the lock. The identity of a new folder is written last: it proves that the folder has
// once been complete, so that a store which is missing later counts as lost rather than new.
func (s *Store) open() error {
	dir := s.opts.Dir
	id, fresh, err := claim(dir, s.opts.PeerID, s.opts.ClusterID)
	if err != nil {
		return err
	}
	if err := s.readProgram(); err != nil {
		return err
	}
	if err := probeWrite(dir); err != nil {
		return err
	}
	if err := checkSpace(s.opts); err != nil {
		return err
	}
	if s.bolt, err = openBolt(s.opts, fresh); err != nil {
		return err
	}
	path := filepath.Join(dir, boltName)
	s.logs, s.stable = SealLogs(s.bolt, path), SealStable(s.bolt, path)
	s.recent = withRecent(s.logs)
	if s.snaps, err = openSnapshots(dir, s.opts.Logger); err != nil {
		return err
	}
	s.snaps.closed = s.raiseFloor
	err = mapped(path, s.checkWhole)
	if errors.Is(err, errMapped) {
		s.bolt = nil // its locks may be held for good; the process ends
	}
	if err != nil {
		return err
	}
	if fresh {
		if err := s.adopt(id); err != nil {
			return err
		}
	}
	s.id.set(id)
	if s.opts.ClusterID != "" {
		if err := s.SetCluster(s.opts.ClusterID); err != nil {
			return err
		}
	}
	return ensureBallast(dir, s.opts.Ballast)
}

// adopt gives a folder without an identity its first one. A store that already holds entries or a term has
// lost its identity file, and its owner is unknown.
func (s *Store) adopt(id Identity) error {
	last, err := s.bolt.LastIndex()
	if err != nil {
		return corrupt(filepath.Join(s.opts.Dir, boltName), "its last entry cannot be read", err)
	}
	_, errTerm := s.bolt.GetUint64([]byte("CurrentTerm"))
	if last != 0 || !isNotFound(errTerm) {
		return corrupt(filepath.Join(s.opts.Dir, identityName),
			"the identity file is missing from a folder that holds a raft log", nil)
	}
	return writeIdentity(s.opts.Dir, id)
}

// Dir returns the data folder's path.
func (s *Store) Dir() string { return s.opts.Dir }

// Logs returns the raft log, for raft.NewRaft. It stores a checksum with each entry, see SealLogs, and answers
// reads of the newest entries from memory.
func (s *Store) Logs() raft.LogStore { return s.recent }

// Stable returns the store of term and vote, for raft.NewRaft. It stores a checksum with each value.
func (s *Store) Stable() raft.StableStore { return s.stable }

// Snapshots returns the snapshot store, for raft.NewRaft. Its sinks have a
// Sync method, which Pace uses.
func (s *Store) Snapshots() raft.SnapshotStore { return s.snaps }

// Identity returns the folder's identity.
func (s *Store) Identity() Identity { return s.id.get() }

// FreeSpace returns the free space on the folder's file system.
func (s *Store) FreeSpace() (Space, error) { return s.opts.statfs(s.opts.Dir) }

// SetCluster records the cluster that this peer has founded or joined. Once recorded, another id is refused
// with a *Fault of kind ErrForeign.
func (s *Store) SetCluster(id string) error {
	return s.id.update(func(was Identity) (Identity, error) {
		switch was.ClusterID {
		case id:
			return was, nil
		case "":
			was.ClusterID = id
			return was, writeIdentity(s.opts.Dir, was)
		default:
			return was, foreign(s.opts.Dir, "cluster", was.ClusterID, id)
		}
	})
}

// Close unlocks the folder. Call it after raft has been shut down.
func (s *Store) Close() error {
	var err error
	if s.bolt != nil {
		err = s.bolt.Close()
	}
	if err = errors.Join(err, s.lock.Close()); err != nil {
		return fmt.Errorf("close the raft store in %s: %w", s.opts.Dir, err)
	}
	return nil
}
