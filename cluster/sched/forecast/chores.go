package forecast

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/virtual"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// chores returns when the next work of the leader besides the scheduler's passes is due by time; 0: never.
func (f *future) chores() (at model.Time) {
	for _, claim := range f.State.Claims.All() {
		at = pass.Sooner(at, claim.Until)
	}
	for k := range f.State.Delayed.From(state.DelayedKey{At: f.Now + 1}) {
		at = pass.Sooner(at, k.At)
		break
	}
	for k := range f.State.Deadlines.From(state.DeadlineKey{At: f.Now + 1}) {
		return pass.Sooner(at, k.At)
	}
	return at
}

// housekeeping does what the leader does besides the scheduler's passes.
func (f *future) housekeeping() error {
	if bodies := slices.Concat(f.turnBookings(), f.expireClaims(), f.detach(), f.overdue()); len(bodies) > 0 {
		if err := f.Must(bodies...); err != nil {
			return err
		}
	}
	if bodies := f.settle(); len(bodies) > 0 {
		return f.Must(bodies...)
	}
	return nil
}

// turnBookings begins and ends bookings.
func (f *future) turnBookings() []command.Body {
	b := &command.TurnBookings{}
	for id, v := range f.State.Bookings.All() {
		if v.End <= f.Now || v.Start <= f.Now && !v.Begun {
			b.IDs = append(b.IDs, id)
		}
	}
	if len(b.IDs) == 0 {
		return nil
	}
	return []command.Body{b}
}

// expireClaims gives up claims that their preemptor has not taken in time.
func (f *future) expireClaims() []command.Body {
	b := &command.ExpireClaims{}
	for key, claim := range f.State.Claims.All() {
		if claim.Until <= f.Now {
			b.Slots = append(b.Slots, key)
		}
	}
	if len(b.Slots) == 0 {
		return nil
	}
	return []command.Body{b}
}

// detach ends the allocations that services hold only while a job runs, once that job has ended.
func (f *future) detach() (bodies []command.Body) {
	for id, a := range f.State.Allocations.All() {
		if a.Job == 0 || a.State.Terminal() {
			continue
		}
		if job, found := f.State.Jobs.Get(a.Job); found && job.EndIndex == 0 {
			continue
		}
		if a.State == model.AllocationActive {
			bodies = append(bodies, virtual.Releases(&f.State, id)...)
		} else {
			bodies = append(bodies, &command.ReleaseAllocation{ID: id})
		}
	}
	return bodies
}

// overdue ends jobs that have waiting tasks at their deadline. Running tasks end soon after the deadline.
func (f *future) overdue() []command.Body {
	b := &command.Overdue{}
	for k := range f.State.Deadlines.All() {
		if k.At > f.Now || len(b.Jobs) == command.MaxOverdue {
			break
		}
		for key, task := range f.State.Tasks.From(model.TaskKey{Job: k.Job}) {
			if key.Job != k.Job {
				break
			}
			if task.State == model.TaskQueued {
				b.Jobs = append(b.Jobs, k.Job)
				break
			}
		}
	}
	if len(b.Jobs) == 0 {
		return nil
	}
	return []command.Body{b}
}

// settle passes what a job has done on to the jobs that wait for it.
func (f *future) settle() []command.Body {
	b := &command.Settle{}
	for id := range f.State.Settled(f.Now) {
		if b.Jobs = append(b.Jobs, id); len(b.Jobs) == command.MaxSettled {
			break
		}
	}
	if len(b.Jobs) == 0 {
		return nil
	}
	return []command.Body{b}
}
