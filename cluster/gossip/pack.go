package gossip

import (
	"encoding/binary"
	"errors"
	"math"
)

// memberlist's messages are maps of MessagePack from the names of fields to numbers, truth values and bytes. This file reads
// and writes that part of MessagePack, and bounds each length before anything of it is kept.

// maxFields bounds the fields of one message.
const maxFields = 8

var errPack = errors.New("not a message of gossip")

// unpacker reads MessagePack. After the first error it returns zero values.
type unpacker struct {
	rest []byte
	err  error
}

func (u *unpacker) fail() { u.rest, u.err = nil, errPack }

// take returns the next n bytes.
func (u *unpacker) take(n uint64) []byte {
	if u.err != nil || n > uint64(len(u.rest)) {
		u.fail()
		return nil
	}
	var b []byte
	b, u.rest = u.rest[:n], u.rest[n:]
	return b
}

// number returns a big-endian number of n bytes.
func (u *unpacker) number(n uint64) (v uint64) {
	for _, b := range u.take(n) {
		v = v<<8 | uint64(b)
	}
	return v
}

// kind returns the first byte of a value.
func (u *unpacker) kind() byte {
	b := u.take(1)
	if b == nil {
		return 0
	}
	return b[0]
}

// message reads a map: value reads the value of one field, and reports whether there is such a field. No field may come twice.
func (u *unpacker) message(value func(field string) bool) {
	n := uint64(0)
	switch k := u.kind(); {
	case k&0xf0 == 0x80:
		n = uint64(k & 0x0f)
	case k == 0xde:
		n = u.number(2)
	default:
		u.fail()
	}
	if n > maxFields {
		u.fail()
	}
	seen := make(map[string]bool, maxFields)
	for range n {
		field := string(u.bytes(maxName))
		if u.err != nil || seen[field] || !value(field) {
			u.fail()
			return
		}
		seen[field] = true
	}
}

// bytes reads a text or bytes, of at most so many.
func (u *unpacker) bytes(most uint64) []byte {
	n := uint64(0)
	switch k := u.kind(); {
	case k&0xe0 == 0xa0:
		n = uint64(k & 0x1f)
	case k == 0xd9, k == 0xc4:
		n = u.number(1)
	case k == 0xda, k == 0xc5:
		n = u.number(2)
	case k == 0xdb, k == 0xc6:
		n = u.number(4)
	case k == 0xc0:
	default:
		u.fail()
	}
	if n > most {
		u.fail()
	}
	return u.take(n)
}

// uint reads a number that is not negative, of at most so much.
func (u *unpacker) uint(most uint64) uint64 {
	v := uint64(0)
	switch k := u.kind(); {
	case k < 0x80:
		v = uint64(k)
	case k >= 0xcc && k <= 0xcf:
		v = u.number(1 << (k - 0xcc))
	default:
		u.fail()
	}
	if v > most {
		u.fail()
		return 0
	}
	return v
}

// bool reads a truth value.
func (u *unpacker) bool() bool {
	k := u.kind()
	if k != 0xc2 && k != 0xc3 {
		u.fail()
	}
	return k == 0xc3
}

// packer writes MessagePack in the forms that memberlist's own encoder uses.
type packer struct{ b []byte }

func (p *packer) fields(n int) { p.b = append(p.b, 0x80|byte(n)) }

func (p *packer) bytes(field string, v []byte) {
	p.text(field)
	p.text(string(v))
}

func (p *packer) text(s string) {
	switch n := len(s); {
	case n < 32:
		p.b = append(p.b, 0xa0|byte(n))
	default:
		p.b = binary.BigEndian.AppendUint16(append(p.b, 0xda), uint16(n))
	}
	p.b = append(p.b, s...)
}

func (p *packer) uint(field string, v uint64) {
	p.text(field)
	switch {
	case v < 0x80:
		p.b = append(p.b, byte(v))
	case v <= math.MaxUint32:
		p.b = binary.BigEndian.AppendUint32(append(p.b, 0xce), uint32(v))
	default:
		p.b = binary.BigEndian.AppendUint64(append(p.b, 0xcf), v)
	}
}

func (p *packer) bool(field string, v bool) {
	p.text(field)
	if v {
		p.b = append(p.b, 0xc3)
		return
	}
	p.b = append(p.b, 0xc2)
}
