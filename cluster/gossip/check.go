package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
)

// What a member may say. The sender of each message is proven by its certificate, so memberlist's messages, which anybody may
// write in the name of anybody, are checked against their sender before memberlist reads them:
//
//   - a peer may say everything, since peers may do everything in a cluster anyway;
//   - a node may say what it is itself;
//   - of another member, a node may pass on what is known already;
//   - of another member, it may say that the other does not answer. The other then contradicts, and is silent only if that
//     does not come.
//
// A peer takes messages of members only, by the state of the cluster. A node has no state: it believes a node that a peer has lately named
// as alive, so that none passes on what a revoked one says. All members are answered when they ask: a new one is not known everywhere.
//
// So one node can neither invent nor displace a member. Each message is written again from what was read of it: lengths and numbers
// that memberlist does not check, some of which end its process, do not reach it.

// ahead is how much newer than what is known a record may be that a node passes on: the node that the record is about may have answered
// some accusations meanwhile. Numbers of records cannot be driven to their end: at the rate of a member that takes months.
const ahead = 4

// maxAsked bounds the questions whose answers are waited for.
const maxAsked = 1024

// Reasons to end a connection.
var (
	errSender  = errors.New("the sender is no member that this peer knows, or was revoked")
	errForeign = errors.New("a message in the name of another member")
)

// said is the newest record of a member.
type said struct {
	incarnation uint32
	addr        netip.AddrPort
	meta        []byte
}

// checker is what one member lets its memberlist read.
type checker struct {
	self  string
	admit func(name string) bool // whether a member takes part; nil: each that has proven its name does

	mu    sync.Mutex
	known map[string]*said
	asked map[uint32][]string // whose answer to a question of this member counts
	older map[uint32][]string // likewise, of the questions before

	vouched vouched // nodes that a peer has named
}

func newChecker(self string, admit func(string) bool) *checker {
	return &checker{self: self, admit: admit, known: map[string]*said{}, asked: map[uint32][]string{}, vouched: vouched{}}
}

// admits reports whether a member takes part.
func (c *checker) admits(name string) bool {
	return kindOf(name) != KindUnknown && (name == c.self || c.admit == nil || c.admit(name))
}

// packet returns the messages in a packet of a sender that memberlist may read. The error ends the connection.
func (c *checker) packet(sender string, b []byte) (out [][]byte, err error) {
	if !c.admits(sender) {
		return nil, errSender
	}
	parts, err := splitPacket(b)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		m, err := readMessage(part)
		if err != nil {
			return nil, fmt.Errorf("message %d of %d bytes: %w", part[:min(1, len(part))], len(part), err)
		}
		switch ok, err := c.take(sender, m); {
		case err != nil:
			return nil, err
		case ok:
			out = append(out, m.packet())
		}
	}
	return out, nil
}

// take reports whether memberlist may read a message, which it may change. The error ends the connection.
func (c *checker) take(sender string, m *message) (ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m.kind { //nolint:exhaustive // others do not come here
	case kindPing:
		if m.from != sender {
			return false, errForeign
		}
		return m.node == c.self, nil
	case kindIndirectPing:
		if m.from != sender {
			return false, errForeign
		}
		at := c.known[m.node]
		if at == nil || m.node == c.self {
			return false, nil
		}
		m.addr = at.addr // and no address of the sender's choice
		return true, nil
	case kindAck, kindNack:
		return c.answers(sender, m), nil
	}
	return c.statement(sender, m), nil
}

// statement reports whether memberlist may read what a message says of a member.
func (c *checker) statement(sender string, m *message) bool {
	if !c.admits(m.node) {
		return false
	}
	known, own, trusted := c.known[m.node], m.node == sender, kindOf(sender) == KindPeer
	if m.kind == kindAlive && !m.about() || !trusted && !c.believes(sender) {
		return false
	}
	if !own && !trusted {
		if known == nil {
			return false
		}
		if m.kind == kindAlive {
			if uint64(m.incarnation) > uint64(known.incarnation)+ahead || m.addr != known.addr || !bytes.Equal(m.meta, known.meta) {
				return false
			}
		} else {
			if m.incarnation > known.incarnation { // the answer has the next number, and must be one that others may pass on
				return false
			}
			m.kind = kindSuspect // with the time to answer that
		}
		m.from = sender
	}
	switch {
	case own && m.kind == kindSuspect:
		return false
	case own:
		m.from = sender
	}
	if m.kind == kindAlive && !c.learn(m, known) {
		return false
	}
	if trusted {
		c.vouch(m)
	}
	return true
}

// believes reports whether this member takes what a node says: a peer knows the members, and a node goes by the peers.
func (c *checker) believes(node string) bool {
	return kindOf(c.self) == KindPeer || c.vouched.lately(node)
}

// vouch notes what a peer says of a node.
func (c *checker) vouch(m *message) {
	switch {
	case kindOf(m.node) != KindNode:
	case m.kind == kindAlive:
		c.vouched.note(m.node)
	case m.kind == kindDead:
		delete(c.vouched, m.node)
	}
}

// about reports whether a record is that of the member of the message's name.
func (m *message) about() bool {
	meta, _, err := decodeMeta(m.meta)
	return err == nil && NameOf(meta.Kind, meta.ID) == m.node
}

// learn keeps the newest record of a member, and reports whether there is room for it.
func (c *checker) learn(m *message, known *said) bool {
	if known == nil && len(c.known) >= maxMembers {
		return false
	}
	if m.node != c.self && (known == nil || m.incarnation >= known.incarnation) {
		c.known[m.node] = &said{m.incarnation, m.addr, bytes.Clone(m.meta)}
	}
	return true
}

// answers reports whether the sender of an answer was asked.
func (c *checker) answers(sender string, m *message) bool {
	return slices.Contains(c.asked[m.seq], sender) || slices.Contains(c.older[m.seq], sender)
}

// list returns a list of members of a sender as memberlist may read it. The error ends the connection.
func (c *checker) list(sender string, b []byte) ([]byte, error) {
	if !c.admits(sender) {
		return nil, errSender
	}
	all, join, err := readList(b)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := all[:0]
	for _, m := range all {
		if c.statement(sender, m) {
			taken = append(taken, m)
		}
	}
	return list(taken, join), nil
}

// sent notes what this member says of itself, and which member it asks: to is the receiver of the packet. It reports whether an answer is
// due.
func (c *checker) sent(to string, b []byte) (asks bool) {
	parts, err := splitPacket(b)
	if err != nil {
		return false
	}
	for _, part := range parts {
		if k := kind(part[0]); k != kindPing && k != kindIndirectPing && k != kindAlive {
			continue
		}
		m, err := readMessage(part)
		if err != nil {
			continue
		}
		c.mu.Lock()
		switch {
		case m.kind != kindAlive:
			asks = true
			c.ask(m.seq, to)
		case m.node == c.self:
			c.known[c.self] = &said{m.incarnation, m.addr, bytes.Clone(m.meta)}
		}
		c.mu.Unlock()
	}
	return asks
}

// ask notes that a member is asked. Questions are answered within a second, so the oldest are forgotten when there are many.
func (c *checker) ask(seq uint32, to string) {
	if len(c.asked) >= maxAsked {
		c.asked, c.older = map[uint32][]string{}, c.asked
	}
	c.asked[seq] = append(c.asked[seq], to)
}

// sentList notes what this member says of itself in a list, and returns the part of the list that others may take from this member.
func (c *checker) sentList(b []byte) []byte {
	all, join, err := readList(b)
	if err != nil {
		return b
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range all {
		if m.node == c.self && m.kind == kindAlive {
			c.known[c.self] = &said{m.incarnation, m.addr, bytes.Clone(m.meta)}
		}
	}
	if kindOf(c.self) == KindPeer && c.admit == nil {
		return b
	}
	if kindOf(c.self) == KindPeer { // nodes believe those that it names
		return list(slices.DeleteFunc(all, func(m *message) bool { return !c.admits(m.node) }), join)
	}
	return list(slices.DeleteFunc(all, func(m *message) bool { return m.kind == kindAlive && m.node != c.self }), join)
}

// forget drops records of members that are not listed any more.
func (c *checker) forget(listed func(name string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.known { // order-free: each by itself
		if name != c.self && !listed(name) {
			delete(c.known, name)
			delete(c.vouched, name)
		}
	}
}
