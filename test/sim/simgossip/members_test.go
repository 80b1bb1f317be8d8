//berth:bubble

package simgossip_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/gossip"
)

func TestThirtyConvergeFromTwoSeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 30)
		defer w.end()
		w.converge(2 * time.Minute)
		m := see(w.members[29], name(3))
		want := gossip.Member{Name: name(3), Addr: addr(3), Meta: config(3).Meta, State: gossip.StateAlive, Since: m.Since}
		if m != want {
			t.Errorf("got %+v, want %+v", m, want)
		}
	})
}

// Members that know each other keep their connections: in a small cluster nothing but the exchanges of lists opens any.
func TestConnectionsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 13)
		defer w.end()
		w.converge(2 * time.Minute)
		time.Sleep(time.Minute)
		w.mu.Lock()
		before := w.dials
		w.mu.Unlock()
		const minutes = 10
		time.Sleep(minutes * time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if each := float64(w.dials-before) / 13 / minutes; each > 4 {
			t.Errorf("each member opens %.1f connections a minute", each)
		}
	})
}

func TestCutMemberIsHintedSilentAndReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 30)
		defer w.end()
		w.converge(2 * time.Minute)
		w.split(0, 29, 29, 30)
		w.within(40*time.Second, "n29 is silent", w.members[:29], func(g *gossip.Gossip) bool {
			return see(g, name(29)).State == gossip.StateSilent
		})
		time.Sleep(3 * time.Minute) // memberlist has long forgotten the other side
		w.net.HealAll()
		w.converge(2 * time.Minute)
	})
}

// Neither half is alone here, and no member has seeds.
func TestHalvesFindEachOtherAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 0)
		defer w.end()
		for i := range 6 {
			g := w.start(i, func(c *gossip.Config) { c.Seeds = nil })
			w.members = append(w.members, g)
			if n, err := g.Join(t.Context(), []string{addr(0).String()}); n != 1 {
				t.Fatal(err)
			}
		}
		w.converge(2 * time.Minute)
		w.split(0, 3, 3, 6)
		w.within(time.Minute, "other half is silent", w.members, func(g *gossip.Gossip) bool {
			return count(g, gossip.StateSilent) == 3
		})
		time.Sleep(3 * time.Minute)
		w.net.HealAll()
		w.converge(2 * time.Minute)
	})
}

func TestOneWayCutIsNoDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 5)
		defer w.end()
		w.converge(2 * time.Minute)
		w.net.Cut(host(2), host(3))
		for range 60 {
			time.Sleep(time.Second)
			for _, g := range w.members {
				if n := count(g, gossip.StateAlive); n != 5 {
					t.Fatalf("one of 20 directions cut, yet %s sees %d of 5 alive", g.Addr(), n)
				}
			}
		}
	})
}

func TestLeaveIsToldFromCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 5)
		defer w.end()
		w.converge(2 * time.Minute)
		crashed, left := w.members[3], w.members[4]
		if err := left.Leave(5 * time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := left.Join(t.Context(), nil); !errors.Is(err, gossip.ErrStopped) {
			t.Errorf("Join after Leave: %v, want ErrStopped", err)
		}
		for _, g := range []*gossip.Gossip{crashed, left} {
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		w.within(time.Minute, "n04 left, n03 silent", w.members[:3], func(g *gossip.Gossip) bool {
			return see(g, name(4)).State == gossip.StateLeft && see(g, name(3)).State == gossip.StateSilent
		})
		time.Sleep(70 * time.Minute)
		if got := see(w.members[0], name(4)); got.Name != "" {
			t.Errorf("departed member is still listed after an hour: %+v", got)
		}
		if got := see(w.members[0], name(3)); got.State != gossip.StateSilent {
			t.Errorf("silent member after an hour: %+v", got)
		}
	})
}

func TestMemberReturnsUnderItsName(t *testing.T) {
	for name, end := range map[string]func(*gossip.Gossip) error{
		"after a crash": (*gossip.Gossip).Close,
		"after leaving": func(g *gossip.Gossip) error {
			return errors.Join(g.Leave(5*time.Second), g.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 5)
				defer w.end()
				w.converge(2 * time.Minute)
				if err := end(w.members[0]); err != nil { // a seed, too
					t.Fatal(err)
				}
				w.members[0] = w.start(0, nil)
				w.converge(2 * time.Minute)
			})
		})
	}
}

func TestFirstHolderKeepsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		defer w.end()
		w.converge(2 * time.Minute)
		var log lockedBuffer
		second := w.start(3, func(c *gossip.Config) {
			c.Meta.Kind, c.Meta.ID = kind(2), "n02"
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		w.members = append(w.members, second)
		time.Sleep(30 * time.Second)
		for _, g := range w.members[:3] {
			if m := see(g, name(2)); m.Addr != addr(2) || m.State != gossip.StateAlive {
				t.Errorf("first holder was replaced: %+v", m)
			}
		}
		if !strings.Contains(log.String(), "two members claim one name") {
			t.Errorf("no clear line in the log:\n%s", log.String())
		}
	})
}

func TestJoinEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		defer w.end()
		w.net.Isolate(host(9))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := w.members[0].Join(ctx, []string{addr(9).String()})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Join returned %v after %v", err, time.Since(start))
		}
	})
}
