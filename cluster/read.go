package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Read returns a state of the given consistency and at least the given index. It waits for this peer to catch
// up until the context ends, then fails with ErrBehind; with ErrNoLeader if it has waited for a leader.
func (p *Peer) Read(ctx context.Context, c peer.Consistency, atLeast uint64) (state.State, error) {
	switch c {
	case peer.Stale:
	case peer.Default:
		atLeast = max(atLeast, p.seen.Load())
		if lag := p.Lag(); !lag.CaughtUp() && p.folders.open.Load() {
			index, err := newestIndex(ctx, p)
			if err != nil {
				return state.State{}, fmt.Errorf("%w: %s (%w)", peer.ErrBehind, lag.Why(), err)
			}
			atLeast = max(atLeast, index)
		}
	case peer.Linearizable:
		index, err := newestIndex(ctx, p)
		if err != nil {
			return state.State{}, err
		}
		atLeast = max(atLeast, index)
	}
	if !p.cfg.Tests.NoFloor {
		atLeast = max(atLeast, p.fsm.Floor())
	}
	select {
	case <-p.fsm.Reached(atLeast):
		s := p.fsm.State()
		p.Saw(s.Index)
		if c == peer.Linearizable {
			p.settled.Store(true)
		}
		return s, nil
	case <-ctx.Done():
		return state.State{}, fmt.Errorf("%w: at %d, wanted %d", peer.ErrBehind, p.fsm.State().Index, atLeast)
	case <-p.life.ctx.Done():
		return state.State{}, peer.ErrClosed
	}
}

// leaderPause is how long a read waits before it looks for a leader again.
const leaderPause = 20 * time.Millisecond

// newestIndex retries readIndex until it succeeds or the context ends. A read may be tried again whatever the
// outcome of its barrier.
func newestIndex(ctx context.Context, p *Peer) (uint64, error) {
	for {
		index, err := p.readIndex(ctx)
		if !errors.Is(err, peer.ErrNoLeader) && !errors.Is(err, peer.ErrOutcomeUnknown) {
			return index, err
		}
		select {
		case <-time.After(leaderPause):
		case <-ctx.Done():
			return 0, err
		case <-p.life.ctx.Done():
			return 0, peer.ErrClosed
		}
	}
}

// readIndex returns an index at which the state holds everything acknowledged before the call: the leader
// commits a barrier, a follower asks the leader.
func (p *Peer) readIndex(ctx context.Context) (uint64, error) {
	if p.raft.State() == raft.Leader {
		return p.reads.wait(ctx, struct{}{})
	}
	address, id := p.raft.LeaderWithID()
	if id == "" {
		return 0, peer.ErrNoLeader
	}
	return p.askReadIndex(ctx, peer.Server{ID: model.PeerID(id), Address: string(address)})
}

// barrier commits an entry that does nothing, one for all reads that wait. When it has been applied here, so has
// everything before it. raft's VerifyLeader would be cheaper, but counts acknowledgements that were sent before the
// read began, and so lets a deposed leader whose timers stood still read the past.
func (p *Peer) barrier(_ context.Context, reads []struct{}) ([]uint64, error) {
	if err := p.raft.Barrier(enqueueTimeout).Error(); err != nil {
		return nil, translate(err)
	}
	return slices.Repeat([]uint64{p.fsm.State().Index}, len(reads)), nil
}

// atOnce is the time of a batch that takes what waits already.
func atOnce(struct{}) time.Duration { return 0 }
