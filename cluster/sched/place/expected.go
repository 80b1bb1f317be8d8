package place

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Holder is the holder for which a forecast looks for GPUs, as far as bookings distinguish holders.
type Holder struct {
	User, Project string
	Certain       time.Duration // how long the task holds GPUs at most; 0: unknown
}

// BookedPart is GPUs of a node that a booking keeps; a maintenance keeps all of them.
type BookedPart struct {
	N         uint32
	At, Until model.Time
	Booking   model.Booking
	Back      model.Time // when their holder is expected to give them back; 0: there is no holder
}

// ExpectedBookings is what a forecast assumes to be booked on each node.
type ExpectedBookings struct {
	Now   model.Time
	Parts map[model.NodeID][]BookedPart
	Held  map[model.ScopeKey][]HeldGPU
}

// HeldGPU is a GPU that is held until it is expected to be free.
type HeldGPU struct {
	Node  model.NodeID
	Model string
	Until model.Time
}

// Withheld returns how many GPUs of a node bookings keep from a task that starts at an instant
// and may hold GPUs until after the bookings begin. GPUs that a booking's owner still holds do not
// count: the task gets other GPUs.
func (b *ExpectedBookings) Withheld(id model.NodeID, at model.Time, task *Holder) (n uint32) {
	if b == nil || task == nil {
		return 0
	}
	at = max(at, b.Now)
	ends := Never
	if task.Certain > 0 {
		ends = at.Add(task.Certain)
	}
	for i := range b.Parts[id] {
		v := &b.Parts[id][i]
		if v.At < ends && v.Until > at && v.Back <= at && !v.Booking.For(task.User, task.Project) {
			n += v.N
		}
	}
	return n
}

// Never is after all instants.
const Never = model.Time(1<<63 - 1)
