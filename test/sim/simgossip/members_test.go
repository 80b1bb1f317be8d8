//berth:bubble

package simgossip_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/gossip"
	"github.com/berth-gpu/berth/test/sim/simgossip"
)

// settle is longer than any deadline in memberlist: what still runs after it
// is a leak, on which the end of the bubble fails.
const settle = 15 * time.Second

var lan = simgossip.Link{Latency: 300 * time.Microsecond, Jitter: 700 * time.Microsecond, Loss: 0.01}

func addr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i / 200), byte(i%200 + 1)}), 7946)
}

// world is some members on one network.
type world struct {
	t       *testing.T
	links   *simgossip.Links
	net     *simgossip.Network
	members []*gossip.Gossip
}

func newWorld(t *testing.T, n int) *world {
	w := &world{t: t, links: new(simgossip.Links)}
	w.links.SetAll(lan)
	w.net = simgossip.New(1, w.links.Between)
	for i := range n {
		w.members = append(w.members, w.start(i, nil))
	}
	return w
}

func config(i int) gossip.Config {
	return gossip.Config{
		Name:  fmt.Sprintf("n%02d", i),
		Meta:  gossip.Meta{Kind: gossip.KindNode, ID: fmt.Sprint("id-", i)},
		Keys:  [][]byte{bytes.Repeat([]byte{7}, 32)},
		Label: "sim",
		Seeds: []string{addr(0).String(), addr(1).String()},
	}
}

func (w *world) start(i int, change func(*gossip.Config)) *gossip.Gossip {
	w.t.Helper()
	cfg := config(i)
	transport, err := w.net.Listen(addr(i))
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.Transport = transport
	if change != nil {
		change(&cfg)
	}
	g, err := gossip.Start(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// end closes all members and lets the last deadlines pass.
func (w *world) end() {
	for _, g := range w.members {
		if err := g.Close(); err != nil {
			w.t.Error(err)
		}
	}
	time.Sleep(settle)
}

// count returns how many members g sees in a state.
func count(g *gossip.Gossip, s gossip.State) int {
	n := 0
	for _, m := range g.Members() {
		if m.State == s {
			n++
		}
	}
	return n
}

func see(g *gossip.Gossip, name string) gossip.Member {
	for _, m := range g.Members() {
		if m.Name == name {
			return m
		}
	}
	return gossip.Member{}
}

// within waits until what holds for every given member, for at most d.
func (w *world) within(d time.Duration, what string, of []*gossip.Gossip, holds func(*gossip.Gossip) bool) {
	w.t.Helper()
	last := 0 // the member of which it did not hold: with many members a look at all of them is dear
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		synctest.Wait()
		i := last
		for holds(of[i]) {
			if i = (i + 1) % len(of); i == last {
				return
			}
		}
		if last = i; time.Since(start) > d {
			w.t.Fatalf("after %v not yet %q on %s, which sees %+v", d, what, of[i].Addr(), of[i].Members())
		}
	}
}

func (w *world) converge(d time.Duration) {
	w.t.Helper()
	w.within(d, "all alive", w.members, func(g *gossip.Gossip) bool {
		return count(g, gossip.StateAlive) == len(w.members)
	})
}

func TestThirtyConvergeFromTwoSeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 30)
		defer w.end()
		w.converge(2 * time.Minute)
		m := see(w.members[29], "n03")
		want := gossip.Member{Name: "n03", Addr: addr(3), Meta: config(3).Meta, State: gossip.StateAlive, Since: m.Since}
		if m != want {
			t.Errorf("got %+v, want %+v", m, want)
		}
	})
}

func TestCutMemberIsHintedSilentAndReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 30)
		defer w.end()
		w.converge(2 * time.Minute)
		var rest []netip.AddrPort
		for i := range 29 {
			rest = append(rest, addr(i))
		}
		w.links.Split(rest, []netip.AddrPort{addr(29)})
		w.within(40*time.Second, "n29 is silent", w.members[:29], func(g *gossip.Gossip) bool {
			return see(g, "n29").State == gossip.StateSilent
		})
		time.Sleep(3 * time.Minute) // memberlist has long forgotten the other side
		w.links.SetAll(lan)
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
		w.links.Split(
			[]netip.AddrPort{addr(0), addr(1), addr(2)},
			[]netip.AddrPort{addr(3), addr(4), addr(5)},
		)
		w.within(time.Minute, "other half is silent", w.members, func(g *gossip.Gossip) bool {
			return count(g, gossip.StateSilent) == 3
		})
		time.Sleep(3 * time.Minute)
		w.links.SetAll(lan)
		w.converge(2 * time.Minute)
	})
}

func TestOneWayCutIsNoDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 5)
		defer w.end()
		w.converge(2 * time.Minute)
		w.links.Set(addr(2), addr(3), simgossip.Link{Cut: true})
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
		if err := left.SetMeta(config(4).Meta); !errors.Is(err, gossip.ErrStopped) {
			t.Errorf("SetMeta after Leave: %v, want ErrStopped", err)
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
			return see(g, "n04").State == gossip.StateLeft && see(g, "n03").State == gossip.StateSilent
		})
		time.Sleep(70 * time.Minute)
		if got := see(w.members[0], "n04"); got.Name != "" {
			t.Errorf("departed member is still listed after an hour: %+v", got)
		}
		if got := see(w.members[0], "n03"); got.State != gossip.StateSilent {
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

func TestMetaSpreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 30)
		defer w.end()
		w.converge(2 * time.Minute)
		next := config(5).Meta
		for level := range uint32(10) { // a burst: the last one counts
			next.Level = level
			if err := w.members[5].SetMeta(next); err != nil {
				t.Fatal(err)
			}
		}
		w.within(2*time.Minute, "new record seen", w.members, func(g *gossip.Gossip) bool {
			return see(g, "n05").Meta == next
		})
	})
}

func TestFirstHolderKeepsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		defer w.end()
		w.converge(2 * time.Minute)
		var log lockedBuffer
		second := w.start(3, func(c *gossip.Config) {
			c.Name = "n02"
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		w.members = append(w.members, second)
		time.Sleep(30 * time.Second)
		for _, g := range w.members[:3] {
			if m := see(g, "n02"); m.Addr != addr(2) || m.State != gossip.StateAlive {
				t.Errorf("first holder was replaced: %+v", m)
			}
		}
		if !strings.Contains(log.String(), "two members claim one name") {
			t.Errorf("no clear line in the log:\n%s", log.String())
		}
	})
}

func TestClustersDoNotMix(t *testing.T) {
	key := func(b byte) [][]byte { return [][]byte{bytes.Repeat([]byte{b}, 32)} }
	for name, change := range map[string]func(*gossip.Config){
		"label": func(c *gossip.Config) { c.Label = "other" },
		"key":   func(c *gossip.Config) { c.Keys = key(9) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 2)
				defer w.end()
				w.converge(2 * time.Minute)
				stranger := w.start(2, change)
				defer func() { _ = stranger.Close() }()
				if _, err := stranger.Join(t.Context(), []string{addr(0).String()}); err == nil {
					t.Error("a stranger joined")
				}
				time.Sleep(time.Minute)
				for _, g := range append(w.members, stranger) {
					if n := count(g, gossip.StateAlive); g == stranger && n != 1 || g != stranger && n != 2 {
						t.Errorf("%s sees %d members", g.Addr(), n)
					}
				}
			})
		})
	}
}

func TestKeyRotatesByRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		defer w.end()
		before, after := bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, 16)
		for _, keys := range [][][]byte{{before, after}, {after, before}, {after}} {
			for i := range w.members {
				w.converge(2 * time.Minute)
				if err := w.members[i].Close(); err != nil {
					t.Fatal(err)
				}
				w.members[i] = w.start(i, func(c *gossip.Config) { c.Keys = keys })
			}
		}
		w.converge(2 * time.Minute)
	})
}

func TestJoinEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		defer w.end()
		w.links.Split([]netip.AddrPort{addr(0)}, []netip.AddrPort{addr(9)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := w.members[0].Join(ctx, []string{addr(9).String()})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Join returned %v after %v", err, time.Since(start))
		}
	})
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
