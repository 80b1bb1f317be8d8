package archive

import (
	"context"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxScan bounds the records that one query reads.
const maxScan = 50_000

// Filter selects records; empty fields match all.
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

// Found is the result of a query, newest first.
type Found struct {
	Records []model.AuditRecord
	Next    uint64 // the Before of the next query; 0: no further ones
	Holes   uint64 // records that were to be looked at and are missing here
}

// Find returns records that match a filter.
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
	return ByActor(f.Actor, r.Actor) && OfTarget(f.Target, r.Target) &&
		(f.Kind == "" || f.Kind == command.Kind(r.Kind).String()) &&
		(f.Result == "" || f.Result == r.Code.String() || f.Result == refused && r.Code != model.CodeOK) &&
		(f.Until == 0 || r.At <= f.Until)
}

// ByActor reports whether an actor matches a filter with or without the kind ("user:alice"); an empty filter
// matches every actor.
func ByActor(asked, actor string) bool {
	_, name, _ := strings.Cut(actor, ":")
	return asked == "" || asked == actor || asked == name
}

// OfTarget reports whether a target matches a filter, or is a part of that ("job 17" and its tasks); an empty
// filter matches every target.
func OfTarget(asked, target string) bool {
	return asked == "" || asked == target || strings.HasPrefix(target, asked+" ")
}

// Verdict is the result of a check of the whole trail.
type Verdict struct {
	Records uint64 // that were looked at
	Missing uint64 // that are not here
	Bad     uint64 // the first record that differs; 0: none does
	What    string // how
}

// verifyStep is how many records are read within one transaction: a long read keeps the file from growing,
// and so all writers waiting.
const verifyStep = 5000

// Verify recomputes the trail's hashes from its first record to a head, which is the state's. It ends with
// the context.
func (a *Archive) Verify(ctx context.Context, head model.AuditHead) (v Verdict, err error) {
	w := walk{head: head, next: 1}
	for !w.done {
		if ctx.Err() != nil {
			return w.verdict, context.Cause(ctx)
		}
		if err := a.vault.view(w.step); err != nil {
			return w.verdict, err
		}
	}
	if v = w.verdict; v.Bad == 0 && v.What != "" {
		v.Bad = a.differs(ctx, head)
	}
	return v, nil
}

// walk is a check of the trail, record by record.
type walk struct {
	head    model.AuditHead
	next    uint64
	hash    model.Hash // with the record before the next
	verdict Verdict
	done    bool
}

// step checks the next records.
func (w *walk) step(p *page) error {
	holes := p.holes()
	top, _ := p.top()
	for range verifyStep {
		if w.done = w.next > w.head.Seq; w.done {
			if w.hash != w.head.Hash {
				w.verdict.What = "every record fits the one before it, but the last is not the one that the cluster's state names: " +
					"the whole file was rewritten"
			}
			return nil
		}
		h, in := within(holes, w.next)
		switch {
		case w.next > top, in && h.last > w.head.Seq: // not written yet, or missing beyond the head
			w.verdict.Missing += w.head.Seq - w.next + 1
			w.done = true
			return nil
		case in:
			w.verdict.Missing += h.last - w.next + 1
			w.next, w.hash = h.last+1, h.hash
			continue
		}
		if w.look(p); w.done {
			return nil
		}
	}
	return nil
}

// look checks the next record.
func (w *walk) look(p *page) {
	e, present := p.at(w.next)
	if !present {
		w.bad("the record is not there")
		return
	}
	w.verdict.Records++
	r, err := state.DecodeAudit(e.data)
	w.hash = state.ChainAudit(w.hash, e.data)
	switch {
	case err != nil || r.Seq != w.next:
		w.bad("the record cannot be read")
	case w.hash != e.hash:
		w.bad("the record is not the one that was written")
	}
	w.next++
}

func (w *walk) bad(what string) { w.verdict.Bad, w.verdict.What, w.done = w.next, what, true }

// differs returns the first record that differs from another peer's, whose chain must lead to the head; 0 if
// no peer helps.
func (a *Archive) differs(ctx context.Context, head model.AuditHead) uint64 {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	mates, _ := a.others().Mates()
	for _, mate := range mates {
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
