package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/cluster/raftstore"
)

// guardStores puts a watchdog between raft and the disk. A leader whose disk hangs would lead for ever
// (hashicorp/raft#503), and after a failed sync raft would go on with a file whose content is unknown.
func (p *Peer) guardStores(ctx context.Context) Stores {
	s := p.cfg.Stores
	s.Log = p.keepCommitted(s)
	if !p.cfg.Tests.NoWatchdog {
		dog := raftstore.NewWatchdog(string(p.cfg.Self.ID), raftstore.Limits{})
		s.Log, s.Stable, s.Snapshots = dog.Logs(s.Log), dog.Stable(s.Stable), dog.Snapshots(s.Snapshots)
		dog.Arm()
		p.life.watchd.Go(func() { dog.Watch(ctx, 100*time.Millisecond, p.leads, p.heed) })
	}
	p.watched = s.Stable
	p.life.watchd.Go(func() { p.saveAtRest(ctx) })
	s.Snapshots = raftstore.Pace(p.life.ctx, s.Snapshots, max(0, p.cfg.Tuning.SnapshotRate))
	return s
}

// keepCommitted returns the log of this peer, from which no entry is cut off that is known as committed.
func (p *Peer) keepCommitted(s Stores) raft.LogStore {
	if p.cfg.Tests.AnyFolder {
		return s.Log
	}
	l := &committedLogs{LogStore: s.Log, where: "peer " + string(p.cfg.Self.ID), stable: s.Stable, begun: time.Now()}
	l.marks, _ = s.Log.(raftstore.Marked)
	if kept, err := s.Stable.Get([]byte(raftstore.KeyCommitted)); err == nil && len(kept) == 8 {
		l.kept.Store(binary.BigEndian.Uint64(kept))
	}
	l.now = func() uint64 {
		known := p.fsm.State().Index
		if r := p.wire.started.Load(); r != nil {
			known = max(known, r.CommitIndex())
		}
		return known
	}
	p.committed = l
	return l
}

// saveAtRest stores by itself which entries are committed while no entries follow, until the context ends.
func (p *Peer) saveAtRest(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if p.committed != nil && p.committed.rests() {
			p.saveCommitted()
		}
	}
}

// saveCommitted stores which entries are committed.
func (p *Peer) saveCommitted() {
	if p.committed == nil {
		return
	}
	if err := p.committed.save(p.watched); err != nil {
		p.log.Error("committed_index_not_stored", "err", err, "remedy", "look at the disk of the data folder: this peer ends if it fails")
	}
}

// leads reports whether raft has notified this peer that it leads.
func (p *Peer) leads() bool { return p.tenure.leads.Load() }

// heed acts on the watchdog's verdict. While the disk hangs, raft's main goroutine does too, so the peer
// gives up leadership by silence: the others elect.
func (p *Peer) heed(v raftstore.Verdict) {
	switch v.Action {
	case raftstore.Calm:
		p.wire.transport.silence(false)
	case raftstore.HandOver:
		p.log.Warn("silencing this peer so that another leads", "reason", v.Reason)
		p.wire.transport.silence(true)
	case raftstore.Exit:
		p.wire.transport.silence(true)
		p.halt(fmt.Errorf("the disk: %s", v.Reason))
	}
}

// guardHealth looks each second for problems that the library does not detect itself.
func (p *Peer) guardHealth(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	stuck := 0
	var gave time.Time
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		gave = p.checkSpace(ctx, gave)
		p.checkDigest()
		p.checkClock(ctx)
		p.checkProgress(ctx)
		stuck = p.checkTransfer(stuck)
	}
}

// spaceAgain is how long a peer that gave leadership away for lack of space keeps it if leadership comes
// back: where all disks are nearly full, leadership must not go round.
const spaceAgain = time.Minute

// checkSpace refuses user commands before the disk is full, and hands leadership to a peer with more space.
// It takes and returns when this peer last gave leadership away.
func (p *Peer) checkSpace(ctx context.Context, gave time.Time) time.Time {
	if p.cfg.Stores.Space == nil {
		return gave
	}
	space, err := p.cfg.Stores.Space()
	low := err == nil && space.Low()
	if p.mates.setLow(low) && low {
		p.log.Error("disk nearly full: user commands are refused", "free_bytes", space.Free)
	}
	if low && p.leads() && time.Since(gave) >= spaceAgain {
		p.handOver(ctx, "the disk is nearly full")
		return time.Now()
	}
	return gave
}

// stuckTransfer is how many seconds a leader may refuse everything because of a leadership transfer; an
// interrupted one can leave it so for ever (hashicorp/raft#696).
const stuckTransfer = 5

func (p *Peer) checkTransfer(stuck int) int {
	if !p.leads() || !p.mates.refusing() {
		return 0
	}
	if stuck++; stuck > stuckTransfer {
		p.halt(errors.New("raft refuses every command because of a leadership transfer that has ended: restart"))
	}
	return stuck
}

// handOver hands leadership to another peer, if one can take it.
func (p *Peer) handOver(ctx context.Context, why string) {
	if len(p.Status().Servers) < 2 {
		return
	}
	p.log.Warn("handing leadership over", "reason", why)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := p.Transfer(ctx, ""); err != nil {
		p.log.Warn("cannot hand leadership over", "err", err)
	}
}

var errMuffled = errors.New("this peer keeps silent: its disk hangs, or it is ending")

// muffled is raft's transport with a switch for silence.
type muffled struct {
	*raftnet.Transport
	quiet atomic.Bool
}

func (m *muffled) silence(on bool) { m.quiet.Store(on) }

func (m *muffled) AppendEntries(id raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest,
	r *raft.AppendEntriesResponse,
) error {
	if m.quiet.Load() {
		return errMuffled
	}
	return m.Transport.AppendEntries(id, to, q, r)
}

func (m *muffled) RequestVote(id raft.ServerID, to raft.ServerAddress, q *raft.RequestVoteRequest, r *raft.RequestVoteResponse) error {
	if m.quiet.Load() {
		return errMuffled
	}
	return m.Transport.RequestVote(id, to, q, r)
}

func (m *muffled) RequestPreVote(id raft.ServerID, to raft.ServerAddress, q *raft.RequestPreVoteRequest,
	r *raft.RequestPreVoteResponse,
) error {
	if m.quiet.Load() {
		return errMuffled
	}
	return m.Transport.RequestPreVote(id, to, q, r)
}

func (m *muffled) InstallSnapshot(id raft.ServerID, to raft.ServerAddress, q *raft.InstallSnapshotRequest, r *raft.InstallSnapshotResponse,
	data io.Reader,
) error {
	if m.quiet.Load() {
		return errMuffled
	}
	return m.Transport.InstallSnapshot(id, to, q, r, data)
}

func (m *muffled) TimeoutNow(id raft.ServerID, to raft.ServerAddress, q *raft.TimeoutNowRequest, r *raft.TimeoutNowResponse) error {
	if m.quiet.Load() {
		return errMuffled
	}
	return m.Transport.TimeoutNow(id, to, q, r)
}
