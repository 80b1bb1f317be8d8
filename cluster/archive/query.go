package archive

import (
	"context"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxScan bounds the records that one query looks at.
const maxScan = 50_000

// Filter says which records are wanted; empty fields take all.
type Filter struct {
	Actor  string // "user:alice", or "alice"
	Target string // "job 17", also of its tasks
	Kind   string // a command's name
	Result string // "ok", "refused", or a code's name
	Since  model.Time
	Until  model.Time

	Before uint64 // records with smaller numbers; 0: from the newest
	Limit  int    // at most so many; at least 1
}

// Found is what a query gives, newest first.
type Found struct {
	Records []model.AuditRecord
	Next    uint64 // the Before of the next query; 0: there are no more
	Holes   uint64 // records that were to be looked at and are missing here
}

// Find looks records up.
func (a *Archive) Find(f Filter) (out Found, err error) {
	err = a.vault.view(func(p *page) error {
		seq, _ := p.top()
		if f.Before > 0 {
			seq = min(seq, f.Before-1)
		}
		holes := p.holes()
		for scanned := 0; seq > 0; seq-- {
			if scanned++; len(out.Records) == f.Limit || scanned > maxScan {
				out.Next = seq + 1
				return nil
			}
			if h, in := within(holes, seq); in {
				out.Holes += seq - h.first + 1
				seq = h.first
				continue
			}
			e, present := p.at(seq)
			if !present {
				continue
			}
			r, err := state.DecodeAudit(e.data)
			if err != nil {
				return err
			}
			if r.At < f.Since {
				return nil // the cluster's clock never goes back
			}
			if f.takes(&r) {
				out.Records = append(out.Records, r)
			}
		}
		return nil
	})
	return out, err
}

func within(holes []hole, seq uint64) (hole, bool) {
	for _, h := range holes {
		if seq >= h.first && seq <= h.last {
			return h, true
		}
	}
	return hole{}, false
}

// refused is the result that any refusal has.
const refused = "refused"

func (f *Filter) takes(r *model.AuditRecord) bool {
	_, name, _ := strings.Cut(r.Actor, ":")
	return (f.Actor == "" || f.Actor == r.Actor || f.Actor == name) &&
		(f.Target == "" || f.Target == r.Target || strings.HasPrefix(r.Target, f.Target+" ")) &&
		(f.Kind == "" || f.Kind == command.Kind(r.Kind).String()) &&
		(f.Result == "" || f.Result == r.Code.String() || f.Result == refused && r.Code != model.CodeOK) &&
		(f.Until == 0 || r.At <= f.Until)
}

// Verdict is what a look at the whole trail has found.
type Verdict struct {
	Records uint64 // that were looked at
	Missing uint64 // that are not here
	Bad     uint64 // the first record that differs; 0: none does
	What    string // how
}

// Verify computes the trail's hashes anew from its first record to a head, which is
// the state's. It ends with the context.
func (a *Archive) Verify(ctx context.Context, head model.AuditHead) (v Verdict, err error) {
	err = a.vault.view(func(p *page) error {
		holes := p.holes()
		hash := model.Hash{}
		top, _ := p.top()
		for seq := uint64(1); seq <= head.Seq; seq++ {
			if seq > top { // not written yet
				v.Missing += head.Seq - top
				return nil
			}
			if h, in := within(holes, seq); in {
				v.Missing += min(h.last, head.Seq) - seq + 1
				seq, hash = h.last, h.hash
				continue
			}
			e, present := p.at(seq)
			if !present {
				v.Bad, v.What = seq, "the record is not there"
				return nil
			}
			v.Records++
			if r, err := state.DecodeAudit(e.data); err != nil || r.Seq != seq {
				v.Bad, v.What = seq, "the record cannot be read"
				return nil
			}
			if hash = state.ChainAudit(hash, e.data); hash != e.hash {
				v.Bad, v.What = seq, "the record is not the one that was written"
				return nil
			}
			if v.Records%1000 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		if hash != head.Hash {
			v.What = "every record fits the one before it, but the last is not the one that the cluster's state names: " +
				"the file was written anew as a whole"
		}
		return nil
	})
	if err == nil && v.Bad == 0 && v.What != "" {
		v.Bad = a.differs(ctx, head)
	}
	return v, err
}

// differs finds the first record that differs from another peer's, whose chain must
// lead to the head; 0 if no peer helps.
func (a *Archive) differs(ctx context.Context, head model.AuditHead) uint64 {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, mate := range a.others().Mates() {
		if seq := a.differsFrom(ctx, mate, head); seq > 0 {
			return seq
		}
	}
	return 0
}

func (a *Archive) differsFrom(ctx context.Context, mate model.PeerID, head model.AuditHead) uint64 {
	same, other := uint64(0), head.Seq // the hashes with these records are alike, and are not
	for first := true; other-same > 1 || first; first = false {
		seq := (same + other) / 2
		if first {
			seq = other
		}
		given, err := a.others().Records(ctx, mate, RecordsWanted{First: seq, Last: seq})
		if err != nil || len(given.Records) != 1 || len(given.Before) != 1 {
			return 0
		}
		theirs := state.ChainAudit(given.Before[0], given.Records[0])
		if first && theirs != head.Hash {
			return 0
		}
		ours := model.Hash{}
		if err := a.vault.view(func(p *page) error { ours, _ = p.hashAt(seq); return nil }); err != nil {
			return 0
		}
		switch {
		case first:
		case theirs == ours:
			same = seq
		default:
			other = seq
		}
	}
	return other
}
