//berth:bubble

package gossip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// entry writes one member of a list, or the fields of a statement, with values of any size.
type entry struct {
	node         string
	addr, meta   []byte
	vsn          []byte
	port, number uint64
	state        uint64
}

// member returns a valid entry of a member.
func member(kind Kind, id string) entry {
	record, err := encodeMeta(Meta{Kind: kind, ID: id, APIAddr: "127.0.0.1:1"})
	if err != nil {
		panic(err)
	}
	return entry{node: NameOf(kind, id), addr: []byte{127, 0, 0, 1}, meta: record, vsn: versions[:], port: 7002, number: 1}
}

func (e entry) fields(p *packer, name string) {
	p.bytes(name, []byte(e.node))
	p.bytes("Addr", e.addr)
	p.uint("Port", e.port)
	p.bytes("Meta", e.meta)
	p.uint("Incarnation", e.number)
	p.bytes("Vsn", e.vsn)
}

func (e entry) alive() []byte {
	p := &packer{b: []byte{byte(kindAlive)}}
	p.fields(6)
	e.fields(p, "Node")
	return p.b
}

// about writes an accusation, or a departure.
func (e entry) about(k kind, from string) []byte {
	p := &packer{b: []byte{byte(k)}}
	p.fields(3)
	p.uint("Incarnation", e.number)
	p.bytes("Node", []byte(e.node))
	p.bytes("From", []byte(from))
	return p.b
}

// listOf writes a list that announces n members and u bytes of state of the user.
func listOf(n, u uint64, of ...entry) []byte {
	p := &packer{b: []byte{byte(kindPushPull)}}
	p.fields(3)
	p.uint("Nodes", n)
	p.uint("UserStateLen", u)
	p.bool("Join", true)
	for _, e := range of {
		p.fields(7)
		e.fields(p, "Name")
		p.uint("State", e.state)
	}
	return p.b
}

func compound(parts ...[]byte) []byte {
	b := []byte{byte(kindCompound), byte(len(parts))}
	for _, p := range parts {
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
	}
	return append(b, slices.Concat(parts...)...)
}

// poison returns lists that have ended memberlist's process, or could, or take much memory. The first does end that of this release.
func poison() (all [][]byte) {
	for _, spoil := range []func(*entry){
		func(e *entry) { e.vsn = []byte{1} },
		func(e *entry) { e.vsn = nil },
		func(e *entry) { e.vsn = bytes.Repeat([]byte{1}, 7) },
		func(e *entry) { e.vsn = []byte{1, 5, 200, 1, 1, 1} }, // has others refuse whole lists
		func(e *entry) { e.addr = []byte{1, 2, 3} },
		func(e *entry) { e.addr = nil },
		func(e *entry) { e.addr = make([]byte, 4) },
		func(e *entry) { e.port = 0 },
		func(e *entry) { e.port = 1 << 20 },
		func(e *entry) { e.meta = make([]byte, 513) },
		func(e *entry) { e.meta = nil },
		func(e *entry) { e.node = strings.Repeat("x", 60_000) },
		func(e *entry) { e.number = math.MaxUint64 },
		func(e *entry) { e.state = 9 },
	} {
		e := member(KindNode, "evil")
		spoil(&e)
		all = append(all, listOf(1, 0, e))
	}
	good := member(KindNode, "evil")
	return append(all,
		listOf(1<<50, 0, good), listOf(1, 1<<50, good), listOf(5, 0, good), listOf(0, 0, good),
		append([]byte{9}, "\x82\xa4Algo\x00\xa3Buf\xa0"...), // compressed, which ended older releases
		append([]byte{8}, "\x81\xaaUserMsgLen\xcf\x00\xff\xff\xff\xff\xff\xff\xff"...),
		[]byte{244, 4, 't', 'e', 's', 't'}, // a label
		[]byte{13}, []byte{6}, nil,
		[]byte("\x06\xdf\xff\xff\xff\xff"), []byte("\x06\x83\xa5Nodes\x01\xa5Nodes\x01\xa4Join\xc3"),
	)
}

// taken returns what a member takes from a packet of another.
func taken(c *checker, sender string, b []byte) []string {
	out, err := c.packet(sender, b)
	var list []string
	for _, m := range out {
		read, bad := readMessage(m)
		if bad != nil {
			return []string{"what passed cannot be read: " + bad.Error()}
		}
		list = append(list, fmt.Sprintf("%d %s %d", read.kind, read.node, read.incarnation))
	}
	if err != nil {
		list = append(list, "ends")
	}
	return list
}

// A node believes nodes of which a peer has said lately that they are alive, and answers all: so it passes nothing on of a revoked one.
func TestANodeBelievesThoseThatPeersName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n2, n3 := member(KindNode, "n2"), member(KindNode, "n3")
		c := newChecker("node/n1", nil)
		accuses := func() bool { return len(taken(c, "node/n3", n2.about(kindSuspect, "node/n3"))) > 0 }
		asks := func() bool {
			return len(taken(c, "node/n3", (&message{kind: kindPing, node: "node/n1", from: "node/n3"}).packet())) > 0
		}
		ofPeer := func(e entry) { taken(c, "peer/p1", e.alive()) }
		taken(c, "node/n3", n3.alive())
		if ofPeer(n2); accuses() || c.known["node/n3"] != nil || !asks() {
			t.Error("a node that no peer has named is believed, or not answered")
		}
		if _, err := c.list("peer/p1", listOf(1, 0, n3)); err != nil || !accuses() || !asks() {
			t.Errorf("a node that a peer has named is not believed: %v", err)
		}
		time.Sleep(vouchFor)
		if accuses() || !asks() {
			t.Error("a node that no peer names any more is believed, or not answered")
		}
		if ofPeer(n3); !accuses() {
			t.Error("a node that is back is not believed")
		}
		if taken(c, "peer/p1", n3.about(kindDead, "peer/p1")); accuses() {
			t.Error("a node that is gone for a peer is believed")
		}
		if c.forget(func(string) bool { return false }); len(c.vouched) > 0 {
			t.Errorf("forgotten nodes are kept: %v", c.vouched)
		}
	})
	c := newChecker("peer/p1", func(name string) bool { return name != "node/n3" })
	all, _, err := readList(c.sentList(listOf(3, 0, member(KindPeer, "p1"), member(KindNode, "n2"), member(KindNode, "n3"))))
	if err != nil || len(all) != 2 || all[1].node != "node/n2" {
		t.Errorf("a peer names %v: %v", all, err)
	}
}

// Nothing that memberlist does not check reaches it, in a list or in a packet.
func TestPoisonIsRefused(t *testing.T) {
	t.Parallel()
	c := newChecker("peer/p1", nil)
	for i, b := range poison() {
		if out, err := c.list("node/evil", b); err == nil {
			if all, _, err := readList(out); err != nil || len(all) > 0 {
				t.Errorf("list %d passes: %d members, %v", i, len(all), err)
			}
		}
	}
	nested := compound(member(KindNode, "evil").alive())
	for range 3 {
		nested = compound(nested)
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "a byte": {4}, "nested": nested, "a list": listOf(0, 0), "compressed": poison()[18], "of a user": {8, 1, 2},
		"parts that are not there": {7, 200, 0, 1}, "a wrong checksum": {12, 0, 0, 0, 0, 4, 0x80}, "long": make([]byte, maxPacket+1),
		"two documents": append(member(KindNode, "evil").alive(), 0xc0),
	} {
		if got := taken(c, "node/evil", b); !slices.Equal(got, []string{"ends"}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if len(c.known) > 0 {
		t.Errorf("known are %v", c.known)
	}
}

// What a member may say of itself and of others.
func TestSaying(t *testing.T) {
	t.Parallel()
	moved := func(e entry) entry { e.addr, e.number = []byte{10, 6, 6, 6}, e.number+1; return e }
	next := func(e entry, by uint64) entry { e.number += by; return e }
	p1, p2, n1, n2, strange := member(KindPeer, "p1"), member(KindPeer, "p2"), member(KindNode, "n1"), member(KindNode, "n2"), member(KindPeer, "invented")
	for name, v := range map[string]struct {
		sender string
		says   []byte
		want   string
	}{
		"its own record":                      {"node/n1", moved(n1).alive(), "4 node/n1 2"},
		"the record of an unknown peer":       {"node/n1", strange.alive(), ""},
		"the address of a peer":               {"node/n1", moved(p2).alive(), ""},
		"the address of another node":         {"node/n1", moved(n2).alive(), ""},
		"what is known":                       {"node/n1", next(n2, ahead).alive(), "4 node/n2 5"},
		"a number far ahead":                  {"node/n1", next(n2, ahead+1).alive(), ""},
		"that a node does not answer":         {"node/n1", n2.about(kindSuspect, "node/n9"), "3 node/n2 1"},
		"that a node is gone, to be answered": {"node/n1", n2.about(kindDead, "node/n2"), "3 node/n2 1"},
		"that a peer is gone, to be answered": {"node/n1", p2.about(kindDead, "peer/p2"), "3 peer/p2 1"},
		"that the reader is gone":             {"node/n1", p1.about(kindSuspect, "node/n1"), "3 peer/p1 1"},
		"that the reader is gone, ahead":      {"node/n1", next(p1, 1).about(kindSuspect, "node/n1"), ""},
		"that a node is gone, ahead":          {"node/n1", next(n2, 1).about(kindDead, "node/n1"), ""},
		"that it leaves":                      {"node/n1", n1.about(kindDead, "x"), "5 node/n1 1"},
		"that it does not answer itself":      {"node/n1", n1.about(kindSuspect, "x"), ""},
		"a record that is not its own":        {"node/n1", entry{n1.node, n1.addr, p2.meta, n1.vsn, 1, 9, 0}.alive(), ""},
		"a name without a kind":               {"peer/p2", entry{"n3", n1.addr, n1.meta, n1.vsn, 1, 9, 0}.alive(), ""},
		"a peer: of a new peer":               {"peer/p2", strange.alive(), "4 peer/invented 1"},
		"a peer: of a node that has moved":    {"peer/p2", moved(n2).alive(), "4 node/n2 2"},
		"a peer: that a node is gone":         {"peer/p2", n2.about(kindDead, "peer/p2"), "5 node/n2 1"},
		"a peer: of one that was removed":     {"peer/p2", member(KindNode, "removed").alive(), ""},
		"one that was removed":                {"node/removed", member(KindNode, "removed").alive(), "ends"},
	} {
		c := newChecker("peer/p1", func(name string) bool { return name != "node/removed" })
		for _, e := range []entry{p2, n1, n2} {
			taken(c, e.node, e.alive())
		}
		c.sent("node/n1", p1.alive())
		if got := strings.Join(taken(c, v.sender, v.says), ", "); got != v.want {
			t.Errorf("%s: %q, want %q", name, got, v.want)
		}
		b, _ := readMessage(v.says)
		if b.kind != kindAlive {
			continue
		}
		e := entry{b.node, b.addr.Addr().AsSlice(), b.meta, versions[:], uint64(b.addr.Port()), uint64(b.incarnation), 0}
		out, err := c.list(v.sender, listOf(1, 0, e))
		if all, _, _ := readList(out); (len(all) == 1) != (v.want != "" && err == nil) {
			t.Errorf("%s, in a list: %d, %v", name, len(all), err)
		}
	}
}

// However a node accuses another, a third node can pass the answer on: the answer's number is one more than that of the accusation.
func TestAnAnswerCanBePassedOn(t *testing.T) {
	t.Parallel()
	for accused := range uint64(2*ahead + 2) {
		for _, k := range []kind{kindSuspect, kindDead} {
			c := newChecker("peer/p1", nil)
			n2 := member(KindNode, "n2")
			n2.number = ahead
			taken(c, "node/n2", n2.alive())
			n2.number = accused
			if len(taken(c, "node/n1", n2.about(k, "node/n1"))) == 0 {
				continue
			}
			n2.number++
			if got := taken(c, "node/n3", n2.alive()); len(got) != 1 {
				t.Errorf("the answer to an accusation (%d) of number %d, when %d is known, is not passed on: %v", k, accused, ahead, got)
			}
		}
	}
}

// A question is in the name of its sender, leads to no address of its choice, and only the member that was asked may answer.
func TestQuestions(t *testing.T) {
	t.Parallel()
	c := newChecker("peer/p1", nil)
	taken(c, "node/n2", member(KindNode, "n2").alive())
	ping := &message{kind: kindPing, seq: 7, node: "peer/p1", from: "node/n1"}
	if got := taken(c, "node/n1", ping.packet()); len(got) != 1 || got[0] == "ends" {
		t.Errorf("a question: %v", got)
	}
	if got := taken(c, "node/n2", ping.packet()); !slices.Equal(got, []string{"ends"}) {
		t.Errorf("in the name of another: %v", got)
	}
	ask := &message{kind: kindIndirectPing, seq: 7, node: "node/n2", from: "node/n1", addr: netip.MustParseAddrPort("10.6.6.6:22")}
	out, err := c.packet("node/n1", ask.packet())
	if err != nil || len(out) != 1 {
		t.Fatal(err)
	}
	if m, err := readMessage(out[0]); err != nil || m.addr != netip.MustParseAddrPort("127.0.0.1:7002") {
		t.Errorf("the question goes to %v, %v", m, err)
	}
	if ask.node = "node/unknown"; len(taken(c, "node/n1", ask.packet())) > 0 {
		t.Error("a member that is not known is asked")
	}
	c.sent("node/n2", (&message{kind: kindPing, seq: 9, node: "node/n2", from: "peer/p1"}).packet())
	answer := (&message{kind: kindAck, seq: 9}).packet()
	if got := taken(c, "node/n1", answer); len(got) > 0 {
		t.Errorf("an answer of a member that was not asked: %v", got)
	}
	if got := taken(c, "node/n2", answer); len(got) != 1 {
		t.Errorf("an answer: %v", got)
	}
	for seq := range uint32(3 * maxAsked) {
		c.sent("node/n2", (&message{kind: kindPing, seq: seq, node: "node/n2", from: "peer/p1"}).packet())
	}
	if len(c.asked)+len(c.older) > 2*maxAsked {
		t.Errorf("%d questions are kept", len(c.asked)+len(c.older))
	}
}

// A peer, too, can fill the table of members up to its bound only; what is no longer listed makes room.
func TestMembersAreBounded(t *testing.T) {
	t.Parallel()
	c := newChecker("node/n1", nil)
	for i := range maxMembers + 10 {
		taken(c, "peer/p1", member(KindNode, fmt.Sprint(i)).alive())
	}
	if len(c.known) != maxMembers {
		t.Errorf("%d members are known", len(c.known))
	}
	c.forget(func(name string) bool { return name == "node/1" })
	if len(c.known) != 1 {
		t.Errorf("%d members are known", len(c.known))
	}
}

// What a node sends of others in a list is what may be taken from it.
func TestANodeSendsItsOwnPart(t *testing.T) {
	t.Parallel()
	silent := member(KindNode, "n2")
	silent.state = listedDead
	all := listOf(3, 0, member(KindNode, "n1"), member(KindPeer, "p1"), silent)
	got, _, err := readList(newChecker("node/n1", nil).sentList(all))
	if err != nil || len(got) != 2 || got[0].node != "node/n1" || got[1].node != "node/n2" {
		t.Errorf("%v, %v", got, err)
	}
	if got := newChecker("peer/p1", nil).sentList(all); !bytes.Equal(got, all) {
		t.Error("a peer sends a part")
	}
}

// Whatever a node sends, one message or many, in packets or lists: what memberlist reads is well-formed, and about no other member
// than the sender that was not known before.
func FuzzPort(f *testing.F) {
	for _, b := range poison() {
		f.Add(b, true)
		f.Add(b, false)
	}
	p2, n1 := member(KindPeer, "p2"), member(KindNode, "n1")
	f.Add(compound(n1.alive(), p2.about(kindDead, "peer/p2"), (&message{kind: kindPing, node: "peer/p1", from: "node/n1"}).packet()), true)
	f.Add(listOf(2, 0, n1, p2), false)
	f.Fuzz(func(t *testing.T, b []byte, packet bool) {
		c := newChecker("peer/p1", nil)
		taken(c, "peer/p2", p2.alive())
		var all []*message
		if packet {
			out, _ := c.packet("node/n1", b)
			for _, part := range out {
				m, err := readMessage(part)
				if err != nil || !bytes.Equal(m.packet(), part) {
					t.Fatalf("%q has become %q: %v", b, part, err)
				}
				all = append(all, m)
			}
		} else if out, err := c.list("node/n1", b); err == nil {
			if all, _, err = readList(out); err != nil || len(out) > maxLists {
				t.Fatalf("%q has become %q: %v", b, out, err)
			}
		} else if errors.Is(err, errSender) {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.kind == kindAlive && m.node != "node/n1" && m.node != p2.node {
				t.Fatalf("%q is about %s", b, m.node)
			}
		}
		if known := c.known[p2.node]; known == nil || known.addr != netip.MustParseAddrPort("127.0.0.1:7002") || len(c.known) > 2 {
			t.Fatalf("%q has moved members: %v", b, c.known)
		}
	})
}
