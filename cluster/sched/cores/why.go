package cores

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// WhyNoRoom returns why a task does not start now, as far as room is the cause.
func (s *Step) WhyNoRoom(t *admission.Ticket) blocker.Blocker {
	w := s.requestOf(t)
	if b := never(s.State, w); b != nil {
		if b.Private, b.Lacking = w.sites.NotOpen(); b.Lacking != "" {
			b.Code = blocker.CodeAccounts
		}
		return *b
	}
	b := blocker.Blocker{Need: int64(w.asked.CPUs), Nodes: int64(w.nodes), Room: blocker.Room{Asked: w.asked}}
	open := s.open(w)
	if len(open) < w.nodes {
		b.Code, b.Have = blocker.CodeNodes, int64(len(open))
		return b
	}
	if v, closed := s.closed(w); closed {
		b.Code, b.Until, b.Booking = blocker.CodeClosed, v.End, v
		return b
	}
	b.Room.Full = s.find(w, s.kept) != nil
	if b.Room.Full || s.kept == nil && s.foundBefore(w) {
		b.Code, b.Have = blocker.CodeAhead, int64(max(len(s.Commands), 1))
		return b
	}
	b.Code = blocker.CodeCores
	s.lacking(&b, w, open)
	return b
}

// lacking adds to a blocker the node that has most room of those that lack room for a task; if the task would fit were
// nothing kept for another, of those on which room is kept.
func (s *Step) lacking(b *blocker.Blocker, w *request, open []*host) {
	kept := s.find(w, nil) != nil
	for _, h := range open {
		if w.certain > h.closes {
			continue
		}
		fits := w.asked.Within(h.held, h.room)
		if fits {
			b.Have++
		}
		if fits != kept || kept && s.kept.leaves(h, w) {
			continue
		}
		free := h.room.Less(h.held)
		if b.Room.Node == "" || free.CPUs > b.Room.Free.CPUs || free.CPUs == b.Room.Free.CPUs && free.MemoryMB > b.Room.Free.MemoryMB {
			b.Room.Node, b.Room.All, b.Room.Free = h.id, h.room, free
		}
	}
	if kept {
		b.Room.Kept, b.Until = s.kept.task, s.kept.at
	}
}

// closed returns the maintenance that begins first of those that keep a task from nodes with room for it; false if
// it would find none without them either. Where room is kept as well, the maintenance is named if the task would find
// none were nothing kept.
func (s *Step) closed(w *request) (first model.Booking, closed bool) {
	always := *w
	always.certain = 0
	if s.find(&always, s.kept) == nil && (s.find(w, nil) != nil || s.find(&always, nil) == nil) {
		return first, false
	}
	for _, h := range s.hosts {
		if w.certain > h.closes && w.asked.Within(h.held, h.room) && w.suits(h) && (!closed || h.closes < first.Start) {
			first, closed = h.closing, true
		}
	}
	return first, closed
}

// never returns the blocker of a task that no nodes of the cluster could hold, even if they were empty and took work,
// with the node that has most cores for it; nil: they could.
func never(s *state.State, w *request) *blocker.Blocker {
	set, could := s.Settings(), 0
	most := blocker.Room{Asked: w.asked}
	for id, n := range s.Nodes.All() {
		use, _ := s.NodeUse.Get(id)
		all := state.RoomOf(&set, &n, &use)
		if all == (model.Room{}) || !w.sites.Has(id) {
			continue
		}
		if w.asked.Within(model.Room{}, all) {
			could++
		}
		if most.Node == "" || all.CPUs > most.All.CPUs || all.CPUs == most.All.CPUs && all.MemoryMB > most.All.MemoryMB {
			most.Node, most.All = id, all
		}
	}
	if could >= w.nodes {
		return nil
	}
	return &blocker.Blocker{Code: blocker.CodeNever, Need: int64(w.asked.CPUs), Nodes: int64(w.nodes), Have: int64(could), Room: most}
}
