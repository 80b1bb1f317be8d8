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

// mixed reports whether a node has GPUs of several types.
func mixed(h *host) bool {
	return slices.ContainsFunc(h.gpus, func(g gpu) bool { return g.model != h.gpus[0].model })
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
