package upgrade

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

const day = 24 * time.Hour

// three returns a cluster at level 4 whose peers know these levels since 1, 2 and 3 hours after the epoch.
func three(levels ...uint32) Cluster {
	c := Cluster{Level: 4, Now: model.Time(10 * time.Hour)}
	for i, level := range levels {
		c.Peers = append(c.Peers, Peer{
			ID: model.PeerID("p" + string(rune('1'+i))), Level: level, Heard: true, Settled: true, CaughtUp: true, Votes: true, Leads: i == 0,
			Since: model.Time((i + 1) * int(time.Hour)), Hold: day,
		})
	}
	return c
}

// The hold begins when the last peer was upgraded, is as long as the longest of the peers' settings, and has no end while a peer does
// not report when it was upgraded.
func TestHold(t *testing.T) {
	t.Parallel()
	if c := three(5, 5, 4); c.Held().Next != 0 || c.Held().Over(c.Now) {
		t.Errorf("with an old peer: %+v", c.Held())
	}
	c := three(5, 5, 5)
	end := model.Time(3 * time.Hour).Add(day)
	h := c.Held()
	if h.Next != 5 || h.Until != end || h.Over(end-1) || !h.Over(end) {
		t.Errorf("the hold is %+v, want it to end at %d", h, end)
	}
	c.Peers[0].Hold = 2 * day
	if h := c.Held(); h.Until != model.Time(3*time.Hour).Add(2*day) {
		t.Errorf("with a longer setting of one peer, it is %+v", h)
	}
	for i := range c.Peers {
		c.Peers[i].Hold = 0
	}
	if !c.Held().Over(c.Now) {
		t.Errorf("without a hold, it is %+v", c.Held())
	}
	for _, unknown := range []func(*Peer){func(p *Peer) { p.Heard = false }, func(p *Peer) { p.Settled = false }} {
		c := three(5, 5, 5)
		unknown(&c.Peers[1])
		if h := c.Held(); h.Over(end.Add(100*day)) || !slices.Equal(h.Silent, []model.PeerID{"p2"}) {
			t.Errorf("with a silent peer, it is %+v", h)
		}
	}
	c = three(5, 5, 5)
	c.Peers[2].Since = 0 // it has joined with this program
	if h := c.Held(); h.Until != model.Time(2*time.Hour).Add(day) {
		t.Errorf("a peer that joins makes it %+v", h)
	}
	c.Level = 5
	if h := c.Held(); h.Next != 0 {
		t.Errorf("at the newest level there is %+v", h)
	}
}

// An operator raises the level once every peer is up and knows it.
func TestBlockers(t *testing.T) {
	t.Parallel()
	c := three(5, 5, 5)
	if to, why := c.Blockers(); to != 5 || len(why) != 0 {
		t.Errorf("to %d, blocked by %q", to, why)
	}
	c.Peers[1].Heard = false
	c.Peers[2].Level, c.Peers[2].Version = 4, "v1.2.0"
	to, why := c.Blockers()
	if to != 5 || len(why) != 2 || !strings.Contains(why[0], "peer p2 is not up") || !strings.Contains(why[1], "peer p3 runs version v1.2.0, which knows feature levels up to 4") {
		t.Errorf("to %d, blocked by %q", to, why)
	}
	c = three(4, 4, 4)
	c.Peers[1].Heard = false
	if to, why := c.Blockers(); to != 0 || len(why) != 0 {
		t.Errorf("without anything to raise: to %d, blocked by %q", to, why)
	}
}

// A peer may restart while all other voters are up and have caught up.
func TestMayRestart(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Cluster){
		"":                     func(*Cluster) {},
		"p3 is not up":         func(c *Cluster) { c.Peers[2].Heard = false },
		"p2 is not up":         func(c *Cluster) { c.Peers[1].Ago = 3 * time.Second },
		"p2 has not caught up": func(c *Cluster) { c.Peers[1].CaughtUp = false },
		"there is no peer p1":  func(c *Cluster) { c.Peers = c.Peers[1:] },
	} {
		c := three(5, 4, 4)
		change(&c)
		if why := c.MayRestart("p1", 2*time.Second); !strings.Contains(why, want) || want == "" && why != "" {
			t.Errorf("refused because of %q, want %q", why, want)
		}
	}
	c := three(5, 4, 4)
	c.Peers[2].Votes, c.Peers[2].Heard = false, false
	c.Peers[0].Heard = false // itself
	if why := c.MayRestart("p1", time.Second); why != "" {
		t.Errorf("a peer without a vote, and itself, count: %q", why)
	}
}

// Followers come first and the leader last.
func TestOrder(t *testing.T) {
	t.Parallel()
	c := three(4, 4, 4)
	if ids := c.Order(func(Peer) bool { return true }); !slices.Equal(ids, []model.PeerID{"p2", "p3", "p1"}) {
		t.Errorf("the order is %v", ids)
	}
	if ids := c.Order(func(p Peer) bool { return p.ID == "p1" }); !slices.Equal(ids, []model.PeerID{"p1"}) {
		t.Errorf("the order is %v", ids)
	}
}

// Versions compare by their numbers; what is no version of a release is neither older nor at a distance.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		a, b   string
		older  bool
		minors int
		known  bool
	}{
		{"v1.2.3", "v1.2.4", true, 0, true},
		{"v1.9.0", "v1.10.0", true, 1, true},
		{"v1.4.0", "v1.2.9", false, 2, true},
		{"v1.2.0-rc1", "v1.2.0", true, 0, true},
		{"v1.2.0", "v1.2.0-rc1", false, 0, true},
		{"v0.3.0", "v0.1.0", false, 2, true},
		{"v1.9.0", "v2.0.0", true, 0, false},
		{"v0.0.0-20261125000000-87e5f0770000", "v0.0.0-20261126000000-0123456789ab", true, 0, false},
		{"v1.2.0+dirty", "v1.2.0", false, 0, true},
		{"devel", "v1.0.0", false, 0, false},
		{"v1.0.0", "", false, 0, false},
		{"v1.0", "v1.1.x", false, 0, false},
	} {
		if got := Older(v.a, v.b); got != v.older {
			t.Errorf("%q older than %q: %v", v.a, v.b, got)
		}
		if minors, known := Apart(v.a, v.b); minors != v.minors || known != v.known {
			t.Errorf("%q and %q are %d apart, %v", v.a, v.b, minors, known)
		}
	}
}
