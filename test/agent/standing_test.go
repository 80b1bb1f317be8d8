package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node"
)

// The standing of an agent has its ranks, since when no peer answers, how long leases last, and that no peer leads; an
// agent that has ended does not answer.
func TestTheStandingOfAnAgent(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	stop := h.start(t)
	ask := func() node.Standing {
		s, err := h.agent.Standing(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := ask(); s != (node.Standing{}) {
		t.Errorf("at first: %+v", s)
	}
	c.running(t, c.submit(t, sleeper))
	holds(t, "a rank under a lease", func() bool { s := ask(); return s.Ranks == 1 && s.Left > 0 && s.Silent == 0 })
	c.cut(true)
	holds(t, "out of contact", func() bool { s := ask(); return s.Silent >= 6*time.Second && s.Left > 0 && !s.Leaderless })
	before := ask().Left
	holds(t, "less of the lease is left", func() bool { return ask().Left < before })
	c.mu.Lock()
	c.silence = func(p model.PeerID) *agentwire.Silence {
		return &agentwire.Silence{Peer: p, For: time.Minute, Voters: voters()}
	}
	c.mu.Unlock()
	holds(t, "no peer leads", func() bool { return ask().Leaderless })
	stop()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := h.agent.Standing(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %+v, %v", s, err)
	}
}
