package agent_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
)

// mark returns the lease that supervisors get.
func (h *host) mark(t testing.TB) (m struct{ Start, Away time.Duration }) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.run, "*", "lease"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	if err := smallfile.Read(paths[0], &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// When no peer leads, running ranks may run on; while one may, and when the answering peers are not the
// voters that the last leader named, they may not.
func TestNobodyLeads(t *testing.T) {
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	h.start(t)
	c.running(t, c.submit(t, sleeper))
	c.cut(true)
	asked := 0
	say := func(silent func(model.PeerID) time.Duration, by []model.PeerID) {
		c.mu.Lock()
		defer c.mu.Unlock()
		asked = 0
		c.silence = func(p model.PeerID) *agentwire.Silence {
			asked++
			return &agentwire.Silence{Peer: p, For: silent(p), Voters: by}
		}
	}
	often := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return asked >= 9
	}
	minute := func(model.PeerID) time.Duration { return time.Minute }
	for name, v := range map[string]struct {
		silent func(model.PeerID) time.Duration
		voters []model.PeerID
	}{
		"one peer is silent": {func(p model.PeerID) time.Duration {
			if p == "p1" {
				return time.Minute
			}
			return 0
		}, voters()},
		"all are, for a moment":   {func(model.PeerID) time.Duration { return time.Second }, voters()},
		"of another cluster size": {minute, slices.Concat(voters(), []model.PeerID{"p4", "p5"})},
	} {
		say(v.silent, v.voters)
		holds(t, "the peers asked three times", often)
		if m := h.mark(t); m.Away != 0 {
			t.Fatalf("%s: what runs may run on from %s", name, m.Away)
		}
	}
	say(minute, voters())
	holds(t, "what runs to run on", func() bool { m := h.mark(t); return m.Away > m.Start })
	c.cut(false)
	before := h.mark(t).Start
	holds(t, "the lease renewed", func() bool { return h.mark(t).Start > before })
}
