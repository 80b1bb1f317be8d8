package cluster

import (
	"context"
	"fmt"
	"time"
)

// Lag is how far a peer's state is behind what the cluster has committed.
type Lag struct {
	// Known reports whether the state has reached, since the process began, an index at which it held
	// everything that was acknowledged before: only then does a restarted or joining peer know the cluster's
	// index.
	Known   bool
	Entries uint64 // that the state lacks, by what the other peers reported in the last 5 s
}

// CaughtUp reports whether a peer may answer for the cluster, by the only criterion for that: the peer has
// been as new as the cluster once since its process began, and lacks at most [closeEnough] entries now. A
// peer that has not caught up is not ready (GET /readyz), and its default reads wait as linearizable ones do
// and fail with [ErrBehind]: so no peer answers "not found" for an entry that it still lacks.
func (l Lag) CaughtUp() bool { return l.Known && l.Entries <= closeEnough }

// Why returns why a peer has not caught up; empty if it has.
func (l Lag) Why() string {
	switch {
	case l.CaughtUp():
		return ""
	case l.Entries > 0:
		return fmt.Sprintf("this peer's state lacks %d entries of the cluster's log: it answers once it has caught up", l.Entries)
	}
	return "this peer has not yet reached the state that the cluster had when the peer started: it answers once it has"
}

// Lag returns how far this peer's state is behind the cluster's.
func (p *Peer) Lag() Lag {
	l := Lag{Known: p.settled.Load()}
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

// settlePause is how long settle waits before it asks again.
const settlePause = 20 * time.Millisecond

// settle waits until this peer has reached an index of the leader's once, see [Lag].
func (p *Peer) settle(ctx context.Context) {
	for !p.settled.Load() {
		if p.folders.open.Load() {
			limited, cancel := context.WithTimeout(ctx, time.Minute)
			_, err := p.Read(limited, Linearizable, 0)
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
