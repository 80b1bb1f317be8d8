package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// page is the file within one transaction.
type page struct{ tx *bolt.Tx }

func keyOf(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// entry is a record as stored in the file.
type entry struct {
	seq  uint64
	hash model.Hash // with it
	data []byte     // valid within the transaction
}

func entryOf(key, value []byte) (e entry, err error) {
	if len(key) != 8 || len(value) < len(e.hash) {
		return e, fmt.Errorf("the archive holds a record of %d bytes under a key of %d", len(value), len(key))
	}
	e.seq = binary.BigEndian.Uint64(key)
	copy(e.hash[:], value)
	e.data = value[len(e.hash):]
	return e, nil
}

func (p *page) at(seq uint64) (entry, bool) {
	value := p.tx.Bucket(bucketRecords).Get(keyOf(seq))
	e, err := entryOf(keyOf(seq), value)
	return e, value != nil && err == nil
}

func (p *page) put(seq uint64, hash model.Hash, data []byte) error {
	value := append(append(make([]byte, 0, len(hash)+len(data)), hash[:]...), data...)
	b := p.tx.Bucket(bucketRecords)
	b.FillPercent = 0.9 // keys mostly rise
	return b.Put(keyOf(seq), value)
}

// hole is records that are missing: first to last, and the hash that the chain has
// with the last.
type hole struct {
	first, last uint64
	hash        model.Hash
	lost        bool // no peer has them
}

const holeSize = 8 + len(model.Hash{}) + 1

func (p *page) holes() (list []hole) {
	for c, k, v := cursor(p.tx.Bucket(bucketHoles)); k != nil; k, v = c.Next() {
		if len(k) != 8 || len(v) != holeSize {
			continue
		}
		h := hole{first: binary.BigEndian.Uint64(k), last: binary.BigEndian.Uint64(v), lost: v[holeSize-1] == 1}
		copy(h.hash[:], v[8:])
		list = append(list, h)
	}
	return list
}

func cursor(b *bolt.Bucket) (c *bolt.Cursor, k, v []byte) {
	c = b.Cursor()
	k, v = c.First()
	return c, k, v
}

// setHole stores a hole; one without records is dropped.
func (p *page) setHole(h hole) error {
	if h.first > h.last {
		return nil
	}
	value := append(keyOf(h.last), h.hash[:]...)
	if h.lost {
		value = append(value, 1)
	} else {
		value = append(value, 0)
	}
	return p.tx.Bucket(bucketHoles).Put(keyOf(h.first), value)
}

func (p *page) dropHole(h hole) error { return p.tx.Bucket(bucketHoles).Delete(keyOf(h.first)) }

// top returns the newest known record, present or missing.
func (p *page) top() (seq uint64, hash model.Hash) {
	if k, v := p.tx.Bucket(bucketRecords).Cursor().Last(); k != nil {
		if e, err := entryOf(k, v); err == nil {
			seq, hash = e.seq, e.hash
		}
	}
	if list := p.holes(); len(list) > 0 && list[len(list)-1].last > seq {
		seq, hash = list[len(list)-1].last, list[len(list)-1].hash
	}
	return seq, hash
}

// note adds the records of one log entry.
func (p *page) note(n *noted) error {
	for i := range n.links {
		if err := p.add(&n.links[i]); err != nil {
			return err
		}
	}
	for _, id := range n.retired {
		if err := (shelf{p}).keep(&n.before, id); err != nil {
			return err
		}
	}
	return nil
}

// add adds a record that this peer itself has made by applying the log, and which therefore counts whatever
// the file holds.
func (p *page) add(l *state.AuditLink) error {
	seq := l.Head.Seq
	top, hash := p.top()
	if seq <= top {
		have, present := p.at(seq)
		switch {
		case present && have.hash == l.Head.Hash:
			if bytes.Equal(have.data, l.Record) {
				return nil // an entry that was replayed
			}
			return p.put(seq, l.Head.Hash, l.Record) // the one in the file is damaged
		case !present:
			return p.plug(l)
		}
		if err := errors.Join(p.setAside(seq, top), (shelf{p}).rewind(l.Head.Index-1)); err != nil {
			return err
		}
		top, hash = p.top()
	}
	if seq == top+1 && hash != l.Before {
		if err := p.setAside(1, top); err != nil {
			return err
		}
		top = 0
	}
	if seq > top+1 {
		if err := p.setHole(hole{first: top + 1, last: seq - 1, hash: l.Before}); err != nil {
			return err
		}
	}
	return p.put(seq, l.Head.Hash, l.Record)
}

// plug puts a record into the hole that it is missing from.
func (p *page) plug(l *state.AuditLink) error {
	seq := l.Head.Seq
	for _, h := range p.holes() {
		if seq < h.first || seq > h.last {
			continue
		}
		if err := p.dropHole(h); err != nil {
			return err
		}
		low := hole{first: h.first, last: seq - 1, hash: l.Before, lost: h.lost}
		high := hole{first: seq + 1, last: h.last, hash: h.hash, lost: h.lost}
		if err := errors.Join(p.setHole(low), p.setHole(high)); err != nil {
			return err
		}
	}
	return p.put(seq, l.Head.Hash, l.Record)
}

// advance notes that the trail has reached a head, even if its last records were never seen here.
func (p *page) advance(head model.AuditHead) error {
	top, _ := p.top()
	return p.setHole(hole{first: top + 1, last: head.Seq, hash: head.Hash})
}

// setAside removes whole holes and records that belong to no valid past: to one that a restore has undone, or
// that was tampered with. They are stored elsewhere.
func (p *page) setAside(first, last uint64) error {
	for seq := first; seq <= last; seq++ {
		if err := p.moveAside(seq); err != nil {
			return err
		}
	}
	if p.number(metaExported) >= first { // other records will have these numbers
		if err := p.setNumber(metaExported, first-1); err != nil {
			return err
		}
	}
	for _, h := range p.holes() {
		if h.last < first || h.first > last {
			continue
		}
		if err := p.dropHole(h); err != nil {
			return err
		}
	}
	return nil
}

// moveAside removes one record and stores it elsewhere; a missing one stays missing.
func (p *page) moveAside(seq uint64) error {
	from, to := p.tx.Bucket(bucketRecords), p.tx.Bucket(bucketAside)
	value := from.Get(keyOf(seq))
	if value == nil {
		return nil
	}
	n, err := to.NextSequence()
	if err != nil {
		return err
	}
	if err := to.Put(append(keyOf(n), keyOf(seq)...), value); err != nil {
		return err
	}
	return from.Delete(keyOf(seq))
}
