package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/berth-gpu/berth/cluster"
)

// barePeer is hashicorp/raft on raft-boltdb with its own transport and a state that only counts:
// the reference for Berth's peer.
type barePeer struct {
	raft  *raft.Raft
	store *raftboltdb.BoltStore
}

// bareEntry is as large as an entry with one lease renewal.
const bareEntry = 112

func startBare(at place) (engine, error) {
	if err := os.MkdirAll(at.dir, 0o700); err != nil {
		return nil, err
	}
	store, err := raftboltdb.NewBoltStore(filepath.Join(at.dir, "raft.db"))
	if err != nil {
		return nil, err
	}
	r, err := newBareRaft(at, store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	var c raft.Configuration
	for _, s := range at.peers {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(s.ID), Address: raft.ServerAddress(s.Address)})
	}
	if err := r.BootstrapCluster(c).Error(); err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return nil, errors.Join(err, r.Shutdown().Error(), store.Close())
	}
	return &barePeer{r, store}, nil
}

func newBareRaft(at place, store *raftboltdb.BoltStore) (*raft.Raft, error) {
	snapshots, err := raft.NewFileSnapshotStore(at.dir, 2, io.Discard)
	if err != nil {
		return nil, err
	}
	transport, err := raft.NewTCPTransport(at.address(), nil, 3, 10*time.Second, io.Discard)
	if err != nil {
		return nil, err
	}
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(at.id)
	conf.HeartbeatTimeout, conf.ElectionTimeout = cluster.LAN.Heartbeat, cluster.LAN.Election
	conf.LeaderLeaseTimeout = cluster.LAN.Lease
	conf.Logger = hclog.NewNullLogger()
	r, err := raft.NewRaft(conf, &counter{}, store, store, snapshots, transport)
	if err != nil {
		return nil, errors.Join(err, transport.Close())
	}
	return r, nil
}

func (b *barePeer) close() error { return errors.Join(b.raft.Shutdown().Error(), b.store.Close()) }

func (b *barePeer) status() status {
	return status{Leads: b.raft.State() == raft.Leader, Term: b.raft.CurrentTerm(), Applied: b.raft.AppliedIndex()}
}

func (b *barePeer) workload(string, int) (proposer, error) {
	return func(int) error { return b.raft.Apply(make([]byte, bareEntry), 10*time.Second).Error() }, nil
}

// counter counts entries.
type counter struct{ n atomic.Uint64 }

// Apply counts one entry.
func (c *counter) Apply(*raft.Log) any { return c.n.Add(1) }

// Snapshot holds nothing.
func (c *counter) Snapshot() (raft.FSMSnapshot, error) { return nothing{}, nil }

// Restore reads nothing.
func (c *counter) Restore(r io.ReadCloser) error { return r.Close() }

type nothing struct{}

// Persist writes nothing.
func (nothing) Persist(sink raft.SnapshotSink) error { return sink.Close() }

// Release has nothing to release.
func (nothing) Release() {}
