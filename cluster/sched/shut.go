package sched

import (
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxTried bounds the maintenances without which a task is tried.
const maxTried = 24

// shut lists the maintenances that have begun and have taken nodes out of service, so that a task finds too
// little: too few free GPUs, or too few nodes even if these were empty. Each of the maintenances alone is the
// cause, or all together are.
func (v *Verdict) shut() (out []blocker.Blocker) {
	s := v.planner.State
	var begun []model.Booking
	for _, b := range s.Bookings.All() {
		if b.Kind == model.BookMaintenance && b.Begun {
			begun = append(begun, b)
		}
	}
	blame := func(b model.Booking) {
		names := closedBy(s, &b)
		if len(names) > 0 && len(out) < maxBars {
			out = append(out, blocker.Blocker{
				Code: blocker.CodeClosed, Need: int64(v.request.PerNode), Nodes: int64(v.request.Nodes),
				Turn: blocker.Turn{Until: b.End, Booking: b, Shut: blocker.ListSome(names)},
			})
		}
	}
	for i := range begun[:min(len(begun), maxTried)] {
		if v.served(begun[i : i+1]) {
			blame(begun[i])
		}
	}
	if len(out) == 0 && len(begun) > 1 && v.served(begun) {
		for _, b := range begun {
			blame(b)
		}
	}
	return out
}

// served reports whether a task would find what it lacks if maintenances had not begun.
func (v *Verdict) served(without []model.Booking) bool {
	bodies := make([]command.Body, 0, len(without))
	for _, b := range without {
		bodies = append(bodies, &command.CancelBooking{ID: b.ID})
	}
	s := v.planner.State
	next, done := After(s, bodies...)
	if !done {
		return false
	}
	w := v.request
	w.Until, w.Bookings = 0, nil
	if _, fits := place.NewCapacity(&next).Find(&w); fits {
		return true
	}
	return !w.Hosted(s) && w.Hosted(&next)
}

// closedBy lists the nodes of a maintenance that take no work.
func closedBy(s *state.State, b *model.Booking) (names []string) {
	for _, id := range b.NodeIDs() {
		if node, found := s.Nodes.Get(id); found && !node.Schedulable() {
			names = append(names, string(id))
		}
	}
	return names
}
