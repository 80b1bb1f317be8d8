package archive

import (
	"errors"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

const (
	scanStep  = 2000           // records that are checked within one transaction
	scanEvery = 24 * time.Hour // between two checks of the whole trail
)

// scan checks the records of the file from the newest down, each by the hash in the one above it, or for the
// newest that in the state. A mismatch is stored elsewhere and becomes a hole, which is filled from other
// peers like any other.
type scan struct {
	next    uint64     // record to check next; 0: the trail has been checked
	want    model.Hash // of the chain with that record
	due     time.Time  // of the next whole check
	damaged map[uint64]bool
}

// check continues the check of the trail, for some records.
func (s *scan) check(a *Archive, head model.AuditHead) error {
	for seq := range s.damaged {
		if a.has(seq) {
			delete(s.damaged, seq)
			a.log.Info("replaced a damaged archive record from another peer", "record", seq, "file", a.cfg.Path)
		}
	}
	if s.next == 0 {
		if time.Now().Before(s.due) {
			return nil
		}
		s.next, s.want, s.due = head.Seq, head.Hash, time.Now().Add(scanEvery)
	}
	var bad []finding
	if err := a.vault.view(func(p *page) error { bad = s.step(p); return nil }); err != nil || len(bad) == 0 {
		return err
	}
	for _, f := range bad {
		if f.repair == nil {
			s.note(f.seq)
			a.log.Error("damaged archive record: fetching it from other peers", "record", f.seq, "file", a.cfg.Path)
		} else {
			a.log.Error("damaged archive hash: corrected from the next record", "record", f.seq, "file", a.cfg.Path)
		}
	}
	return a.vault.update(func(p *page) error {
		for _, f := range bad {
			if err := f.mend(p); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *scan) note(seq uint64) {
	if s.damaged == nil {
		s.damaged = map[uint64]bool{}
	}
	s.damaged[seq] = true
}

// has reports whether a record is in the file.
func (a *Archive) has(seq uint64) (present bool) {
	err := a.vault.view(func(p *page) error { _, present = p.at(seq); return nil })
	return present && err == nil
}

// finding is one damaged place: a record, or, with repair set, a stored hash.
type finding struct {
	seq    uint64
	hash   model.Hash // that the chain has with the record
	repair []byte     // data of the record, which is sound; nil: it is not
}

// mend corrects a hash, or makes a hole in place of a record, which is stored elsewhere.
func (f finding) mend(p *page) error {
	if f.repair != nil {
		return p.put(f.seq, f.hash, f.repair)
	}
	return errors.Join(p.moveAside(f.seq), p.setHole(hole{first: f.seq, last: f.seq, hash: f.hash}))
}

// step checks some records and returns the damaged ones.
func (s *scan) step(p *page) (bad []finding) {
	holes := p.holes()
	for range scanStep {
		if s.next == 0 {
			return bad
		}
		if h, in := within(holes, s.next); in {
			s.next = h.first - 1
			s.want, _ = p.hashAt(s.next) // nothing vouches for it but what lies below
			continue
		}
		bad = append(bad, s.look(p)...)
	}
	return bad
}

// look checks the next record and goes down by one.
func (s *scan) look(p *page) []finding {
	seq, want := s.next, s.want
	e, present := p.at(seq)
	before, known := p.hashAt(seq - 1)
	s.next, s.want = seq-1, before
	r, err := state.DecodeAudit(e.data)
	sound := present && err == nil && r.Seq == seq
	if sound && known && state.ChainAudit(before, e.data) == want {
		if e.hash == want {
			return nil
		}
		return []finding{{seq, want, clone(e.data)}}
	}
	if low, present := p.at(seq - 1); sound && present { // or is it the hash below that is damaged?
		if lower, known := p.hashAt(seq - 2); known {
			mended := state.ChainAudit(lower, low.data)
			if state.ChainAudit(mended, e.data) == want {
				s.want = mended
				return []finding{{seq - 1, mended, clone(low.data)}}
			}
		}
	}
	return []finding{{seq, want, nil}}
}

func clone(b []byte) []byte { return append([]byte{}, b...) }
