package gossip

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
)

// A node that announces 2,000 peers, and the death of all others, changes nothing at a peer and at another node: both go on to know
// each other.
func TestANodeInventsNobody(t *testing.T) {
	t.Parallel()
	p1 := start(t, testConfig("p1"))
	cfg := configOf(KindNode, "n1")
	cfg.Seeds = []string{p1.Addr().String()}
	n1 := start(t, cfg)
	both := func(m []Member) bool { return len(m) == 2 && m[0].State == StateAlive && m[1].State == StateAlive }
	await(t, p1, both)
	await(t, n1, both)
	all := []entry{member(KindNode, "evil")}
	for i := range 2000 {
		all = append(all, member(KindPeer, fmt.Sprint("p", i)))
	}
	for _, to := range []*Gossip{p1, n1} {
		if err := exchangeAs("node/evil", to, listOf(uint64(len(all)), 0, all...)); err != nil {
			t.Fatal(err)
		}
		conn, err := connect("node/evil", to, carriesPackets)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all[:200] {
			b := compound(e.alive(), member(KindPeer, "p1").about(kindDead, "peer/p1"), member(KindNode, "n1").about(kindDead, "node/n1"))
			if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { _ = conn.Close() })
		await(t, to, func(m []Member) bool { return len(m) == 3 && m[0].Name == "node/evil" })
	}
	for _, g := range []*Gossip{p1, n1} {
		for _, m := range g.Members() {
			if m.Meta.Kind == KindPeer && (m.Name != "peer/p1" || m.Addr != p1.Addr()) {
				t.Errorf("invented: %+v", m)
			}
		}
	}
}

// A member that the cluster does not know any more is listed no longer, and its connections end with the next packet.
func TestAMemberIsRemoved(t *testing.T) {
	t.Parallel()
	var removed atomic.Bool
	cfg := testConfig("p1")
	cfg.Admit = func(name string) bool { return name != "node/n1" || !removed.Load() }
	p1 := start(t, cfg)
	cfg = configOf(KindNode, "n1")
	cfg.Seeds = []string{p1.Addr().String()}
	n1 := start(t, cfg)
	await(t, p1, func(m []Member) bool { return len(m) == 2 })
	conn, err := connect("node/n1", p1, carriesPackets)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	removed.Store(true)
	if m := p1.Members(); len(m) != 1 {
		t.Errorf("still listed: %v", m)
	}
	if _, err := conn.Write([]byte{0, 2, 4, 0x80}); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(conn); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("the connection stays open: %v", err)
	}
	if n, err := n1.Join(t.Context(), []string{p1.Addr().String()}); n > 0 || err == nil {
		t.Error("it joins again")
	}
	if _, err := p1.Join(t.Context(), []string{n1.Addr().String()}); err == nil || !strings.Contains(err.Error(), "node/n1, which is no member that is known here") {
		t.Errorf("the peer joins it: %v", err)
	}
}

// Callers that prove nothing get few connections, for a short time; what a member announces and does not send takes no memory.
func TestStrangersAreBounded(t *testing.T) {
	t.Parallel()
	p1 := start(t, testConfig("p1"))
	var silent []net.Conn
	for range 3 * maxOfEach {
		conn, err := net.Dial("tcp", p1.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		silent = append(silent, conn)
	}
	ended := make(chan bool, len(silent))
	for _, conn := range silent {
		go func() {
			_ = conn.SetReadDeadline(time.Now().Add(greetLimit + 20*time.Second))
			_, err := io.Copy(io.Discard, conn)
			ended <- err == nil || !strings.Contains(err.Error(), "timeout")
		}()
	}
	for i := range silent {
		if !<-ended {
			t.Fatalf("after %d connections of %d one stays open", i, len(silent))
		}
	}
	conn, err := connect("node/evil", p1, carriesLists)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write([]byte{0x7f, 0xff, 0xff, 0xff, 6}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("a list of 2 GiB is waited for: %v", err)
	}
}

// From the address of one member, which any process there has, all places cannot be taken: other members find theirs.
func TestAnAddressOfAMemberIsBounded(t *testing.T) {
	t.Parallel()
	log := newNotes(nil)
	defer log.close()
	port, err := listen(named("peer/p1"), "127.0.0.1:0", netip.AddrPort{}, newChecker("peer/p1", nil), func(string) bool { return true }, log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = port.Shutdown() }()
	greeted := func(from string, connections int) (n int) {
		t.Helper()
		var all []net.Conn
		for range connections {
			conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", port.own.String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			all = append(all, conn)
		}
		for _, conn := range all {
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if got, _ := conn.Read(make([]byte, 1)); got == 1 { // of its name
				n++
			}
		}
		return n
	}
	if n := greeted("127.0.0.1", 2*maxGreeting); n != maxOfEach {
		t.Errorf("%d connections of one address have a place, want %d", n, maxOfEach)
	}
	if n := greeted("127.0.0.2", 1); n != 1 {
		t.Error("another member has no place")
	}
}

// One member has its lists read one at a time, and all together have their bound.
func TestListsHaveTurns(t *testing.T) {
	t.Parallel()
	tr := &transport{receiving: map[string]bool{}}
	if !tr.begin("node/a") || tr.begin("node/a") {
		t.Error("two lists of one member at once")
	}
	for i := range maxExchanges - 1 {
		tr.begin(fmt.Sprint("node/", i))
	}
	if tr.begin("node/b") {
		t.Error("more lists than the bound")
	}
	if tr.finish("node/a"); !tr.begin("node/b") {
		t.Error("no room after the end of one")
	}
}

// A packet goes to the member of a name, and not to another one at its address.
func TestAPacketGoesToItsMember(t *testing.T) {
	t.Parallel()
	p1, p2 := start(t, testConfig("p1")), start(t, testConfig("p2"))
	n := newNotes(nil)
	defer n.close()
	tr, err := listen(named("node/n1"), "127.0.0.1:0", p1.Addr(), newChecker("node/n1", nil), func(string) bool { return false }, n)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tr.Shutdown() }()
	if _, _, err := tr.dial(memberlist.Address{Name: "peer/p2", Addr: p1.Addr().String()}, dialLimit, carriesPackets); err == nil {
		t.Error("another member has this address, and is taken for the one that was meant")
	}
	conn, name, err := tr.dial(memberlist.Address{Addr: p2.Addr().String()}, dialLimit, carriesPackets)
	if err != nil || name != "peer/p2" {
		t.Fatalf("%s: %v", name, err)
	}
	_ = conn.Close()
}

// Any bytes of a member, in packets or lists, over its connection and into memberlist: the process goes on, and no peer appears.
func FuzzMember(f *testing.F) {
	g, err := Start(testConfig("p1"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = g.Close() })
	for _, b := range poison() {
		f.Add(b, true)
	}
	f.Add(compound(member(KindNode, "evil").alive(), member(KindPeer, "p1").about(kindSuspect, "x")), true)
	f.Add(listOf(1, 0, member(KindNode, "evil")), false)
	f.Fuzz(func(t *testing.T, b []byte, packet bool) {
		carries, frame := byte(carriesLists), binary.BigEndian.AppendUint32(nil, uint32(len(b)))
		if packet {
			carries, frame = carriesPackets, binary.BigEndian.AppendUint16(nil, uint16(min(len(b), 65535)))
		}
		conn, err := connect("node/evil", g, carries)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.Write(append(frame, b...)); err != nil {
			return // it was refused before
		}
		if half, is := conn.(*net.TCPConn); is {
			_ = half.CloseWrite()
		}
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.Copy(io.Discard, conn)
		for _, m := range g.Members() {
			if m.Name != "peer/p1" && m.Name != "node/evil" {
				t.Fatalf("%q has made %+v", b, m)
			}
		}
	})
}
