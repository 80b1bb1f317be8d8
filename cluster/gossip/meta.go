package gossip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxMeta is the largest encoded record, in bytes. memberlist allows 512 and ends the process beyond; the
// distance leaves space for future fields.
const MaxMeta = 400

// Kind is what a member is.
type Kind uint8

// Kinds travel in records, so their numbers stay.
const (
	// KindUnknown marks a member whose record could not be read: a newer
	// release, or a stranger with our key. It must not be relied on.
	KindUnknown Kind = 0
	// KindPeer is a server: Raft voter and API.
	KindPeer Kind = 1
	// KindNode is a GPU host with an agent.
	KindNode Kind = 2
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case KindUnknown:
		return "unknown"
	case KindPeer:
		return "peer"
	case KindNode:
		return "node"
	default:
		return "kind " + strconv.Itoa(int(k))
	}
}

// Meta is what a member announces about itself. All fields together must encode to at most [MaxMeta] bytes;
// inventories do not belong here.
type Meta struct {
	// Kind is KindPeer or KindNode.
	Kind Kind
	// ID is the peer's or the node's id; required.
	ID string
	// RaftAddr is where a peer speaks Raft ("host:port"); empty for nodes.
	RaftAddr string
	// APIAddr is where the member serves HTTP ("host:port").
	APIAddr string
	// Level is the highest feature level that the member supports.
	Level uint32
	// Version is the release that the member runs, for people to read.
	Version string
}

// A record is: format, flags, kind, level as a uvarint, then the texts, each a uvarint of its length and its
// bytes. A later release may append to it, and readers ignore what follows the fields that they know; a
// change of any other sort needs a new format number.
const (
	metaFormat  = 1
	flagsAt     = 1 // index of the flags byte
	flagLeaving = 1 // the sender is about to depart
)

var errMetaShort = errors.New("gossip: record ends too early")

// texts returns the record's texts in the order of the encoding.
func (m *Meta) texts() [4]*string {
	return [...]*string{&m.ID, &m.RaftAddr, &m.APIAddr, &m.Version}
}

// encodeMeta returns m as a record, or an error when others could not read it or memberlist would not survive
// it.
func encodeMeta(m Meta) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	b := []byte{metaFormat, 0, byte(m.Kind)}
	b = binary.AppendUvarint(b, uint64(m.Level))
	for _, s := range m.texts() {
		b = binary.AppendUvarint(b, uint64(len(*s)))
		b = append(b, *s...)
	}
	if len(b) > MaxMeta {
		return nil, fmt.Errorf("gossip: record of %s has %d bytes, at most %d are allowed; shorten its addresses or version", m.ID, len(b), MaxMeta)
	}
	return b, nil
}

// decodeMeta decodes a record from any sender. It also returns whether the sender is departing.
func decodeMeta(b []byte) (m Meta, leaving bool, err error) {
	if len(b) < 3 {
		return Meta{}, false, errMetaShort
	}
	if b[0] != metaFormat {
		return Meta{}, false, fmt.Errorf("gossip: record has format %d, this release reads %d", b[0], metaFormat)
	}
	leaving = b[flagsAt]&flagLeaving != 0
	m.Kind, b = Kind(b[2]), b[3:]
	level, n := binary.Uvarint(b)
	if n <= 0 || level > math.MaxUint32 {
		return Meta{}, false, errors.New("gossip: record has no valid feature level")
	}
	m.Level, b = uint32(level), b[n:]
	for _, s := range m.texts() {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return Meta{}, false, errMetaShort
		}
		b = b[n:]
		*s, b = string(b[:size]), b[size:]
	}
	if err := m.check(); err != nil {
		return Meta{}, false, err
	}
	return m, leaving, nil
}

// check returns an error unless the record may be shown and relied on.
func (m *Meta) check() error {
	if m.Kind != KindPeer && m.Kind != KindNode {
		return fmt.Errorf("gossip: record has %s; it must be peer or node", m.Kind)
	}
	if m.ID == "" {
		return errors.New("gossip: record has no id")
	}
	for _, s := range m.texts() {
		if !utf8.ValidString(*s) {
			return fmt.Errorf("gossip: record of %q has a text that is not UTF-8: %q", m.ID, *s)
		}
	}
	return nil
}

// markLeaving returns a copy of a record that marks its sender as departing.
func markLeaving(record []byte) []byte {
	record = bytes.Clone(record)
	record[flagsAt] |= flagLeaving
	return record
}
