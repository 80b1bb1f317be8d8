package pass

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
)

// Bookings is what bookings leave to a pass.
type Bookings struct {
	pass      *Pass
	Books     *ledger.Books             // nil: nothing is booked
	Suspended map[model.AttemptKey]bool // suspended for the owners of bookings
}

// MakeRoom suspends preemptible jobs, as far as needed for bookings that have begun and lack GPUs. Jobs that were
// placed last are suspended first; other jobs continue.
func (b *Bookings) MakeRoom() {
	p := b.pass
	if b.Books == nil || p.Order.Tuning.NoPreemption {
		return
	}
	var stop []model.AttemptKey
	for _, v := range p.State.Bookings.All() {
		if v.Begun && b.Books.Short(v.ID) > 0 {
			stop = append(stop, b.makeRoomFor(&v)...)
		}
	}
	b.Books.Reopen() // the GPUs of the suspended jobs are not for others
	p.Found.Suspended = len(stop)
	for some := range slices.Chunk(stop, MaxSuspend) {
		p.Commands = append(p.Commands, &command.Suspend{Attempts: some, Decided: p.State.Index})
	}
}

func (b *Bookings) makeRoomFor(v *model.Booking) (stop []model.AttemptKey) {
	var some []model.Attempt
	for _, a := range b.yielding(v) {
		lacks := b.Books.Short(v.ID)
		if lacks == 0 {
			break
		}
		stake := state.StakeOf(b.pass.State, &a)
		if b.Books.Give(&stake); b.Books.Short(v.ID) == lacks {
			b.Books.Put(&stake) // its suspension would not help the booking
			continue
		}
		some = append(some, a)
	}
	lacks := b.Books.Short(v.ID)
	for i := range some {
		a := &some[len(some)-1-i] // placed first: an attempt that is not needed after all continues
		stake := state.StakeOf(b.pass.State, a)
		if b.Books.Put(&stake); b.Books.Short(v.ID) == lacks {
			continue
		}
		b.Books.Give(&stake)
		if b.Suspended == nil {
			b.Suspended = map[model.AttemptKey]bool{}
		}
		b.Suspended[a.Key] = true
		stop = append(stop, a.Key)
	}
	slices.Reverse(stop)
	return stop
}

// yielding returns the attempts of other owners that may be suspended, those placed last first.
func (b *Bookings) yielding(v *model.Booking) (out []model.Attempt) {
	s := b.pass.State
	for key := range s.LiveTasks.All() {
		job, _ := s.Jobs.Get(key.Job)
		task, _ := s.Tasks.Get(key)
		a, _ := s.Attempts.Get(task.Newest())
		if job.Spec.Preemptible && a.Stop == model.ReasonNone && !b.Suspended[a.Key] && !v.For(job.Spec.User, job.Spec.Project) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b model.Attempt) int {
		return cmp.Or(cmp.Compare(b.Placed, a.Placed), b.Key.Compare(a.Key))
	})
	return out
}

// Bars reports whether bookings leave no GPUs to a task that would find some otherwise, and whether they leave
// none to any task of its run either, however short.
func (b *Bookings) Bars(w *place.Request, certain model.Magnitude) (barred, all bool) {
	if w.Bookings == nil {
		return false, false
	}
	p, free := b.pass, *w
	free.Bookings = nil
	if _, fits := p.Free.Find(&free); !fits {
		return false, false
	}
	short := *w.Bookings
	if least := certain.Least(); least > 0 {
		short.Stake.Ends = p.Now.Add(least)
	}
	free.Bookings = &short
	_, fits := free.Seek(p.Free)
	return true, !fits
}
