package members_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// upgrading returns a site at level 1 whose peers p1 and p2 have been upgraded, and p3, which leads, has not.
func upgrading(t *testing.T) *apitest.Site {
	t.Helper()
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 1).Register(func(r *command.Register) { r.Version = "v1.0.4" })
		for _, id := range []model.PeerID{"p1", "p2", "p3"} {
			c.Do(&command.SetPeer{Peer: model.Peer{ID: id, Level: 2}})
		}
	})
	s.Know(func(c *upgrade.Cluster) {
		c.Level, c.Peers[0].Leads = 1, false
		c.Peers[0].Level, c.Peers[1].Level = 2, 2
		c.Peers = append(c.Peers, upgrade.Peer{ID: "p3", Level: 1, Version: "v1.0.4", Heard: true, CaughtUp: true, Votes: true, Leads: true})
		for i := range c.Peers[:2] {
			c.Peers[i].Since, c.Peers[i].Hold = c.Now, 24*time.Hour
		}
	})
	return s
}

func namesOf(list []wire.Member) (out []string) {
	for _, m := range list {
		out = append(out, m.Name)
	}
	return out
}

// The answer has the order of the upgrade, what may be done with each member, and the hold.
func TestUpgradeCheck(t *testing.T) {
	t.Parallel()
	s := upgrading(t)
	var got wire.Upgrade
	s.Do(http.MethodGet, "/cluster/upgrade", "").Into(&got)
	if got.Level != 1 || got.Newest != 2 || got.Version != "v1.1.0" || got.Voters != 3 || got.Tolerates != 1 || got.Hold != nil {
		t.Errorf("the answer is %+v", got)
	}
	if next := namesOf(got.Next); !slices.Equal(next, []string{"p3", "n1"}) {
		t.Errorf("next are %v", next)
	}
	if len(got.Members) != 4 || !got.Members[0].Back || got.Members[2].Back || !got.Members[2].Old || !got.Members[2].Restart ||
		len(got.Broken) != 0 {
		t.Errorf("members %+v, broken rules %q", got.Members, got.Broken)
	}
	if len(got.Blockers) != 1 || !strings.Contains(got.Blockers[0], "peer p3 runs version v1.0.4") {
		t.Errorf("blocked by %q", got.Blockers)
	}
	s.Know(func(c *upgrade.Cluster) {
		c.Peers[2] = upgrade.Peer{
			ID: "p3", Level: 2, Version: "v1.1.0", Heard: true, CaughtUp: true, Votes: true, Settled: true,
			Since: c.Now.Add(-time.Hour), Hold: 24 * time.Hour,
		}
		c.Peers[0].Heard = false
	})
	s.Do(http.MethodGet, "/cluster/upgrade", "").Into(&got)
	if got.Hold == nil || got.Hold.Next != 2 || got.Hold.Seconds != (24*time.Hour).Seconds() || !slices.Equal(got.Hold.Silent, []string{"p1"}) {
		t.Errorf("the hold is %+v", got.Hold)
	}
	if got.Tolerates != 0 || got.Members[1].Restart || !strings.Contains(got.Members[1].Waits, "p1 is not up") {
		t.Errorf("with a peer down: %+v", got)
	}
}

// Peers may be one minor release and one level apart, agents two minor releases.
func TestRulesOfUpgrades(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*upgrade.Cluster){
		"peer p3 runs v1.0.4 (level 1) and peer p1 v1.2.0 (level 2)": func(c *upgrade.Cluster) { c.Peers[0].Version, c.Peers[1].Version = "v1.2.0", "v1.2.0" },
		"peer p3 runs v1.0.4 (level 1) and peer p1 v1.1.0 (level 3)": func(c *upgrade.Cluster) { c.Peers[0].Level = 3 },
		"the agent of node n1 runs v1.0.4 and peer p1 v1.3.0": func(c *upgrade.Cluster) {
			for i := range c.Peers {
				c.Peers[i].Version = "v1.3.0"
			}
		},
	} {
		s := upgrading(t)
		s.Know(change)
		var got wire.Upgrade
		s.Do(http.MethodGet, "/cluster/upgrade", "").Into(&got)
		if !strings.Contains(strings.Join(got.Broken, "\n"), want) {
			t.Errorf("broken are %q, want %q", got.Broken, want)
		}
	}
}

// The level is raised once every peer is up and knows it.
func TestFinalize(t *testing.T) {
	t.Parallel()
	s := upgrading(t)
	got := s.Do(http.MethodPost, "/cluster/upgrade/finalize", "")
	if got.Status != http.StatusConflict || !strings.Contains(string(got.Body), "peer p3 runs version v1.0.4, which knows feature levels up to 1: upgrade it first") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	s.Know(func(c *upgrade.Cluster) { c.Peers[2].Level = 2 })
	var done wire.Gone
	s.Do(http.MethodPost, "/cluster/upgrade/finalize", "").Into(&done)
	if !strings.Contains(done.Message, "the feature level is 2") {
		t.Errorf("%+v", done)
	}
	s.Know(func(c *upgrade.Cluster) { c.Level = 2 })
	s.Do(http.MethodPost, "/cluster/upgrade/finalize", "").Into(&done)
	if !strings.Contains(done.Message, "nothing is to be raised") {
		t.Errorf("%+v", done)
	}
}

// One peer at a time gets the lock for restarts.
func TestLockRestart(t *testing.T) {
	t.Parallel()
	s := upgrading(t)
	lock := func(peer, key, want string) {
		t.Helper()
		got := s.Do(http.MethodPost, "/cluster/upgrade/lock", `{"peer":"`+peer+`","key":"`+key+`"}`)
		if (got.Status == http.StatusOK) != (want == "") || !strings.Contains(string(got.Body), want) {
			t.Errorf("the lock for %s: %d %s, want %q", peer, got.Status, got.Body, want)
		}
	}
	lock("p9", "a", "there is no peer p9")
	s.Know(func(c *upgrade.Cluster) {
		c.Peers = append(c.Peers, upgrade.Peer{ID: "p4", Heard: true, CaughtUp: true})
	})
	lock("p4", "a", "the cluster has not recorded it yet")
	lock("p1", "a", "")
	lock("p1", "a", "")
	lock("p2", "b", "peer p1 restarts: wait until it is back")
	lock("p1", "b", "peer p1 restarts: wait until it is back")
	var got wire.Upgrade
	if s.Do(http.MethodGet, "/cluster/upgrade", "").Into(&got); got.Restart == nil || got.Restart.Peer != "p1" {
		t.Errorf("%+v has the lock", got.Restart)
	}
	s.Do(http.MethodPost, "/cluster/upgrade/unlock", `{"peer":"p1","key":"b"}`).Into(&wire.Gone{})
	lock("p2", "b", "peer p1 restarts")
	s.Do(http.MethodPost, "/cluster/upgrade/unlock", `{"peer":"p1","key":"a"}`).Into(&wire.Gone{})
	lock("p2", "b", "")
	s.Do(http.MethodPost, "/cluster/upgrade/unlock", `{"peer":"p2","key":"b"}`).Into(&wire.Gone{})
	s.Know(func(c *upgrade.Cluster) { c.Peers[2].CaughtUp = false })
	lock("p2", "b", "peer p2 must not be restarted now: of the other peers, p3 has not caught up")
	s.Know(func(c *upgrade.Cluster) { c.Peers[2].CaughtUp = true })
	lock("p2", "b", "")
}
