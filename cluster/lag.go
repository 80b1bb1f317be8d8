package cluster

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/state"
)

// Lag returns how far this peer's state is behind the cluster's.
func (p *Peer) Lag() peer.Lag {
	l := peer.Lag{Known: p.settled.Load()}
	if committed, applied := p.raft.CommitIndex(), p.raft.AppliedIndex(); committed > applied {
		l.Entries = committed - applied
	}
	// The index of a state is that of a command and so comparable with another state's only: entries of
	// Raft's own change no state.
	if theirs, ours := p.mates.furthest(p.cfg.Clock.Boot()), p.fsm.State().Index; theirs > ours {
		l.Entries = max(l.Entries, theirs-ours)
	}
	return l
}

// caughtUp returns the state, and whether it has caught up.
func (p *Peer) caughtUp() (state.State, bool) { return p.State(), p.Lag().CaughtUp() }

// settlePause is how long settle waits before it asks again.
const settlePause = 20 * time.Millisecond

// settle waits until this peer has reached an index of the leader's once, see [Lag].
func (p *Peer) settle(ctx context.Context) {
	for !p.settled.Load() {
		if p.folders.open.Load() {
			limited, cancel := context.WithTimeout(ctx, time.Minute)
			_, err := p.Read(limited, peer.Linearizable, 0)
			cancel()
			if err == nil {
				return
			}
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return
		}
	}
}
