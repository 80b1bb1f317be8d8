package gossip

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
)

// silentPort is a UDP port of this machine that never answers.
func silentPort(t *testing.T) netip.AddrPort {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return netip.MustParseAddrPort(c.LocalAddr().String())
}

// A member that is known is asked at its address, and an unknown one is named.
func TestPing(t *testing.T) {
	a := start(t, testConfig("a"))
	cfg := testConfig("b")
	cfg.Seeds = []string{a.Addr().String()}
	b := start(t, cfg)
	await(t, b, func(m []Member) bool { return len(m) == 2 })
	if at, err := b.Ping(t.Context(), "a"); at != a.Addr() || err != nil {
		t.Errorf("a is asked at %s: %v", at, err)
	}
	if at, err := b.Ping(t.Context(), "b"); at != b.Addr() || err != nil {
		t.Errorf("the own address is %s: %v", at, err)
	}
	if at, err := b.Ping(t.Context(), "c"); at.IsValid() || err == nil {
		t.Errorf("an unknown member is asked at %s: %v", at, err)
	}
}

// A prober is answered over UDP without being a member, and tells a member from a port that is silent, from one of another name, and
// from one with other keys.
func TestProber(t *testing.T) {
	a := start(t, testConfig("a"))
	p, err := NewProber("test", testConfig("a").Keys)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if err := p.Ping(t.Context(), "a", a.Addr()); err != nil {
		t.Errorf("a: %v", err)
	}
	if err := errors.Join(p.Knock(t.Context(), a.Addr()), a.Knock(t.Context(), a.Addr())); err != nil {
		t.Errorf("over TCP: %v", err)
	}
	if err := p.Knock(t.Context(), silentPort(t)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a port without a listener: %v", err)
	}
	if err := p.Ping(t.Context(), "a", silentPort(t)); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("a silent port: %v", err)
	}
	if err := p.Ping(t.Context(), "b", a.Addr()); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("another member: %v", err)
	}
	stranger, err := NewProber("test", [][]byte{bytes.Repeat([]byte{2}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Close() }()
	if err := stranger.Ping(t.Context(), "a", a.Addr()); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("with another key: %v", err)
	}
	if n := len(a.Members()); n != 1 {
		t.Errorf("a prober became a member: %d", n)
	}
	if _, err := NewProber("test", nil); err == nil {
		t.Error("a prober without a key")
	}
}
