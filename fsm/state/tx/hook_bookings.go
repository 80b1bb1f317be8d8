package tx

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/ledger"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// bookkeeper updates the ledger of bookings within a transaction.
type bookkeeper struct {
	base  *ledger.Ledger // of the state before; never changed
	draft *ledger.Ledger // nil: as base
	stale bool           // bookings have changed: it has to be recomputed
}

// idle reports whether no row needs to be counted: nothing is booked, or all will be counted later.
func (k *bookkeeper) idle(t *Tx) bool {
	return t.Restoring || k.stale || k.base == nil && k.draft == nil
}

// count counts a GPU, or with -1 subtracts it.
func (k *bookkeeper) count(h *ledger.Hold, by int32) {
	if k.draft == nil {
		k.draft = k.base.Clone()
	}
	k.draft.Add(h, by)
}

// now returns the current ledger; it must not be changed.
func (k *bookkeeper) now(t *Tx) *ledger.Ledger {
	if k.stale {
		k.stale, k.draft = false, groundOf(t).ledger()
		k.base = k.draft
	}
	if k.draft != nil {
		return k.draft
	}
	return k.base
}

// close publishes the ledger.
func (k *bookkeeper) close(t *Tx) *ledger.Ledger {
	if t.Restoring {
		k.stale = t.Bookings.Size() > 0
	}
	return k.now(t)
}

// OpenBooks returns the books of the present state; nil: nothing is booked.
func (t *Tx) OpenBooks() *ledger.Books {
	l := t.book.now(t)
	if l == nil {
		return nil
	}
	return ledger.NewBooks(l.Clone(), t.Clock, false)
}

// ground is the rows that a ledger follows from.
type ground struct {
	bookings    table.Table[model.BookingID, model.Booking]
	slots       table.Table[model.SlotKey, model.Slot]
	gpus        table.Table[model.GPUID, model.GPU]
	nodes       table.Table[model.NodeID, model.Node]
	attempts    table.Table[model.AttemptKey, model.Attempt]
	jobs        table.Table[model.JobID, model.Job]
	allocations table.Table[model.AllocationID, model.Allocation]
}

func groundOf(t *Tx) ground {
	return ground{
		t.Bookings.Now(), t.Slots.Now(), t.GPUs.Now(), t.Nodes.Now(), t.Attempts.Now(), t.Jobs.Now(), t.Allocations.Now(),
	}
}

// ledger counts every GPU; nil if nothing is booked.
func (g ground) ledger() *ledger.Ledger {
	if g.bookings.Len() == 0 {
		return nil
	}
	var rows []model.Booking
	for _, b := range g.bookings.All() {
		rows = append(rows, b)
	}
	l := ledger.New(rows)
	for _, slot := range g.slots.All() {
		gpu, _ := g.gpus.Get(slot.Key.GPU)
		node, _ := g.nodes.Get(slot.Node)
		attempt, _ := g.attempts.Get(slot.Rank.Attempt())
		l.Add(g.hold(&slot, &gpu, &node, &attempt), 1)
	}
	return l
}

// hold returns a slot as bookings count it, with the rows that it names.
func (g ground) hold(s *model.Slot, gpu *model.GPU, node *model.Node, a *model.Attempt) *ledger.Hold {
	h := &ledger.Hold{Node: s.Node, Model: gpu.Model, Open: gpu.Usable() && node.Schedulable()}
	switch s.Owner {
	case model.OwnerAttempt:
		job, _ := g.jobs.Get(s.Rank.Job)
		h.User, h.Project, h.Ends = job.Spec.User, job.Spec.Project, a.CertainEnd()
	case model.OwnerAllocation:
		v, _ := g.allocations.Get(s.Allocation)
		h.User, h.Project, h.Ends = v.User, v.Project, model.Never
	case model.OwnerForeign:
		h.Ends = model.Never
	case model.OwnerNone, model.OwnerCleaning:
	}
	return h
}

func onBooking(t *Tx, _, _ *model.Booking) { t.book.stale = !t.Restoring }

func bookSlot(t *Tx, s *model.Slot, by int32) {
	if s == nil || t.book.idle(t) {
		return
	}
	g := groundOf(t)
	gpu := t.GPUs.Must(s.Key.GPU)
	node := t.Nodes.Must(s.Node)
	a, _ := t.Attempts.Get(s.Rank.Attempt())
	t.book.count(g.hold(s, &gpu, &node, &a), by)
}

// rebook counts slots again whose hold changes with another row.
func rebook(t *Tx, keys []model.SlotKey, before, after func(s *model.Slot, gpu *model.GPU, node *model.Node, a *model.Attempt)) {
	g := groundOf(t)
	for _, key := range keys {
		slot, found := t.Slots.Get(key)
		if !found {
			continue
		}
		gpu := t.GPUs.Must(key.GPU)
		node := t.Nodes.Must(slot.Node)
		a, _ := t.Attempts.Get(slot.Rank.Attempt())
		before(&slot, &gpu, &node, &a)
		was := g.hold(&slot, &gpu, &node, &a)
		after(&slot, &gpu, &node, &a)
		if is := g.hold(&slot, &gpu, &node, &a); *was != *is {
			t.book.count(was, -1)
			t.book.count(is, 1)
		}
	}
}

func bookGPU(t *Tx, old, next *model.GPU) {
	if t.book.idle(t) {
		return
	}
	none := &model.GPU{}
	if old == nil {
		old = none
	}
	if next == nil {
		next = none
	}
	var keys []model.SlotKey
	for n := range max(old.Slots, next.Slots) {
		keys = append(keys, model.SlotKey{GPU: max(old.ID, next.ID), Slot: n})
	}
	set := func(row *model.GPU) func(*model.Slot, *model.GPU, *model.Node, *model.Attempt) {
		return func(_ *model.Slot, gpu *model.GPU, _ *model.Node, _ *model.Attempt) { *gpu = *row }
	}
	rebook(t, keys, set(old), set(next))
}

func bookNode(t *Tx, old, next *model.Node) {
	if t.book.idle(t) {
		return
	}
	var keys []model.SlotKey
	for _, id := range GpusOf(t, max(old.ID, next.ID)) {
		gpu := t.GPUs.Must(id)
		for n := range gpu.Slots {
			keys = append(keys, model.SlotKey{GPU: id, Slot: n})
		}
	}
	set := func(row *model.Node) func(*model.Slot, *model.GPU, *model.Node, *model.Attempt) {
		return func(_ *model.Slot, _ *model.GPU, node *model.Node, _ *model.Attempt) { *node = *row }
	}
	rebook(t, keys, set(old), set(next))
}

func onAttempt(t *Tx, old, next *model.Attempt) {
	if old != nil && (next == nil || !next.Live()) {
		t.Warned.Delete(old.Key)
	}
	if old == nil || next == nil || t.book.idle(t) || old.CertainEnd() == next.CertainEnd() {
		return
	}
	set := func(row *model.Attempt) func(*model.Slot, *model.GPU, *model.Node, *model.Attempt) {
		return func(_ *model.Slot, _ *model.GPU, _ *model.Node, a *model.Attempt) { *a = *row }
	}
	rebook(t, SlotsOf(t, next.Key), set(old), set(next))
}
