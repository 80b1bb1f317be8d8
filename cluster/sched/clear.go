package sched

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// passBookings is what a pass takes into account of bookings.
type passBookings struct {
	pass    *pass
	books   *ledger.Books             // nil: nothing is booked
	cleared map[model.AttemptKey]bool // suspended for the owners of bookings
}

// clear suspends preemptible jobs, as far as needed for bookings that have begun and lack GPUs. Jobs that were
// placed last are suspended first; other jobs continue.
func (b *passBookings) clear() {
	p := b.pass
	if b.books == nil || p.order.Tuning.NoPreemption {
		return
	}
	var stop []model.AttemptKey
	for _, v := range p.state.Bookings.All() {
		if v.Begun && b.books.Short(v.ID) > 0 {
			stop = append(stop, b.clearFor(&v)...)
		}
	}
	b.books.Reopen() // the GPUs of the suspended jobs are not for others
	p.found.stops = len(stop)
	for some := range slices.Chunk(stop, maxSuspend) {
		p.commands = append(p.commands, &command.Suspend{Attempts: some, Decided: p.state.Index})
	}
}

func (b *passBookings) clearFor(v *model.Booking) (stop []model.AttemptKey) {
	var some []model.Attempt
	for _, a := range b.yielding(v) {
		lacks := b.books.Short(v.ID)
		if lacks == 0 {
			break
		}
		stake := state.StakeOf(b.pass.state, &a)
		if b.books.Give(&stake); b.books.Short(v.ID) == lacks {
			b.books.Put(&stake) // its suspension would not help the booking
			continue
		}
		some = append(some, a)
	}
	lacks := b.books.Short(v.ID)
	for i := range some {
		a := &some[len(some)-1-i] // placed first: an attempt that is not needed after all continues
		stake := state.StakeOf(b.pass.state, a)
		if b.books.Put(&stake); b.books.Short(v.ID) == lacks {
			continue
		}
		b.books.Give(&stake)
		if b.cleared == nil {
			b.cleared = map[model.AttemptKey]bool{}
		}
		b.cleared[a.Key] = true
		stop = append(stop, a.Key)
	}
	slices.Reverse(stop)
	return stop
}

// yielding returns the attempts of other owners that may be suspended, those placed last first.
func (b *passBookings) yielding(v *model.Booking) (out []model.Attempt) {
	s := b.pass.state
	for key := range s.LiveTasks.All() {
		job, _ := s.Jobs.Get(key.Job)
		task, _ := s.Tasks.Get(key)
		a, _ := s.Attempts.Get(task.Newest())
		if job.Spec.Preemptible && a.Stop == model.ReasonNone && !b.cleared[a.Key] && !v.For(job.Spec.User, job.Spec.Project) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b model.Attempt) int {
		return cmp.Or(cmp.Compare(b.Placed, a.Placed), b.Key.Compare(a.Key))
	})
	return out
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
