package sim

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node/fence"
)

const (
	askEvery = time.Second
	askAfter = 3 * renewEvery // without an accepted renewal, agents ask whether there is a leader
)

// inquiry is an agent's knowledge of whether there is a leader.
type inquiry struct {
	fence.Inquiry

	next  time.Time
	heard time.Time // when a renewal was last accepted
}

// inquire asks every peer for how long it has heard no leader, when the agent itself has heard none for a while.
func (a *agent) inquire(now fence.Boot) {
	q := &a.inquiry
	if !a.h.w.Away || !q.Ready() || time.Since(q.heard) < askAfter || time.Now().Before(q.next) {
		return
	}
	q.next = time.Now().Add(askEvery)
	for _, address := range a.peers {
		call := func(ctx context.Context) (*agentwire.Silence, error) { return a.calls.Silence(ctx, address) }
		ask(a, patience, call, func(v *agentwire.Silence) { a.learn(now, v) }, func() {})
	}
}

// learn takes a peer's answer to a question sent then. If the answers prove that there was no leader, running ranks may run on.
func (a *agent) learn(sent fence.Boot, v *agentwire.Silence) {
	at, found := a.inquiry.Learn(fence.Answer{
		Peer: v.Peer, Members: v.Voters, Sent: sent, Answered: a.h.clock.reading().Boot, Silent: v.For,
	})
	if found {
		a.disk.run.setAway(at)
	}
}
