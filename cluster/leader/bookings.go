package leader

import (
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// turnAgain is when bookings are looked at again that were named: by the state's clock
// nothing may be due yet.
const turnAgain = time.Second

// turnBookings names the bookings whose start or end has come, and says when the next
// will.
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
