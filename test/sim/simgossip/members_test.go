//berth:bubble

package simgossip_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/cluster/gossip"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// settle is longer than any deadline in memberlist: what still runs after it
// is a leak, on which the end of the bubble fails.
const settle = 15 * time.Second

// peers is how many of the members are peers: the first ones.
const peers = 3

var lan = simnet.Link{Latency: 300 * time.Microsecond, Jitter: 700 * time.Microsecond, Loss: 0.01}

func addr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i / 200), byte(i%200 + 1)}), 7946)
}

func host(i int) string { return addr(i).Addr().String() }

func kind(i int) gossip.Kind {
	if i < peers {
		return gossip.KindPeer
	}
	return gossip.KindNode
}

// name returns the name of a member.
func name(i int) string { return gossip.NameOf(kind(i), fmt.Sprintf("n%02d", i)) }

// world is some members on one network.
type world struct {
	t       *testing.T
	net     *simnet.Net
	members []*gossip.Gossip

	mu    sync.Mutex
	names map[string]string // by host, as certificates prove them
	dials int               // each would be a handshake
}

// machine is the network as one member uses it.
type machine struct {
	*simnet.Host

	of *world
}

func (m machine) named(conn net.Conn) string {
	at, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	return m.of.names[at]
}

func (m machine) Greet(_ context.Context, conn net.Conn) (string, error) { return m.named(conn), nil }

func (m machine) Dial(ctx context.Context, address string) (net.Conn, string, error) {
	limit, _ := ctx.Deadline()
	m.of.mu.Lock()
	m.of.dials++
	m.of.mu.Unlock()
	conn, err := m.Host.Dial(address, time.Until(limit))
	if err != nil {
		return nil, "", err
	}
	return conn, m.named(conn), nil
}

func newWorld(t *testing.T, n int) *world {
	w := &world{t: t, net: simnet.New(1), names: map[string]string{}}
	w.net.SetDefault(lan)
	for i := range n {
		w.members = append(w.members, w.start(i, nil))
	}
	return w
}

func config(i int) gossip.Config {
	return gossip.Config{
		Meta:  gossip.Meta{Kind: kind(i), ID: fmt.Sprintf("n%02d", i)},
		Bind:  addr(i),
		Seeds: []string{addr(0).String(), addr(1).String()},
	}
}

func (w *world) start(i int, change func(*gossip.Config)) *gossip.Gossip {
	w.t.Helper()
	cfg := config(i)
	cfg.Network = machine{w.net.Host(host(i)), w}
	if change != nil {
		change(&cfg)
	}
	w.mu.Lock()
	w.names[host(i)] = gossip.NameOf(cfg.Meta.Kind, cfg.Meta.ID)
	w.mu.Unlock()
	g, err := gossip.Start(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// split cuts the members of one range off those of another.
func (w *world) split(from, to, more, end int) {
	for i := from; i < to; i++ {
		for j := more; j < end; j++ {
			w.net.CutBoth(host(i), host(j))
		}
	}
}

// end closes all members and lets the last deadlines pass.
func (w *world) end() {
	for _, g := range w.members {
		if err := g.Close(); err != nil {
			w.t.Error(err)
		}
	}
	time.Sleep(settle)
	w.net.Close()
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
			return see(g, name(5)).Meta == next
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
