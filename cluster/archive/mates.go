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

const (
	maxGiven   = 256 << 10 // bytes of an answer to another peer; of records, but for the last
	maxHistory = 256 << 20 // bytes of one part of a history that are believed
)

// RecordsWanted is a request for records: from the last one down, as far as they fit.
type RecordsWanted struct {
	First uint64 `cbor:"1,keyasint"`
	Last  uint64 `cbor:"2,keyasint"`
}

// RecordsGiven is the answer: each record with the hash before it.
type RecordsGiven struct {
	Before  []model.Hash `cbor:"1,keyasint,omitempty"`
	Records [][]byte     `cbor:"2,keyasint,omitempty"`
}

// HistoriesWanted is a request for the histories of jobs that ended after a key and up to a log index.
type HistoriesWanted struct {
	After HistoryKey `cbor:"1,keyasint"`
	To    uint64     `cbor:"2,keyasint"`
	Have  uint64     `cbor:"3,keyasint,omitempty"` // bytes of the first one that were given before
}

// HistoriesGiven is the answer, in order.
type HistoriesGiven struct {
	Keys  []HistoryKey `cbor:"1,keyasint,omitempty"`
	Data  [][]byte     `cbor:"2,keyasint,omitempty"`
	More  bool         `cbor:"3,keyasint,omitempty"`
	Whole bool         `cbor:"4,keyasint,omitempty"` // the archive that answers lacks none of them
	Rest  uint64       `cbor:"5,keyasint,omitempty"` // bytes of the last one that did not fit
}

// Records answers another peer's request. The answer is empty only if this archive lacks the last of the
// records; records that are still to be written are an error.
func (a *Archive) Records(q RecordsWanted) (given RecordsGiven, err error) {
	err = a.vault.view(func(p *page) error {
		if top, _ := p.top(); q.Last > top {
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

// hashAt returns the chain's hash with a record, if it is known.
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

// Histories answers another peer's request. The answer is marked incomplete if some are missing here, too.
func (a *Archive) Histories(q HistoriesWanted) (given HistoriesGiven, err error) {
	err = a.vault.view(func(p *page) error {
		m := shelf{p}.missing()
		given.Whole = m.after >= m.to || m.after >= q.To || m.to <= q.After.Index
		if p.number(metaEnded) < q.To {
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
			if size > 0 && size+len(data) > maxGiven {
				given.More = true
				break
			}
			if size == 0 {
				data = data[min(q.Have, uint64(len(data))):]
			}
			if over := len(data) - maxGiven; over > 0 {
				data, given.Rest, given.More = data[:maxGiven], uint64(over), true
			}
			given.Keys, given.Data = append(given.Keys, k), append(given.Data, bytes.Clone(data))
			if size += max(len(data), 1); given.Rest > 0 {
				break
			}
		}
		return nil
	})
	return given, err
}

// others returns the access to the other peers; before Run there is none.
func (a *Archive) others() World {
	if w := a.world.Load(); w != nil {
		return *w
	}
	return World{Mates: func() ([]model.PeerID, bool) { return nil, false }}
}

// complete takes missing records and histories from other peers, once these are known.
func (a *Archive) complete(ctx context.Context) (err error) {
	mates, known := a.others().Mates()
	if !known {
		return nil
	}
	for under, more := ^uint64(0), true; more && ctx.Err() == nil; {
		var h hole
		look := a.vault.view(func(p *page) error {
			h, more = p.newestHole(under) // again each time: filling one hole may show that those below are none
			return nil
		})
		if look != nil {
			return errors.Join(err, look)
		}
		if under = h.first; more {
			err = errors.Join(err, a.fill(ctx, mates, h))
		}
	}
	var m span
	if look := a.vault.view(func(p *page) error { m = shelf{p}.missing(); return nil }); look != nil {
		return errors.Join(err, look)
	}
	if m.after < m.to && !m.lost {
		err = errors.Join(err, a.fetch(ctx, mates, m))
	}
	return err
}

// newestHole returns the newest hole that begins before a record and is not lost.
func (p *page) newestHole(under uint64) (newest hole, found bool) {
	for _, h := range p.holes() {
		if h.first < under && !h.lost {
			newest, found = h, true
		}
	}
	return newest, found
}

// fill requests the records of a hole from the others. If all have answered and none has any, they are lost.
func (a *Archive) fill(ctx context.Context, mates []model.PeerID, h hole) error {
	silent := false
	for _, mate := range mates {
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
	a.log.Error("audit records lost: no peer's archive has them", "first", h.first, "last", h.last)
	h.lost = true
	return a.vault.update(func(p *page) error { return p.setHole(h) })
}

// accept puts records into a hole, as far as they belong to the chain, and returns the rest of the hole.
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
				a.log.Error("wrong audit record from another peer, dropped", "record", rest.last)
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

// join compares the hash before a filled hole with the records below. If they differ, the records below
// belong to no valid past.
func join(p *page, filled hole, log *slog.Logger) error {
	below := filled.first - 1
	if hash, known := p.hashAt(below); known && hash == filled.hash {
		return nil
	}
	log.Error("wrong older audit records: set aside, fetching them from other peers", "up_to", below)
	return errors.Join(p.setAside(1, below), p.setHole(hole{first: 1, last: below, hash: filled.hash}))
}

// fetch requests histories from the others. One that has all of them sends them all; if all have answered and
// none has all, the available ones were taken and the rest is lost.
func (a *Archive) fetch(ctx context.Context, mates []model.PeerID, m span) error {
	silent := false
	for _, mate := range mates {
		whole, err := a.fetchFrom(ctx, mate, m)
		if err != nil {
			silent = true
			a.log.Debug("no answer from a peer's archive", "of", mate, "err", err)
			continue
		}
		if whole {
			return a.vault.update(func(p *page) error { return shelf{p}.setMissing(span{}) })
		}
	}
	if silent {
		return nil
	}
	a.log.Error("job histories lost: no peer's archive has them", "ended_after", m.after, "ended_to", m.to)
	m.lost = true
	return a.vault.update(func(p *page) error { return shelf{p}.setMissing(m) })
}

func (a *Archive) fetchFrom(ctx context.Context, mate model.PeerID, m span) (whole bool, err error) {
	q := HistoriesWanted{After: HistoryKey{Index: m.after, Job: ^model.JobID(0), Part: ^uint32(0)}, To: m.to}
	var begun []byte // of the history that comes in pieces
	for whole = true; ; {
		given, err := a.others().Histories(ctx, mate, q)
		if err != nil {
			return false, err
		}
		n := len(given.Keys)
		if n != len(given.Data) || len(begun) > maxHistory {
			return false, fmt.Errorf("peer %s gives %d histories under %d names, after %d bytes of one", mate, len(given.Data), n, len(begun))
		}
		whole = whole && given.Whole
		if n == 0 {
			return whole && len(begun) == 0, nil
		}
		given.Data[0], begun = append(begun, given.Data[0]...), nil
		if given.Rest > 0 {
			n, begun = n-1, given.Data[n-1]
		}
		if err := a.vault.shelve(mate, given.Keys[:n], given.Data); err != nil || !given.More {
			return whole, err
		}
		if n > 0 {
			q.After = given.Keys[n-1]
		}
		q.Have = uint64(len(begun))
	}
}

// shelve stores histories from a peer.
func (v *vault) shelve(mate model.PeerID, keys []HistoryKey, data [][]byte) error {
	if len(keys) == 0 {
		return nil
	}
	return v.update(func(p *page) error {
		for i, k := range keys {
			h, err := state.DecodeHistory(data[i])
			if err != nil || h.Job.ID != k.Job || h.Job.EndIndex != k.Index {
				return fmt.Errorf("peer %s gives a history of job %s that is none: %w", mate, k.Job, err)
			}
			if err := (shelf{p}).putHistory(k, data[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// standing sums the file up; index is the log index of a state for which the file is complete.
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
