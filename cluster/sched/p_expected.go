package sched

import (
	"github.com/berth-gpu/berth/fsm/model"
	"time"
)

// asker is the holder for which a forecast looks for GPUs, as far as bookings distinguish holders.
type asker struct {
	user, project string
	certain       time.Duration // how long the task holds GPUs at most; 0: unknown
}

// bookedPart is GPUs of a node that a booking keeps; a maintenance keeps all of them.
type bookedPart struct {
	n         uint32
	at, until model.Time
	booking   model.Booking
	back      model.Time // when their holder is expected to give them back; 0: there is no holder
}

// bookings is what a forecast assumes to be booked on each node.
type bookings struct {
	now   model.Time
	parts map[model.NodeID][]bookedPart
	has   map[model.ScopeKey][]holderOf
}

// holderOf is a GPU that is held until it is expected to be free.
type holderOf struct {
	node  model.NodeID
	model string
	until model.Time
}

// held returns how many GPUs of a node bookings keep from a task that starts at an instant
// and may hold GPUs until after the bookings begin. GPUs that a booking's owner still holds do not
// count: the task gets other GPUs.
func (b *bookings) held(id model.NodeID, at model.Time, who *asker) (n uint32) {
	if b == nil || who == nil {
		return 0
	}
	at = max(at, b.now)
	ends := never
	if who.certain > 0 {
		ends = at.Add(who.certain)
	}
	for i := range b.parts[id] {
		v := &b.parts[id][i]
		if v.at < ends && v.until > at && v.back <= at && !v.booking.For(who.user, who.project) {
			n += v.n
		}
	}
	return n
}

// never is after all instants.
const never = model.Time(1<<63 - 1)
