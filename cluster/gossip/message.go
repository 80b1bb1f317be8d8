package gossip

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// kind is the first byte of one of memberlist's messages.
type kind byte

const (
	kindPing         kind = 0
	kindIndirectPing kind = 1
	kindAck          kind = 2
	kindSuspect      kind = 3
	kindAlive        kind = 4
	kindDead         kind = 5
	kindPushPull     kind = 6
	kindCompound     kind = 7
	kindNack         kind = 11
	kindChecked      kind = 12 // a checksum, and a message
)

// Bounds of what members send.
const (
	maxPacket  = 2 * packetSize // bytes of a packet
	maxParts   = math.MaxUint8  // messages in a packet
	maxMembers = 4096           // of a cluster
	maxLists   = 1 << 20        // bytes of a list of members
)

// memberlist's numbers of the states of a member.
const (
	listedAlive   = 0
	listedSuspect = 1
	listedDead    = 2
	listedLeft    = 3
)

// versions are the numbers of the protocol and of this package's data that each member has: smallest, largest and present of
// both. memberlist refuses a whole list of members for one entry with others.
var versions = [...]byte{1, 5, 2, delegateVersion, delegateVersion, delegateVersion}

// message is one of memberlist's messages, with the fields of all kinds.
type message struct {
	kind        kind
	incarnation uint32         // alive, suspect, dead
	node        string         // the member that it is about
	from        string         // the sender, of suspect, dead, ping, indirect ping
	addr        netip.AddrPort // alive, indirect ping
	meta        []byte         // alive
	seq         uint32         // ping, indirect ping, ack, nack
	nack        bool           // indirect ping
}

// splitPacket returns the messages in a packet. memberlist nests none of those that hold others.
func splitPacket(b []byte) (parts [][]byte, err error) {
	if len(b) > 5 && kind(b[0]) == kindChecked {
		if crc32.ChecksumIEEE(b[5:]) != binary.BigEndian.Uint32(b[1:5]) {
			return nil, errPack
		}
		b = b[5:]
	}
	if len(b) < 2 || len(b) > maxPacket {
		return nil, errPack
	}
	if kind(b[0]) != kindCompound {
		return [][]byte{b}, nil
	}
	n := int(b[1])
	sizes, rest := b[2:], []byte(nil)
	if len(sizes) < 2*n {
		return nil, errPack
	}
	sizes, rest = sizes[:2*n], sizes[2*n:]
	for ; len(sizes) > 0; sizes = sizes[2:] {
		size := int(binary.BigEndian.Uint16(sizes))
		if size > len(rest) {
			return nil, errPack
		}
		parts, rest = append(parts, rest[:size]), rest[size:]
	}
	return parts, nil
}

// readMessage reads one message of a packet.
func readMessage(b []byte) (*message, error) {
	if len(b) < 2 {
		return nil, errPack
	}
	m := &message{kind: kind(b[0])}
	u := &unpacker{rest: b[1:]}
	if !slices.Contains([]kind{kindPing, kindIndirectPing, kindAck, kindNack, kindSuspect, kindAlive, kindDead}, m.kind) {
		return nil, errPack
	}
	f := &address{}
	u.message(func(field string) bool { return m.field(u, f, field) })
	if u.err != nil || len(u.rest) > 0 {
		return nil, errPack
	}
	if m.kind == kindAlive || m.kind == kindIndirectPing {
		if m.addr = f.valid(); !m.addr.IsValid() {
			return nil, errPack
		}
	}
	return m, nil
}

// address is an address whose parts are separate fields.
type address struct {
	ip   netip.Addr
	port uint16
}

// valid returns the address; invalid: no member can have it.
func (a *address) valid() netip.AddrPort {
	if !a.ip.IsValid() || a.ip.IsUnspecified() || a.ip.IsMulticast() || a.port == 0 {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.ip, a.port)
}

// read reads the IP address: of 4 or 16 bytes.
func (a *address) read(u *unpacker) {
	ip, ok := netip.AddrFromSlice(u.bytes(16))
	if !ok {
		u.fail()
	}
	a.ip = ip.Unmap()
}

// field reads the value of one field.
func (m *message) field(u *unpacker, a *address, field string) bool {
	alive := m.kind == kindAlive
	probe := m.kind == kindPing || m.kind == kindIndirectPing
	asks, says := m.kind == kindIndirectPing, alive || m.kind == kindSuspect || m.kind == kindDead
	switch {
	case field == "Incarnation" && says:
		m.incarnation = uint32(u.uint(math.MaxUint32))
	case field == "Node" && (says || probe):
		m.node = string(u.bytes(maxMemberName))
	case field == "From" && says && !alive, field == "SourceNode" && probe:
		m.from = string(u.bytes(maxMemberName))
	case field == "Addr" && alive, field == "Target" && asks:
		a.read(u)
	case field == "Port" && (alive || asks):
		a.port = uint16(u.uint(math.MaxUint16))
	case field == "Meta" && alive:
		m.meta = u.bytes(MaxMeta)
	case field == "Vsn" && alive:
		return readVersions(u)
	case field == "SeqNo" && !says:
		m.seq = uint32(u.uint(math.MaxUint32))
	case field == "Nack" && asks:
		m.nack = u.bool()
	case field == "Payload" && m.kind == kindAck:
		u.bytes(0)
	case field == "SourceAddr" && probe:
		u.bytes(16)
	case field == "SourcePort" && probe:
		u.uint(math.MaxUint16)
	default:
		return false
	}
	return u.err == nil
}

// readVersions reports whether versions fit those of this member.
func readVersions(u *unpacker) bool {
	v := u.bytes(uint64(len(versions)))
	return len(v) == len(versions) && v[0] <= versions[2] && v[1] >= versions[2] && v[2] == versions[2] && v[3] <= versions[5] &&
		v[4] >= versions[5] && v[5] == versions[5]
}

// packet returns the message as memberlist reads it. What the sender could choose freely is left out.
func (m *message) packet() []byte {
	p := &packer{b: []byte{byte(m.kind)}}
	switch m.kind { //nolint:exhaustive // others are not read, or have a packet of their own
	case kindPing:
		p.fields(3)
		p.uint("SeqNo", uint64(m.seq))
		p.bytes("Node", []byte(m.node))
		p.bytes("SourceNode", []byte(m.from))
	case kindIndirectPing:
		p.fields(6)
		p.uint("SeqNo", uint64(m.seq))
		p.bytes("Target", m.addr.Addr().AsSlice())
		p.uint("Port", uint64(m.addr.Port()))
		p.bytes("Node", []byte(m.node))
		p.bool("Nack", m.nack)
		p.bytes("SourceNode", []byte(m.from))
	case kindAlive:
		p.fields(6)
		p.uint("Incarnation", uint64(m.incarnation))
		m.record(p, "Node")
	case kindSuspect, kindDead:
		p.fields(3)
		p.uint("Incarnation", uint64(m.incarnation))
		p.bytes("Node", []byte(m.node))
		p.bytes("From", []byte(m.from))
	default: // ack and nack
		p.fields(1)
		p.uint("SeqNo", uint64(m.seq))
	}
	return p.b
}

// record writes what a member is.
func (m *message) record(p *packer, name string) {
	p.bytes(name, []byte(m.node))
	p.bytes("Addr", m.addr.Addr().AsSlice())
	p.uint("Port", uint64(m.addr.Port()))
	p.bytes("Meta", m.meta)
	p.bytes("Vsn", versions[:])
}

// readList returns the members in a list, each as the message that says the same.
func readList(b []byte) (list []*message, join bool, err error) {
	if len(b) < 2 || len(b) > maxLists || kind(b[0]) != kindPushPull {
		return nil, false, errPack
	}
	u := &unpacker{rest: b[1:]}
	n := uint64(0)
	u.message(func(field string) bool {
		switch field {
		case "Nodes":
			n = u.uint(maxMembers)
		case "UserStateLen":
			u.uint(0)
		case "Join":
			join = u.bool()
		default:
			return false
		}
		return u.err == nil
	})
	for range n {
		m := readListed(u)
		if u.err != nil {
			break
		}
		list = append(list, m)
	}
	if u.err != nil || len(u.rest) > 0 {
		return nil, false, errPack
	}
	return list, join, nil
}

// readListed reads one member of a list.
func readListed(u *unpacker) *message {
	m, a, state := &message{kind: kindAlive}, &address{}, uint64(0)
	u.message(func(field string) bool {
		switch field {
		case "Name":
			m.node = string(u.bytes(maxMemberName))
		case "State":
			state = u.uint(listedLeft)
		case "Node":
			return false
		default:
			return m.field(u, a, field)
		}
		return u.err == nil
	})
	if m.addr = a.valid(); !m.addr.IsValid() {
		u.fail()
	}
	switch state {
	case listedSuspect, listedDead:
		m.kind = kindSuspect // memberlist takes both for a suspicion
	case listedLeft:
		m.kind, m.from = kindDead, m.node
	}
	return m
}

// list returns a list of members as memberlist reads it.
func list(of []*message, join bool) []byte {
	p := &packer{b: []byte{byte(kindPushPull)}}
	p.fields(3)
	p.uint("Nodes", uint64(len(of)))
	p.uint("UserStateLen", 0)
	p.bool("Join", join)
	for _, m := range of {
		state := uint64(listedAlive)
		switch m.kind { //nolint:exhaustive // a list has these only
		case kindSuspect:
			state = listedSuspect
		case kindDead:
			state = listedLeft
		}
		p.fields(7)
		m.record(p, "Name")
		p.uint("Incarnation", uint64(m.incarnation))
		p.uint("State", state)
	}
	return p.b
}

// kindOf returns what a member of a name is; [KindUnknown]: this is no name of a member.
func kindOf(name string) Kind {
	role, id, _ := strings.Cut(name, "/")
	switch {
	case id == "":
	case role == KindPeer.String():
		return KindPeer
	case role == KindNode.String():
		return KindNode
	}
	return KindUnknown
}

// NameOf returns the name of a member in gossip: its kind and its id, which its certificate proves.
func NameOf(k Kind, id string) string { return k.String() + "/" + id }
