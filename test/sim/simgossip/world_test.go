//berth:bubble

package simgossip_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
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
