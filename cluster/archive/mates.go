package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxGiven bounds an answer to another peer, in bytes, but for its first item.
const maxGiven = 256 << 10

// RecordsWanted asks for records: from the last one down, as far as they fit.
type RecordsWanted struct {
	First uint64 `cbor:"1,keyasint"`
	Last  uint64 `cbor:"2,keyasint"`
}

// RecordsGiven is what is there of them: with each record the hash before it.
type RecordsGiven struct {
	Before  []model.Hash `cbor:"1,keyasint,omitempty"`
	Records [][]byte     `cbor:"2,keyasint,omitempty"`
}

// HistoriesWanted asks for the histories of jobs that ended after a key and up to a
// log index.
type HistoriesWanted struct {
	After HistoryKey `cbor:"1,keyasint"`
	To    uint64     `cbor:"2,keyasint"`
}

// HistoriesGiven is what is there of them, in order.
type HistoriesGiven struct {
	Keys  []HistoryKey `cbor:"1,keyasint,omitempty"`
	Data  [][]byte     `cbor:"2,keyasint,omitempty"`
	More  bool         `cbor:"3,keyasint,omitempty"`
	Whole bool         `cbor:"4,keyasint,omitempty"` // the archive that answers lacks none of them
}

// Records answers another peer. It gives none only if they are lost here, too; what
// is still to be written or had from others is an error.
func (a *Archive) Records(q RecordsWanted) (given RecordsGiven, err error) {
	err = a.vault.view(func(p *page) error {
		if top, _ := p.top(); q.Last > top {
			return ErrUnavailable
		}
		if h, in := within(p.holes(), q.Last); in && !h.lost {
			return ErrUnavailable
		}
		size := 0
		for seq := q.Last; seq >= max(q.First, 1) && size < maxGiven; seq-- {
			e, present := p.at(seq)
			before, known := p.hashAt(seq - 1)
			if !present || !known {
				break
			}
			given.Before, given.Records = append(given.Before, before), append(given.Records, bytes.Clone(e.data))
			size += len(e.data) + len(before)
		}
		return nil
	})
	return given, err
}

// hashAt is the chain's hash with a record, if it is known.
func (p *page) hashAt(seq uint64) (model.Hash, bool) {
	if seq == 0 {
		return model.Hash{}, true
	}
	if e, present := p.at(seq); present {
		return e.hash, true
	}
	for _, h := range p.holes() {
		if h.last == seq {
			return h.hash, true
		}
	}
	return model.Hash{}, false
}

// Histories answers another peer. They are not whole only if some are lost here, too.
func (a *Archive) Histories(q HistoriesWanted) (given HistoriesGiven, err error) {
	err = a.vault.view(func(p *page) error {
		m := shelf{p}.missing()
		given.Whole = m.after >= m.to || m.after >= q.To || m.to <= q.After.Index
		if p.number(metaEnded) < q.To || !given.Whole && !m.lost {
			return ErrUnavailable
		}
		c := p.tx.Bucket(bucketHistories).Cursor()
		after, size := q.After.bytes(), 0
		for b, data := c.Seek(after); b != nil; b, data = c.Next() {
			k, ok := historyKeyOf(b)
			if !ok || bytes.Equal(b, after) {
				continue
			}
			if k.Index > q.To {
				break
			}
			if size >= maxGiven {
				given.More = true
				break
			}
			given.Keys, given.Data = append(given.Keys, k), append(given.Data, bytes.Clone(data))
			size += len(data)
		}
		return nil
	})
	return given, err
}

// others is how the other peers are asked; before Run there are none.
func (a *Archive) others() World {
	if w := a.world.Load(); w != nil {
		return *w
	}
	return World{Mates: func() []model.PeerID { return nil }}
}

// complete takes from other peers what is missing here.
func (a *Archive) complete(ctx context.Context) error {
	var holes []hole
	var m span
	err := a.vault.view(func(p *page) error {
		holes, m = p.holes(), shelf{p}.missing()
		return nil
	})
	if err != nil {
		return err
	}
	for i := len(holes) - 1; i >= 0; i-- {
		if h := holes[i]; !h.lost {
			err = errors.Join(err, a.fill(ctx, h))
		}
	}
	if m.after < m.to && !m.lost {
		err = errors.Join(err, a.fetch(ctx, m))
	}
	return err
}

// fill asks the others for the records of a hole. If all have answered and none has
// any, they are lost.
func (a *Archive) fill(ctx context.Context, h hole) error {
	silent := false
	for _, mate := range a.others().Mates() {
		for {
			given, err := a.others().Records(ctx, mate, RecordsWanted{First: h.first, Last: h.last})
			if err != nil {
				silent = true
				break
			}
			rest, err := a.accept(h, given)
			if err != nil || rest.first > rest.last {
				return err
			}
			if rest.last == h.last {
				break
			}
			h = rest
		}
	}
	if silent {
		return nil // another time
	}
	a.log.Error("records of the audit trail are in no peer's archive", "first", h.first, "last", h.last)
	h.lost = true
	return a.vault.update(func(p *page) error { return p.setHole(h) })
}

// accept puts records into a hole, as far as they are the chain's, and returns what
// is left of it.
func (a *Archive) accept(h hole, given RecordsGiven) (rest hole, err error) {
	rest = h
	if len(given.Records) == 0 || len(given.Records) != len(given.Before) {
		return rest, nil
	}
	err = a.vault.update(func(p *page) error {
		rest = h
		if err := p.dropHole(h); err != nil {
			return err
		}
		for i, data := range given.Records {
			r, err := state.DecodeAudit(data)
			if err != nil || r.Seq != rest.last || state.ChainAudit(given.Before[i], data) != rest.hash {
				a.log.Error("another peer's archive holds a record that is not the trail's; it was not taken", "record", rest.last)
				break
			}
			if err := p.put(rest.last, rest.hash, data); err != nil {
				return err
			}
			rest.last, rest.hash = rest.last-1, given.Before[i]
			if rest.first > rest.last {
				return join(p, rest, a.log)
			}
		}
		return p.setHole(rest)
	})
	return rest, err
}

// join compares the hash before a hole that has been filled with what lies below it.
// If they differ, what lies below is of no past that counts.
func join(p *page, filled hole, log *slog.Logger) error {
	below := filled.first - 1
	if hash, known := p.hashAt(below); known && hash == filled.hash {
		return nil
	}
	log.Error("the archive's older records are not the trail's: they were set aside and are taken from other peers", "up_to", below)
	return errors.Join(p.setAside(1, below), p.setHole(hole{first: 1, last: below, hash: filled.hash}))
}

// fetch asks the others for histories. One that has all of them gives them all; if
// all have answered and none has, what there is was taken and the rest is lost.
func (a *Archive) fetch(ctx context.Context, m span) error {
	silent := false
	for _, mate := range a.others().Mates() {
		whole, err := a.fetchFrom(ctx, mate, m)
		if err != nil {
			silent = true
			a.log.Debug("a peer's archive does not answer", "of", mate, "err", err)
			continue
		}
		if whole {
			return a.vault.update(func(p *page) error { return shelf{p}.setMissing(span{}) })
		}
	}
	if silent {
		return nil
	}
	a.log.Error("histories of jobs are in no peer's archive", "ended_after", m.after, "ended_to", m.to)
	m.lost = true
	return a.vault.update(func(p *page) error { return shelf{p}.setMissing(m) })
}

func (a *Archive) fetchFrom(ctx context.Context, mate model.PeerID, m span) (whole bool, err error) {
	q := HistoriesWanted{After: HistoryKey{Index: m.after, Job: ^model.JobID(0), Part: ^uint32(0)}, To: m.to}
	for whole = true; ; {
		given, err := a.others().Histories(ctx, mate, q)
		if err != nil {
			return false, err
		}
		if len(given.Keys) != len(given.Data) {
			return false, fmt.Errorf("peer %s gives %d histories under %d names", mate, len(given.Data), len(given.Keys))
		}
		err = a.vault.update(func(p *page) error {
			for i, k := range given.Keys {
				h, err := state.DecodeHistory(given.Data[i])
				if err != nil || h.Job.ID != k.Job || h.Job.EndIndex != k.Index {
					return fmt.Errorf("peer %s gives a history of job %s that is none: %w", mate, k.Job, err)
				}
				if err := (shelf{p}).putHistory(k, given.Data[i]); err != nil {
					return err
				}
			}
			return nil
		})
		whole = whole && given.Whole
		if err != nil || !given.More || len(given.Keys) == 0 {
			return whole, err
		}
		q.After = given.Keys[len(given.Keys)-1]
	}
}

// standing sums the file up; index is the log index of a state that it is up to.
func (v *vault) standing(index uint64) (s Standing, err error) {
	err = v.view(func(p *page) error {
		s.Seq, _ = p.top()
		for _, h := range p.holes() {
			if h.lost {
				s.Lost += h.last - h.first + 1
			} else {
				s.Missing += h.last - h.first + 1
			}
		}
		if m := (shelf{p}).missing(); s.Missing == 0 && (m.after >= m.to || m.lost) {
			s.CompleteTo = index
		}
		return nil
	})
	return s, err
}
