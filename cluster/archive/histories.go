package archive

import (
	"encoding/binary"
	"errors"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxKept is about how many jobs' histories one transaction stores.
const maxKept = 200

// Keys of the bucket meta.
var (
	metaEnded    = []byte("ended")    // log index up to which the ends of jobs were looked at
	metaMissing  = []byte("missing")  // histories that other peers have: after an index, up to another; whether they are lost
	metaExported = []byte("exported") // seq of the newest record that was written out as JSON
)

func (p *page) number(key []byte) uint64 {
	if v := p.tx.Bucket(bucketMeta).Get(key); len(v) == 8 {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

func (p *page) setNumber(key []byte, n uint64) error {
	return p.tx.Bucket(bucketMeta).Put(key, keyOf(n))
}

// shelf is the part of the file with histories.
type shelf struct{ *page }

// rewind makes the ends of jobs after a log index be read again.
func (p shelf) rewind(index uint64) error {
	return p.setNumber(metaEnded, min(index, p.number(metaEnded)))
}

// span is histories that are missing: of jobs that ended after one log index and up to another, and have left
// the state.
type span struct {
	after, to uint64
	lost      bool // no peer has all of them
}

const spanSize = 17

func (p shelf) missing() (m span) {
	if v := p.tx.Bucket(bucketMeta).Get(metaMissing); len(v) == spanSize {
		m = span{binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:]), v[16] == 1}
	}
	return m
}

func (p shelf) setMissing(m span) error {
	if m.after >= m.to {
		return p.tx.Bucket(bucketMeta).Delete(metaMissing)
	}
	lost := byte(0)
	if m.lost {
		lost = 1
	}
	return p.tx.Bucket(bucketMeta).Put(metaMissing, append(binary.BigEndian.AppendUint64(keyOf(m.after), m.to), lost))
}

// miss notes which jobs have left the state before their end was seen here.
func (p shelf) miss(s *state.State) error {
	ended, gone := p.number(metaEnded), s.Settings().ArchivedTo
	if gone <= ended {
		return nil
	}
	m := p.missing()
	if m.after >= m.to || m.lost {
		m = span{after: ended}
	}
	m.to = gone
	return errors.Join(p.setMissing(m), p.setNumber(metaEnded, gone), p.keepOlder(s, ended, gone))
}

// keepOlder stores those jobs of a span that are still in the state.
func (p shelf) keepOlder(s *state.State, after, to uint64) error {
	for k := range s.Ended.From(state.EndedKey{Index: after + 1}) {
		if k.Index > to {
			break
		}
		if err := p.keep(s, k.Job); err != nil {
			return err
		}
	}
	return nil
}

// isUpTo reports whether the archive is complete for a state.
func (p shelf) isUpTo(s *state.State) bool {
	set, ended := s.Settings(), p.number(metaEnded)
	for range s.Ended.From(state.EndedKey{Index: ended + 1}) {
		return false
	}
	top, _ := p.top()
	return set.Audit.Seq <= top && set.ArchivedTo <= ended
}

// keepEnded stores the histories of jobs that have ended since its last call, and reports whether there are
// more.
func (p shelf) keepEnded(s *state.State) (more bool, err error) {
	ended := p.number(metaEnded)
	n, last := 0, ended
	for k := range s.Ended.From(state.EndedKey{Index: ended + 1}) {
		if n >= maxKept && k.Index != last {
			more = true
			break
		}
		if err := p.keep(s, k.Job); err != nil {
			return false, err
		}
		n, last = n+1, k.Index
	}
	if last == ended {
		return false, nil
	}
	return more, p.setNumber(metaEnded, last)
}

// HistoryKey orders parts of histories by the end of their job.
type HistoryKey struct {
	Index uint64      `cbor:"1,keyasint,omitempty"` // of the log entry that ended the job
	Job   model.JobID `cbor:"2,keyasint,omitempty"`
	Part  uint32      `cbor:"3,keyasint,omitempty"` // of an array, from 0
}

const historyKeySize = 20

func (k HistoryKey) bytes() []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(keyOf(k.Index), uint64(k.Job)), k.Part)
}

func historyKeyOf(b []byte) (k HistoryKey, ok bool) {
	if len(b) != historyKeySize {
		return k, false
	}
	return HistoryKey{
		Index: binary.BigEndian.Uint64(b), Job: model.JobID(binary.BigEndian.Uint64(b[8:])), Part: binary.BigEndian.Uint32(b[16:]),
	}, true
}

// keep stores the history of a job of a state, in place of the stored one.
func (p shelf) keep(s *state.State, id model.JobID) error {
	parts := s.Histories(id)
	if len(parts) == 0 || parts[0].Job.EndIndex == 0 {
		return nil
	}
	if err := p.forget(id); err != nil {
		return err
	}
	for i := range parts {
		data, err := parts[i].Encode()
		if err != nil {
			return err
		}
		k := HistoryKey{Index: parts[0].Job.EndIndex, Job: id, Part: uint32(i)}
		if err := p.putHistory(k, data); err != nil {
			return err
		}
	}
	return nil
}

func (p shelf) putHistory(k HistoryKey, data []byte) error {
	return errors.Join(p.tx.Bucket(bucketJobs).Put(keyOf(uint64(k.Job)), keyOf(k.Index)), p.tx.Bucket(bucketHistories).Put(k.bytes(), data))
}

// forget drops the stored history of a job: the job was requeued, and has ended once more.
func (p shelf) forget(id model.JobID) error {
	at := p.tx.Bucket(bucketJobs).Get(keyOf(uint64(id)))
	if len(at) != 8 {
		return nil
	}
	b := p.tx.Bucket(bucketHistories)
	for k := (HistoryKey{Index: binary.BigEndian.Uint64(at), Job: id}); b.Get(k.bytes()) != nil; k.Part++ {
		if err := b.Delete(k.bytes()); err != nil {
			return err
		}
	}
	return nil
}

// history reads one part of a job's history.
func (p shelf) history(id model.JobID, part uint32) (h state.History, found bool, err error) {
	at := p.tx.Bucket(bucketJobs).Get(keyOf(uint64(id)))
	if len(at) != 8 {
		return h, false, nil
	}
	data := p.tx.Bucket(bucketHistories).Get(HistoryKey{binary.BigEndian.Uint64(at), id, part}.bytes())
	if data == nil {
		return h, false, nil
	}
	h, err = state.DecodeHistory(data)
	return h, err == nil, err
}

// Past returns a state that holds a job's archived history: all of it, or for a large array its first tasks
// and those around the given one.
func (a *Archive) Past(id model.JobID, task uint32) (s state.State, found bool, err error) {
	err = a.vault.view(func(p *page) error {
		first, have, err := shelf{p}.history(id, 0)
		if err != nil || !have {
			return err
		}
		parts := []state.History{first}
		for n := uint32(1); !holds(&parts[len(parts)-1], task); n++ {
			next, have, err := shelf{p}.history(id, n)
			if err != nil || !have {
				break
			}
			parts = append(parts[:1], next)
		}
		s, found = state.Recall(parts...), true
		return nil
	})
	return s, found, err
}

// holds reports whether a task is in a part, or would be.
func holds(h *state.History, task uint32) bool {
	return len(h.Tasks) == 0 || h.Tasks[len(h.Tasks)-1].Key.Task >= task
}
