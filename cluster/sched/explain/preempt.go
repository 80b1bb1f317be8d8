package explain

import (
	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/model"
)

// mayTake notes when the task may take GPUs of others, and the victims: a plan of that time stops them. That may
// be at once, or after they have run for longer. Changes of reservations until then are left out.
func (t *trial) mayTake() {
	at := t.now
	for ; t.left > 0; t.left-- {
		victims, planned, next := sched.VictimsOf(t.state, at, t.task)
		if planned {
			u := Unblock{Kind: UnblockPreempt, Ends: victims}
			if at > t.now {
				u.At = at
			}
			t.found = append(t.found, u)
		}
		if at = next; planned || at == 0 || t.turns(at) {
			return
		}
	}
}

// turns reports whether a booking begins or ends by an instant.
func (t *trial) turns(at model.Time) bool {
	for _, b := range t.state.Bookings.All() {
		if b.End <= at || b.Start <= at && !b.Begun {
			return true
		}
	}
	return false
}
