package forecast

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Pause is the time for which a task is expected to be suspended: for others, or for a reservation.
type Pause struct {
	From, Until model.Time // Until is 0 if it is not known
}

// pauses is the pauses of each task in a forecast, in order.
type pauses map[model.TaskKey][]Pause

// begin notes that a task will have stopped at an instant.
func (p pauses) begin(key model.TaskKey, at model.Time) { p[key] = append(p[key], Pause{From: at}) }

// end notes that a task starts.
func (p pauses) end(key model.TaskKey, at model.Time) {
	if n := len(p[key]); n > 0 {
		p[key][n-1].Until = at
	}
}

// of lists the pauses of a task. A pause that has not ended lasts until the given instant.
func (p pauses) of(key model.TaskKey, until model.Time) []Pause {
	if n := len(p[key]); n > 0 && p[key][n-1].Until == 0 {
		p.end(key, until)
	}
	return p[key]
}

// toCome reports whether a task is being suspended and has not stopped yet.
func (p pauses) toCome(now model.Time) bool {
	for _, v := range p { // order-free: any of them
		if v[len(v)-1].From > now {
			return true
		}
	}
	return false
}

// booked reports whether there is a reservation that is not over, and a task that may have to stop for it.
func booked(s *state.State, now model.Time) bool {
	for _, b := range s.Bookings.All() {
		if b.Kind == model.BookGPUs && b.End > now {
			return s.LiveTasks.Len()+s.Queue.Len() > 0
		}
	}
	return false
}
