package raftstore

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/hashicorp/raft"
)

const (
	paceChunk = 256 << 10 // bytes between two looks at the clock
	paceSync  = 8 << 20   // bytes between two syncs
)

// JitteredThreshold spreads the peers' snapshots: it returns base, changed by up to 25 % either way depending
// on the peer's id. Peers that all apply the same log would otherwise write their snapshots at the same
// moment, and the cluster would be slow just then. It is the value for raft.Config.SnapshotThreshold.
func JitteredThreshold(peerID string, base uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(peerID)) // a hash takes everything
	return base - base/4 + h.Sum64()%(2*(base/4)+1)
}

// Pace returns a snapshot store that writes at most bytesPerSecond, with a sync
// every 8 MiB where the inner sink has one. Written at full speed, a snapshot
// fills the disk's queue and the log's fsync waits behind it. When ctx ends a
// sink under way fails, so that raft can be shut down in the middle of one.
// A rate of 0 or less returns inner itself.
func Pace(ctx context.Context, inner raft.SnapshotStore, bytesPerSecond int64) raft.SnapshotStore {
	if bytesPerSecond <= 0 {
		return inner
	}
	return &pacedSnapshots{SnapshotStore: inner, ctx: ctx, rate: bytesPerSecond}
}

type pacedSnapshots struct {
	raft.SnapshotStore
	ctx  context.Context // raft's interface has no place for it
	rate int64
}

// Create begins a snapshot whose sink is paced from now on.
func (p *pacedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, trans raft.Transport,
) (raft.SnapshotSink, error) {
	sink, err := p.SnapshotStore.Create(version, index, term, conf, confIndex, trans)
	if err != nil {
		return nil, err
	}
	return &pacedSink{SnapshotSink: sink, ctx: p.ctx, rate: p.rate, free: time.Now()}, nil
}

type pacedSink struct {
	raft.SnapshotSink
	ctx      context.Context // raft's interface has no place for it
	rate     int64           // bytes a second
	free     time.Time       // when what was written so far has had its time
	unsynced int
}

// Write passes b on in pieces and sleeps between them.
func (p *pacedSink) Write(b []byte) (int, error) {
	written := 0
	for written < len(b) {
		if err := p.wait(); err != nil {
			return written, err
		}
		n, err := p.SnapshotSink.Write(b[written:min(len(b), written+paceChunk)])
		written += n
		if err == nil {
			err = p.account(n)
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// wait sleeps until the time of the bytes written before is over.
func (p *pacedSink) wait() error {
	ahead := time.Until(p.free)
	if ahead <= 0 {
		return p.stopped()
	}
	timer := time.NewTimer(ahead)
	defer timer.Stop()
	select {
	case <-timer.C:
		return p.stopped()
	case <-p.ctx.Done():
		return p.stopped()
	}
}

func (p *pacedSink) stopped() error {
	if err := context.Cause(p.ctx); err != nil {
		return fmt.Errorf("write snapshot %s: the peer is stopping: %w", p.ID(), err)
	}
	return nil
}

// account adds n written bytes. Time not used, while the state was being encoded or received, is not saved up
// for a burst.
func (p *pacedSink) account(n int) error {
	if now := time.Now(); p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
	p.unsynced += n
	if p.unsynced < paceSync {
		return nil
	}
	p.unsynced = 0
	if s, ok := p.SnapshotSink.(syncer); ok {
		return s.Sync()
	}
	return nil
}
