package place

import (
	"slices"
	"sort"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// BookingGuard is what bookings leave to one task.
type BookingGuard struct {
	Books *ledger.Books
	Stake ledger.Stake // At is set for each question
	need  uint32       // GPUs on each node
	rule  guardRule
	caps  map[ledger.Lot]capped // how many GPUs of a place the task may take, by places with GPUs 0
	shut  map[placeAmong]bool   // places that are not allowed in addition to the parts that were found
	Why   []model.Booking       // bookings that were in the way
}

// guardRule is a rule by which places are left out. A task tries one rule after the other, and uses the first with
// which it finds all of its GPUs and may have them together.
type guardRule uint8

const (
	ruleJoint guardRule = iota // where a part is not allowed in addition to the parts found
	ruleOwn                    // where a part would take GPUs that a booking needs for others
	ruleCount
)

// NewBookingGuard returns what bookings leave to a task that asks for GPUs; nil: everything.
func NewBookingGuard(b *ledger.Books, user, project string, ends model.Time, w *Request) *BookingGuard {
	if b == nil {
		return nil
	}
	return &BookingGuard{
		Books: b, Stake: ledger.Stake{User: user, Project: project, Ends: ends}, need: w.PerNode,
	}
}

// setRule changes to another rule.
func (k *BookingGuard) setRule(to guardRule) {
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
func (k *BookingGuard) limitOnNode(node model.NodeID, name string, open uint32) uint32 {
	at := ledger.Lot{}
	at.Node, at.Model = k.Books.Place(node, name)
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
func (k *BookingGuard) most(at ledger.Lot) (out capped) {
	fine := func(n uint32) bool {
		at.GPUs = n
		k.Stake.At = []ledger.Lot{at}
		if k.rule == ruleOwn {
			_, shut := k.Books.Closed(&k.Stake)
			return !shut && k.Books.Free(&k.Stake)
		}
		by, ok := k.Books.Allows(&k.Stake)
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
func (k *BookingGuard) blame(by model.Booking) {
	if !slices.Contains(k.Why, by) {
		k.Why = append(k.Why, by)
	}
}

// Allows reports whether GPUs may be given to the task.
func (k *BookingGuard) Allows(at ...ledger.Lot) bool {
	k.Stake.At = at
	by, ok := k.Books.Allows(&k.Stake)
	if !ok {
		k.blame(by)
	}
	return ok
}

// Closed reports whether bookings keep GPUs of a type on a node from the task, no matter how many are free there.
func (k *BookingGuard) Closed(node model.NodeID, name string) bool {
	if k == nil {
		return false
	}
	k.Stake.At = []ledger.Lot{{Node: node, Model: name, GPUs: 1}}
	_, shut := k.Books.Closed(&k.Stake)
	return shut
}

// open returns the suitable GPUs of a node that bookings leave to a task.
func (k *BookingGuard) open(h *Host, w *Request) []GPU {
	left, have := map[string]uint32{}, map[string]uint32{}
	for i := range h.GPUs {
		if g := &h.GPUs[i]; w.Takes(g) {
			have[g.Model]++
		}
	}
	out := make([]GPU, 0, len(h.GPUs))
	for i := range h.GPUs {
		g := &h.GPUs[i]
		if !w.Takes(g) {
			continue
		}
		n, known := left[g.Model]
		if !known {
			n = k.limitOnNode(h.ID, g.Model, min(have[g.Model], k.need))
		}
		if left[g.Model] = n - min(n, 1); n > 0 {
			out = append(out, *g)
		}
	}
	return out
}

// count returns how many of n suitable GPUs of a node bookings leave to a task.
func (k *BookingGuard) count(h *Host, w *Request, n uint32) uint32 {
	switch {
	case k == nil || n == 0:
		return n
	case mixed(h):
		return uint32(len(k.open(h, w)))
	}
	return k.limitOnNode(h.ID, h.GPUs[0].Model, min(n, k.need))
}

// candidates returns the GPUs of a node among which a task chooses: those that it may take, or all GPUs of the node if
// they are of one type, so that the task finds GPUs near each other.
func (k *BookingGuard) candidates(h *Host, w *Request) []GPU {
	if k == nil || !mixed(h) {
		return h.GPUs
	}
	return k.open(h, w)
}

// mixed reports whether a node has GPUs of several types.
func mixed(h *Host) bool {
	return slices.ContainsFunc(h.GPUs, func(g GPU) bool { return g.Model != h.GPUs[0].Model })
}

// put counts the GPUs that a task was given.
func (k *BookingGuard) put(s *state.State, ranks []command.Placement) {
	if k == nil {
		return
	}
	k.Stake.At = k.Stake.At[:0:0]
	for i := range ranks {
		for _, key := range ranks[i].Slots {
			g, _ := s.GPUs.Get(key.GPU)
			k.Stake.At = append(k.Stake.At, ledger.Lot{Node: ranks[i].Node, Model: g.Model, GPUs: 1})
		}
	}
	k.Books.Put(&k.Stake)
}
