package state

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// RoomOf returns how much jobs without GPUs may hold on a node in all.
func RoomOf(set *model.Settings, n *model.Node, use *model.NodeUse) model.Room {
	tuning := set.Tuning
	if tuning == (model.Tuning{}) {
		tuning = model.DefaultTuning()
	}
	return tuning.RoomFor(n, use.All)
}

// CPURoom returns how much jobs without GPUs may hold on a node in all, and how much they hold.
func (s *State) CPURoom(n *model.Node) (room, held model.Room) {
	set := s.Settings()
	use, _ := s.NodeUse.Get(n.ID)
	return RoomOf(&set, n, &use), use.Held
}

// Closing returns the maintenance of a node that begins first among those that are not over at an instant; false if
// there is none. Jobs without GPUs start on the node only if they certainly end before. What has GPUs is counted by
// the ledger.
func Closing(bookings table.Table[model.BookingID, model.Booking], node model.NodeID, now model.Time) (first model.Booking, closes bool) {
	for _, b := range bookings.All() {
		if b.Kind == model.BookMaintenance && b.End > now && (!closes || b.Start < first.Start) && slices.Contains(b.NodeIDs(), node) {
			first, closes = b, true
		}
	}
	return first, closes
}

// Closings returns what [Closing] returns for each node that has a maintenance.
func Closings(bookings table.Table[model.BookingID, model.Booking], now model.Time) map[model.NodeID]model.Booking {
	first := map[model.NodeID]model.Booking{}
	for _, b := range bookings.All() {
		if b.Kind != model.BookMaintenance || b.End <= now {
			continue
		}
		for _, id := range b.NodeIDs() {
			if c, found := first[id]; !found || b.Start < c.Start {
				first[id] = b
			}
		}
	}
	return first
}

// ClosesBetween returns a maintenance that a rank of a job without GPUs runs into only if the rank ends at the later
// of two instants; false if there is none. Ranks that have ended are left out.
func ClosesBetween(bookings table.Table[model.BookingID, model.Booking], ranks []model.Rank, from, to, now model.Time) (by model.Booking,
	closes bool,
) {
	for i := range ranks {
		if ranks[i].Holds() == (model.Room{}) {
			continue
		}
		if b, found := Closing(bookings, ranks[i].Node, now); found && from <= b.Start && b.Start < to {
			return b, true
		}
	}
	return by, false
}

// HostGigabytes converts MB of main memory to GB of 1,000 MB, in which jobs ask for it.
func HostGigabytes(mb uint32) float64 { return float64(mb) / 1000 }
