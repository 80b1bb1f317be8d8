package reserve

import (
	"slices"

	"github.com/berth-gpu/berth/cluster/sched/place"
)

// shiftWork bounds how much a pass looks for other GPUs to keep: the instants and nodes that are looked at, which
// takes some milliseconds.
const shiftWork = 1 << 16

// Shift makes room for a task that would fit if nothing were kept for the tasks before it. It keeps other GPUs for
// these tasks, if all of them still find theirs at the expected times.
func (p *Timetable) Shift(w *place.Request) bool {
	if w.Until == 0 || len(p.Reserved) == 0 {
		return false
	}
	free := *w
	free.Until = 0
	before, diaries := p.Reserved, p.free.Reserved
	for parts := range place.Places(p.free, &free) {
		if p.shifted += len(before) * (len(p.releases) + len(p.free.Given) + len(parts)); p.shifted > shiftWork {
			break
		}
		if p.around(w, parts, before) {
			return true
		}
	}
	p.Reserved, p.free.Reserved = before, diaries
	return false
}

// around keeps GPUs again for each of some reservations, from the same instant on as before, so that parts of
// nodes are left to a task; false if one of them would have to wait for longer.
func (p *Timetable) around(w *place.Request, parts []place.Part, all []Reservation) bool {
	taken := make([]place.Share, len(parts))
	for i, v := range parts {
		taken[i] = place.Share{Node: v.Host.ID, N: v.N}
	}
	p.Reserved, p.free.Reserved = nil, place.ReservedGPUs{}
	p.Keep(Reservation{At: p.now, Until: w.Until}, w, taken)
	for i := range all {
		r := &all[i]
		found, at := NewFinder(p, r.Request).Earliest(r.At)
		if at != r.At {
			return false
		}
		p.Keep(Reservation{Task: r.Task, At: r.At, Until: r.Until}, r.Request, found)
	}
	p.Reserved = slices.Delete(p.Reserved, 0, 1)
	for _, v := range taken {
		p.free.Reserved[v.Node].Drop(w)
	}
	return true
}
