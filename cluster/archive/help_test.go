package archive

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// verifyMagic checks only the file's two first pages, with the magic number and the length of a bolt file.
// The peer's own check, of cluster/raftstore, reads all.
func verifyMagic(path string) error {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(data) < 4*os.Getpagesize() || binary.LittleEndian.Uint32(data[16:]) != 0xED0CDAED:
		return errors.New("not a whole bolt file")
	}
	return nil
}

// rig is a log applied to one state, and archives that note its entries.
type rig struct {
	t        *testing.T
	s        state.State
	archives map[model.PeerID]*Archive
	dead     map[model.PeerID]bool // do not answer
	alone    bool                  // the members are unknown
}

func newRig(t *testing.T, peers ...model.PeerID) *rig {
	r := &rig{t: t, archives: map[model.PeerID]*Archive{}, dead: map[model.PeerID]bool{}}
	for _, id := range peers {
		r.open(id, filepath.Join(t.TempDir(), "archive.db"))
	}
	r.do(&command.Bootstrap{
		Incarnation: statetest.Incarnation(1), Level: 1, Running: true, Policy: "fcfs", Retention: model.Retention{Age: model.MaxDuration},
	})
	return r
}

// open begins a peer's archive over a file.
func (r *rig) open(id model.PeerID, path string) *Archive {
	a := New(Config{Path: path, Log: slog.New(slog.DiscardHandler), Verify: verifyMagic})
	a.world.Store(&World{
		State: func() state.State { return r.s },
		Mates: func() (out []model.PeerID, known bool) {
			if r.alone {
				return nil, false
			}
			for _, other := range []model.PeerID{"p1", "p2", "p3"} {
				if r.archives[other] != nil && other != id {
					out = append(out, other)
				}
			}
			return out, true
		},
		Records: func(_ context.Context, of model.PeerID, q RecordsWanted) (RecordsGiven, error) {
			if r.dead[of] {
				return RecordsGiven{}, errors.New("no answer")
			}
			return r.archives[of].Records(q)
		},
		Histories: func(_ context.Context, of model.PeerID, q HistoriesWanted) (HistoriesGiven, error) {
			if r.dead[of] {
				return HistoriesGiven{}, errors.New("no answer")
			}
			return r.archives[of].Histories(q)
		},
	})
	r.archives[id] = a
	r.t.Cleanup(a.vault.close)
	return a
}

// do applies one entry, which all archives note but those of the given peers.
func (r *rig) do(body command.Body, but ...model.PeerID) command.Result {
	r.t.Helper()
	c, err := command.New("user:ann", body)
	if err != nil {
		r.t.Fatal(err)
	}
	next, results, changes := apply.Apply(r.s, state.Meta{Index: r.s.Index + 1, Term: 1, At: model.Time(r.s.Index+1) * 1e9, By: "p1"},
		[]command.Command{c})
	for id, a := range r.archives {
		if len(but) == 0 || id != but[0] {
			a.Note(r.s, changes)
		}
	}
	r.s = next
	return results[0]
}

// end submits a job and cancels it.
func (r *rig) end(but ...model.PeerID) model.JobID {
	id := r.do(statetest.Job(1), but...).Job
	r.do(&command.Cancel{Job: id, Task: model.AllTasks}, but...)
	return id
}

// settle runs a round of archives, and returns the status.
func (r *rig) settle(ids ...model.PeerID) (s Standing) {
	for _, id := range ids {
		r.archives[id].round(r.t.Context())
		s = r.archives[id].Standing()
	}
	return s
}

// whole fails the test unless an archive holds the trail from its first record to the
// state's head.
func (r *rig) whole(id model.PeerID) {
	r.t.Helper()
	head := r.s.Settings().Audit
	v, err := r.archives[id].Verify(r.t.Context(), head)
	if err != nil || v != (Verdict{Records: head.Seq}) {
		r.t.Errorf("the archive of %s: %+v %v", id, v, err)
	}
	if s := r.archives[id].Standing(); s.CompleteTo != r.s.Index || s.Seq != head.Seq {
		r.t.Errorf("the archive of %s stands at %+v, the state at %d", id, s, r.s.Index)
	}
}

// change replaces the bytes of a record, as an attacker with access to the file would.
func (r *rig) change(id model.PeerID, seq uint64, edit func(data []byte) []byte, rehash bool) {
	r.t.Helper()
	err := r.archives[id].vault.update(func(p *page) error {
		e, _ := p.at(seq)
		data := edit(append([]byte(nil), e.data...))
		before, _ := p.hashAt(seq - 1)
		if !rehash {
			return p.put(seq, e.hash, data)
		}
		hash := state.ChainAudit(before, data)
		if err := p.put(seq, hash, data); err != nil {
			return err
		}
		for next, ok := p.at(seq + 1); ok; next, ok = p.at(next.seq + 1) {
			hash = state.ChainAudit(hash, next.data)
			if err := p.put(next.seq, hash, append([]byte(nil), next.data...)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}
