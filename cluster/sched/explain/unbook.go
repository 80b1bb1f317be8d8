package explain

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// unbook tries what takes a booking out of a task's way: a time limit with which the task certainly ends before
// the booking, the end of the booking, and its cancellation.
func (t *trial) unbook(b *blocker.Blocker) {
	t.shorten(&b.Booking)
	over := Unblock{Kind: UnblockOver, At: b.Booking.End, Booking: b.Booking}
	if t.placedAt(over.At) {
		t.found = append(t.found, over)
	}
	t.offer(Unblock{Kind: UnblockCancel, Booking: b.Booking}, &command.CancelBooking{ID: b.Booking.ID})
}

// placedAt reports whether the task is placed at a later time, when bookings that are over then have
// been ended.
func (t *trial) placedAt(at model.Time) bool {
	s := t.state
	var ended []command.Body
	for id, b := range s.Bookings.All() {
		if b.End <= at {
			ended = append(ended, &command.CancelBooking{ID: id})
		}
	}
	if len(ended) > 0 {
		next, done := t.carry(ended...)
		if !done {
			return false
		}
		s = &next
	}
	v := sched.Judge(s, at, admission.TicketOf(s, t.task))
	return v.Placed()
}

// shorten tries the longest time limit with which a job of one task would certainly
// end before a booking begins.
func (t *trial) shorten(b *model.Booking) {
	if t.task.IsTurn() {
		return // nothing bounds how long a service has its GPUs
	}
	job := &admission.TicketOf(t.state, t.task).Job
	spec := job.Spec
	limit := spec.LimitWithin(b.Start.Sub(t.now))
	if limit == 0 || job.Array() || job.Waits > 0 || b.Begun || spec.TimeLimit > 0 && spec.TimeLimit <= limit {
		return
	}
	spec.TimeLimit = limit
	if !t.again(job.ID, &spec) {
		return
	}
	u := Unblock{Kind: UnblockTime, TimeLimit: limit, Booking: *b}
	if i := slices.IndexFunc(t.found, func(u Unblock) bool { return u.Kind == UnblockTime }); i < 0 {
		t.found = append(t.found, u)
	} else if t.found[i].TimeLimit < limit { // the longest suffices
		t.found[i] = u
	}
}
