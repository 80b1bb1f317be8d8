package sched

import (
	"slices"
	"sort"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// bookingGuard is what bookings leave to one task.
type bookingGuard struct {
	books *ledger.Books
	stake ledger.Stake // At is set for each question
	need  uint32       // GPUs on each node
	rule  guardRule
	caps  map[ledger.Lot]capped // how many GPUs of a place the task may take, by places with GPUs 0
	shut  map[placeAmong]bool   // places that are not allowed in addition to the parts that were found
	why   []model.Booking       // bookings that were in the way
}

// guardRule is a rule by which places are left out. A task tries one rule after the other, and uses the first with
// which it finds all of its GPUs and may have them together.
type guardRule uint8

const (
	ruleJoint guardRule = iota // where a part is not allowed in addition to the parts found
	ruleOwn                    // where a part would take GPUs that a booking needs for others
	ruleCount
)

// guardFor returns what bookings leave to a task that asks for GPUs; nil: everything.
func guardFor(b *ledger.Books, user, project string, ends model.Time, w *want) *bookingGuard {
	if b == nil {
		return nil
	}
	return &bookingGuard{
		books: b, stake: ledger.Stake{User: user, Project: project, Ends: ends}, need: w.need,
	}
}

// setRule changes to another rule.
func (k *bookingGuard) setRule(to guardRule) {
	k.rule, k.caps, k.shut = to, map[ledger.Lot]capped{}, map[placeAmong]bool{}
}

// placeAmong is a place in addition to a number of parts.
type placeAmong struct {
	at    ledger.Lot
	parts int
}

// capped is how many GPUs of a place a task may take, and the booking in the way of one more.
type capped struct {
	n  uint32
	by model.Booking
}

// limitOnNode returns how many of the given number of GPUs of a type a task may take on a node, under this rule. A booking
// counts as in the way only if it leaves fewer GPUs than the task finds there.
func (k *bookingGuard) limitOnNode(node model.NodeID, name string, open uint32) uint32 {
	at := ledger.Lot{}
	at.Node, at.Model = k.books.Place(node, name)
	most, known := k.caps[at]
	if !known {
		most = k.most(at)
		k.caps[at] = most
	}
	if most.n < open && k.rule == ruleJoint {
		k.blame(most.by)
	}
	return min(open, most.n)
}

// most returns the most GPUs of a place that a task may take.
func (k *bookingGuard) most(at ledger.Lot) (out capped) {
	fine := func(n uint32) bool {
		at.GPUs = n
		k.stake.At = []ledger.Lot{at}
		if k.rule == ruleOwn {
			_, shut := k.books.Closed(&k.stake)
			return !shut && k.books.Free(&k.stake)
		}
		by, ok := k.books.Allows(&k.stake)
		if !ok {
			out.by = by
		}
		return ok
	}
	if fine(k.need) {
		return capped{n: k.need}
	}
	out.n = uint32(sort.Search(int(k.need), func(n int) bool { return !fine(uint32(n) + 1) }))
	return out
}

// blame adds a booking that is in the way.
func (k *bookingGuard) blame(by model.Booking) {
	if !slices.Contains(k.why, by) {
		k.why = append(k.why, by)
	}
}

// allows reports whether GPUs may be given to the task.
func (k *bookingGuard) allows(at ...ledger.Lot) bool {
	k.stake.At = at
	by, ok := k.books.Allows(&k.stake)
	if !ok {
		k.blame(by)
	}
	return ok
}

// closed reports whether bookings keep GPUs of a type on a node from the task, no matter how many are free there.
func (k *bookingGuard) closed(node model.NodeID, name string) bool {
	if k == nil {
		return false
	}
	k.stake.At = []ledger.Lot{{Node: node, Model: name, GPUs: 1}}
	_, shut := k.books.Closed(&k.stake)
	return shut
}

// open returns the suitable GPUs of a node that bookings leave to a task.
func (k *bookingGuard) open(h *host, w *want) []gpu {
	left, have := map[string]uint32{}, map[string]uint32{}
	for i := range h.gpus {
		if g := &h.gpus[i]; w.takes(g) {
			have[g.model]++
		}
	}
	out := make([]gpu, 0, len(h.gpus))
	for i := range h.gpus {
		g := &h.gpus[i]
		if !w.takes(g) {
			continue
		}
		n, known := left[g.model]
		if !known {
			n = k.limitOnNode(h.id, g.model, min(have[g.model], k.need))
		}
		if left[g.model] = n - min(n, 1); n > 0 {
			out = append(out, *g)
		}
	}
	return out
}

// count returns how many of n suitable GPUs of a node bookings leave to a task.
func (k *bookingGuard) count(h *host, w *want, n uint32) uint32 {
	switch {
	case k == nil || n == 0:
		return n
	case mixed(h):
		return uint32(len(k.open(h, w)))
	}
	return k.limitOnNode(h.id, h.gpus[0].model, min(n, k.need))
}

// candidates returns the GPUs of a node among which a task chooses: those that it may take, or all GPUs of the node if
// they are of one type, so that the task finds GPUs near each other.
func (k *bookingGuard) candidates(h *host, w *want) []gpu {
	if k == nil || !mixed(h) {
		return h.gpus
	}
	return k.open(h, w)
}

// seek finds GPUs that bookings leave to a task.
func (w *want) seek(p *pool) ([]part, bool) {
	if w.keep == nil {
		return p.find(w)
	}
	for to := range ruleCount {
		w.keep.setRule(to)
		if parts, fits := p.find(w); fits && w.keep.allows(w.lots(parts)...) {
			return parts, true
		}
	}
	if free := *w; w.until > 0 { // GPUs that are booked for the task are not reserved for others
		free.until = 0
		if parts, fits := p.find(&free); fits && w.keep.allows(w.lots(parts)...) {
			return parts, true
		}
	}
	return nil, false
}

// joins reports whether bookings leave one more part to a task, in addition to the parts that it has found.
func (w *want) joins(taken, parts []part, more part) bool {
	k := w.keep
	if k == nil {
		return true
	}
	at := placeAmong{ledger.Lot{GPUs: more.n}, len(taken) + len(parts)}
	at.at.Node, at.at.Model = k.books.Place(more.host.id, more.host.gpus[0].model)
	if k.shut[at] {
		return false
	}
	all := append(append(slices.Clone(taken), parts...), more)
	if k.allows(w.lots(all)...) {
		return true
	}
	k.shut[at] = !mixed(more.host)
	return false
}

// mixed reports whether a node has GPUs of several types.
func mixed(h *host) bool {
	return slices.ContainsFunc(h.gpus, func(g gpu) bool { return g.model != h.gpus[0].model })
}

// lots returns the GPUs that a task would take.
func (w *want) lots(parts []part) (out []ledger.Lot) {
	for _, v := range parts {
		for _, g := range choose(w.keep.candidates(v.host, w), w, int(v.n)) {
			i := len(out) - 1
			if i < 0 || out[i].Node != v.host.id || out[i].Model != g.model {
				out = append(out, ledger.Lot{Node: v.host.id, Model: g.model})
				i++
			}
			out[i].GPUs++
		}
	}
	return out
}

// put counts the GPUs that a task was given.
func (k *bookingGuard) put(s *state.State, ranks []command.Placement) {
	if k == nil {
		return
	}
	k.stake.At = k.stake.At[:0:0]
	for i := range ranks {
		for _, key := range ranks[i].Slots {
			g, _ := s.GPUs.Get(key.GPU)
			k.stake.At = append(k.stake.At, ledger.Lot{Node: ranks[i].Node, Model: g.Model, GPUs: 1})
		}
	}
	k.books.Put(&k.stake)
}

// bookingsLeave reports whether bookings leave GPUs to a preemptor once the victims are stopped.
func bookingsLeave(p *pass, w *want, slots []model.SlotKey, victims []*victim) bool {
	if w.keep == nil {
		return true
	}
	after := *w.keep
	after.books = p.bookings.books.Copy()
	for _, v := range victims {
		a, _ := p.state.Attempts.Get(v.key)
		stake := state.StakeOf(p.state, &a)
		after.books.Give(&stake)
	}
	at := make([]ledger.Lot, 0, len(slots))
	for _, key := range slots {
		g, _ := p.state.GPUs.Get(key.GPU)
		at = append(at, ledger.Lot{Node: g.Node, Model: g.Model, GPUs: 1})
	}
	return after.allows(at...)
}

// bookingClass is what tasks have in common that bookings treat alike.
type bookingClass struct {
	shape         model.Shape
	user, project string
	certain       model.Magnitude
}

func bookingClassOf(run *state.Run) bookingClass {
	return bookingClass{run.Shape, run.User, run.Project, run.Certain}
}

// bars reports whether bookings leave no GPUs to a task that would find some otherwise, and whether they leave
// none to any task of its kin either, however short.
func (b *passBookings) bars(w *want, certain model.Magnitude) (barred, all bool) {
	if w.keep == nil {
		return false, false
	}
	p, free := b.pass, *w
	free.keep = nil
	if _, fits := p.pool.find(&free); !fits {
		return false, false
	}
	short := *w.keep
	if least := certain.Least(); least > 0 {
		short.stake.Ends = p.now.Add(least)
	}
	free.keep = &short
	_, fits := free.seek(p.pool)
	return true, !fits
}
