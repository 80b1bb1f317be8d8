package gossip

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// memberlist has no way to wait for a probe under way; it ends with its timeout,
// seconds after Close. That everything ends is shown in simulation, where the
// bubble fails on any goroutine that is left.
func TestMain(m *testing.M) {
	const list = "github.com/hashicorp/memberlist.(*Memberlist)."
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction(list+"probeNode"),
		goleak.IgnoreAnyFunction(list+"sendPingAndWaitForAck"),
	)
}

func start(t *testing.T, cfg Config) *Gossip {
	t.Helper()
	g, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// await reads g's members at each change until holds.
func await(t *testing.T, g *Gossip, holds func([]Member) bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for !holds(g.Members()) {
		select {
		case <-g.Changed():
		case <-limit:
			t.Fatalf("never saw the members expected, but %+v", g.Members())
		}
	}
}

func TestRealSockets(t *testing.T) {
	a := start(t, testConfig("a"))
	cfg := testConfig("b")
	cfg.Seeds = []string{a.Addr().String()}
	b := start(t, cfg)
	await(t, a, func(m []Member) bool { return len(m) == 2 && m[1].State == StateAlive && m[1].Meta == cfg.Meta })
	await(t, b, func(m []Member) bool { return len(m) == 2 && m[0].Name == "peer/a" && m[0].Addr == a.Addr() })

	if err := b.Leave(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	await(t, a, func(m []Member) bool { return m[1].State == StateLeft })
}

func TestStartRefusals(t *testing.T) {
	taken := start(t, testConfig("taken"))
	for name, c := range map[string]struct {
		change func(*Config)
		says   string
	}{
		"long id":        {func(c *Config) { c.Meta.ID = strings.Repeat("x", 129) }, "129 bytes"},
		"no network":     {func(c *Config) { c.Network = nil }, "no network"},
		"no bind":        {func(c *Config) { c.Bind = netip.AddrPort{} }, "no bind address"},
		"no own address": {func(c *Config) { c.Bind = netip.MustParseAddrPort("0.0.0.0:0") }, "set the advertise address"},
		"zone":           {func(c *Config) { c.Bind = netip.MustParseAddrPort("[fe80::1%lo]:0") }, "has a zone"},
		"advertised 0":   {func(c *Config) { c.Advertise = netip.MustParseAddrPort("127.0.0.1:0") }, "no member can reach"},
		"port in use":    {func(c *Config) { c.Bind = taken.Addr() }, "address already in use"},
		"no id":          {func(c *Config) { c.Meta.ID = "" }, "no id"},
	} {
		cfg := testConfig("x")
		c.change(&cfg)
		g, err := Start(cfg)
		if err == nil {
			_ = g.Close()
			t.Errorf("%s: started", name)
		} else if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
}

func TestStoppedGossip(t *testing.T) {
	g := start(t, testConfig("a"))
	if n, err := g.Join(t.Context(), []string{"127.0.0.1:1"}); n != 0 || err == nil {
		t.Errorf("joined no member: %d, %v", n, err)
	} else if strings.Contains(err.Error(), "\n") {
		t.Errorf("an error of several lines: %v", err)
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, join := g.Join(t.Context(), []string{"127.0.0.1:1"})
	for what, err := range map[string]error{"Leave": g.Leave(time.Second), "Join": join} {
		if !errors.Is(err, ErrStopped) {
			t.Errorf("%s after Close: %v, want ErrStopped", what, err)
		}
	}
}

func TestTargets(t *testing.T) {
	g := start(t, testConfig("a"))
	g.halt() // its own loop would read the seeds meanwhile, and call them
	g.seeds = []string{"10.0.0.1:1", "10.0.0.2:1"}
	others := func(state State, addrs ...string) {
		g.roster.mu.Lock()
		defer g.roster.mu.Unlock()
		for _, addr := range addrs {
			g.roster.members[addr] = Member{Name: NameOf(KindNode, addr), Addr: netip.MustParseAddrPort(addr), State: state, Since: time.Now()}
		}
	}
	others(StateLeft, "10.0.0.4:1")
	others(StateSilent, "10.0.0.3:1")
	if got, pace := g.targets(); pace != rejoinAlone || strings.Join(got, " ") != "10.0.0.3:1 10.0.0.1:1 10.0.0.2:1" {
		t.Errorf("alone, each %v: %v", pace, got)
	}
	others(StateAlive, "10.0.0.5:1", "10.0.0.6:1")
	for range 20 { // nodes name no other member
		if got, pace := g.targets(); pace != rejoinAlone || len(got) != 1 || !slices.Contains(g.seeds, got[0]) {
			t.Fatalf("without a peer, each %v: %v, want one of the seeds", pace, got)
		}
	}
	g.roster.mu.Lock()
	first := "10.0.0.1:1"
	meta := Meta{Kind: KindPeer, ID: first}
	g.roster.members[first] = Member{Name: NameOf(KindPeer, first), Addr: netip.MustParseAddrPort(first), Meta: meta, State: StateAlive}
	g.roster.mu.Unlock()
	calls := map[string]int{}
	for range 4000 {
		got, pace := g.targets()
		if pace != rejoinUsually || len(got) > 1 {
			t.Fatalf("with a peer, each %v: %v", pace, got)
		}
		calls[strings.Join(got, " ")]++
	}
	for _, addr := range []string{"10.0.0.2:1", "10.0.0.3:1"} { // each in one of four rounds
		if n := calls[addr]; n < 800 || n > 1200 {
			t.Errorf("%s called %d times in 4000 rounds, want about 1000", addr, n)
		}
	}
	if len(calls) != 3 {
		t.Errorf("called %v, want only the two missing", calls)
	}
}
