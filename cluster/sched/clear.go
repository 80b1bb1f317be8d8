package sched

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// beside is what a pass heeds of bookings.
type beside struct {
	pass    *pass
	books   *ledger.Books             // nil: nothing is booked
	cleared map[model.AttemptKey]bool // suspended for those who have booked GPUs
}

// clear suspends jobs that may be, as far as needed for bookings that have begun and
// lack GPUs: those that were placed last first. Other jobs run on.
func (b *beside) clear() {
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
	b.books.Reopen() // what they make room for is not for others
	p.found.stops = len(stop)
	for some := range slices.Chunk(stop, maxSuspend) {
		p.commands = append(p.commands, &command.Suspend{Attempts: some, Decided: p.state.Index})
	}
}

func (b *beside) clearFor(v *model.Booking) (stop []model.AttemptKey) {
	var some []model.Attempt
	for _, a := range b.yielding(v) {
		lacks := b.books.Short(v.ID)
		if lacks == 0 {
			break
		}
		stake := state.StakeOf(b.pass.state, &a)
		if b.books.Give(&stake); b.books.Short(v.ID) == lacks {
			b.books.Put(&stake) // it would help nobody
			continue
		}
		some = append(some, a)
	}
	lacks := b.books.Short(v.ID)
	for i := range some {
		a := &some[len(some)-1-i] // placed first: who is not needed after all runs on
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

// yielding lists attempts of others that may be suspended, those placed last first.
func (b *beside) yielding(v *model.Booking) (out []model.Attempt) {
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
