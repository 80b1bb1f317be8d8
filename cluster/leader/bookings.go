package leader

import (
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// turnAgain is the pause before named bookings are checked again: by the state's clock they may not be due
// yet.
const turnAgain = time.Second

// turnBookings returns the commands for bookings whose start or end has come, and the time until the next
// one.
func turnBookings(s *state.State, wall model.Time) (out []command.Body, next time.Duration) {
	now := max(wall, s.Settings().Clock)
	next = liveness.Never
	b := &command.TurnBookings{}
	for id, v := range s.Bookings.All() {
		at := v.Start
		if v.Begun {
			at = v.End
		}
		if at > now {
			next = min(next, at.Sub(now))
			continue
		}
		b.IDs = append(b.IDs, id)
	}
	if len(b.IDs) == 0 {
		return nil, next
	}
	return []command.Body{b}, turnAgain
}
