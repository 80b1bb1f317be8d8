package apitest

import (
	"context"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/state"
)

// CatchingUp is a peer whose state is old unless the newest is asked for.
type CatchingUp struct{ Behind }

// Read returns the newest state if that is asked for, and the old one otherwise.
func (c *CatchingUp) Read(ctx context.Context, level peer.Consistency) (state.State, error) {
	if level == peer.Linearizable {
		return c.Peer.Read(ctx, level)
	}
	return c.Old, nil
}

// Behind is a peer whose state is old until a newer one is asked for.
type Behind struct {
	*Peer
	Old state.State
}

// State returns the old state.
func (b *Behind) State() state.State { return b.Old }
