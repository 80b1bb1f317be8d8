package ledger

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// Books decides what may be placed in addition to the bookings of a state, for Apply and the scheduler alike.
// It belongs to one goroutine; nil is that of a state without bookings.
type Books struct {
	ledger *Ledger
	now    model.Time
	needs  []*lack // of each moment, as of needAt; nil: to be added up. What it points to does not change
	floor  []lack  // what was lacking already
	ended  bool    // a maintenance is over once an entry has ended it, not when its time is up
}

// Stake is GPUs of a holder that may keep them until Ends at most.
type Stake struct {
	User, Project string
	Ends          model.Time // [model.Never]: unknown; 0: they are about to be free
	At            []Lot
}

// Lot is so many GPUs of a model on a node.
type Lot struct {
	Node  model.NodeID
	Model string
	GPUs  uint32
}

// NewBooks returns the books on a ledger, which is theirs from here on, at the time now. With untilEnded a
// maintenance closes its nodes until an entry has ended it, otherwise until its time is up.
func NewBooks(l *Ledger, now model.Time, untilEnded bool) *Books {
	b := &Books{ledger: l, now: now, needs: make([]*lack, len(l.moments)), ended: untilEnded}
	b.Reopen()
	return b
}

// Fresh returns the same books as if they were opened now.
func (b *Books) Fresh() *Books {
	fresh := *b
	fresh.Reopen()
	return &fresh
}

// Reopen accepts the present lack as the base: nothing may lack more from here on.
func (b *Books) Reopen() {
	b.floor = b.lacks()
}

// lacks returns what is lacking at each moment.
func (b *Books) lacks() []lack {
	out := make([]lack, len(b.ledger.moments))
	for i := range out {
		out[i] = b.lackAt(i)
	}
	return out
}

func (b *Books) lackAt(i int) lack {
	if b.needs[i] == nil {
		need := b.ledger.needAt(i, b.now)
		b.needs[i] = &need
	}
	return b.ledger.moments[i].lacks(b.needs[i])
}

// Copy returns a copy that changes independently.
func (b *Books) Copy() *Books {
	if b == nil {
		return nil
	}
	return &Books{b.ledger.Clone(), b.now, slices.Clone(b.needs), b.floor, b.ended}
}

// Put counts free GPUs as a holder's.
func (b *Books) Put(s *Stake) { b.move(s, 1) }

// Give counts a holder's GPUs as free.
func (b *Books) Give(s *Stake) { b.move(s, -1) }

func (b *Books) move(s *Stake, by int32) {
	if b == nil {
		return
	}
	for _, v := range s.At {
		free := Hold{Node: v.Node, Model: v.Model, Open: true}
		held := free
		held.User, held.Project, held.Ends = s.User, s.Project, s.Ends
		b.ledger.Add(&free, -by*int32(v.GPUs))
		if owned := b.ledger.Add(&held, by*int32(v.GPUs)); owned {
			b.forget(&held)
		}
	}
}

// forget drops the cached needs to which an owner's GPU counts. A former result keeps the old ones.
func (b *Books) forget(h *Hold) {
	b.needs = slices.Clone(b.needs)
	for i := range b.needs {
		if !b.ledger.moments[i].frees(h) {
			b.needs[i] = nil
		}
	}
}

// tentative calls do as if a holder were given GPUs, or with -1 had freed them.
func (b *Books) tentative(s *Stake, by int32, do func()) {
	needs := b.needs
	b.move(s, by)
	do()
	b.move(s, -by)
	b.needs = needs
}

// Allows reports whether free GPUs may be given to a holder: no booking that is not over lacks more then than
// it did when the Books were opened. If not, by is the first that would.
func (b *Books) Allows(s *Stake) (by model.Booking, ok bool) {
	if b == nil {
		return by, true
	}
	if by, shut := b.Closed(s); shut {
		return by, false
	}
	return b.try(s, b.asBefore)
}

// MayProlong reports whether a holder may keep GPUs for longer than expected: no booking lacks more for it,
// and no maintenance comes in between that did not before. If not, by is the first booking in the way.
// Nothing is counted again.
func (b *Books) MayProlong(from, to *Stake) (by model.Booking, ok bool) {
	if b == nil {
		return by, true
	}
	if _, was := b.Closed(from); !was {
		if by, is := b.Closed(to); is {
			return by, false
		}
	}
	b.tentative(from, -1, func() { by, ok = b.try(to, b.asBefore) })
	return by, ok
}

// Hinders reports whether a booking lacks GPUs at its start, or now, that a holder has then, and still would
// at an instant; if so, by is the first such booking. A lack at the start counts from then on, though others
// may be gone sooner.
func (b *Books) Hinders(s *Stake, at model.Time) (by model.Booking, lacks bool) {
	with, without := b.lacks(), []lack(nil)
	b.tentative(s, -1, func() { without = b.lacks() })
	for i := range b.ledger.moments {
		if m := &b.ledger.moments[i]; m.Holds(at) && with[i].exceeds(&without[i], m) {
			return m.Booking, true
		}
	}
	return by, false
}

// asBefore reports whether a moment lacks no more than when the Books were opened.
func (b *Books) asBefore(k *lack, i int, m *moment) bool { return !k.exceeds(&b.floor[i], m) }

// Free reports whether giving free GPUs to a holder costs no booking anything: they are booked for it, or
// free again in time.
func (b *Books) Free(s *Stake) bool {
	was := b.lacks()
	_, ok := b.try(s, func(k *lack, i int, m *moment) bool {
		return k.all <= was[i].all && (m.Model == "" || k.kind <= was[i].kind) && noneAbove(k.named, was[i].named)
	})
	return ok
}

func noneAbove(a, b []int32) bool {
	for i := range a {
		if a[i] > b[i] {
			return false
		}
	}
	return true
}

// try reports whether each booking that a stake concerns would be fine with it; if not, it returns the first
// that would not.
func (b *Books) try(s *Stake, fine func(*lack, int, *moment) bool) (by model.Booking, ok bool) {
	ok = true
	b.tentative(s, 1, func() {
		for i := range b.ledger.moments {
			m := &b.ledger.moments[i]
			if m.End <= b.now || !m.Begun && s.Ends <= m.Start {
				continue
			}
			if k := b.lackAt(i); !fine(&k, i, m) {
				by, ok = m.Booking, false
				return
			}
		}
	})
	return by, ok
}

// Closed reports whether a node has a maintenance before a stake on it certainly ends, and returns that.
func (b *Books) Closed(s *Stake) (by model.Booking, closed bool) {
	if b == nil {
		return by, false
	}
	for _, c := range b.ledger.closed {
		if !b.ended && c.End <= b.now || s.Ends <= c.Start {
			continue
		}
		if slices.ContainsFunc(s.At, func(v Lot) bool { return c.nodes.has(v.Node) }) {
			return c.Booking, true
		}
	}
	return by, false
}

// Place returns a node and a model as far as bookings distinguish them: two with equal places are alike to
// [Books.Allows].
func (b *Books) Place(node model.NodeID, name string) (model.NodeID, string) {
	id, kind := b.ledger.place(node, name)
	if id == "" && slices.ContainsFunc(b.ledger.closed, func(c shut) bool { return c.nodes.has(node) }) {
		id = node
	}
	return id, kind
}

// Short returns how many GPUs a booking lacks, at its start or now if it has begun: others hold too many that
// are not certainly free by then.
func (b *Books) Short(id model.BookingID) uint32 {
	if b == nil {
		return 0
	}
	for i := range b.ledger.moments {
		if m := &b.ledger.moments[i]; m.ID == id && m.End > b.now {
			k := b.lackAt(i)
			return uint32(k.total(m))
		}
	}
	return 0
}

// Add adds a GPU.
func (s *Stake) Add(node model.NodeID, name string) {
	for i := range s.At {
		if v := &s.At[i]; v.Node == node && v.Model == name {
			v.GPUs++
			return
		}
	}
	s.At = append(s.At, Lot{node, name, 1})
}
