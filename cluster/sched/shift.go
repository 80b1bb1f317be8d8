package sched

import "slices"

// shiftWork bounds how much a pass looks for other GPUs to keep: the instants and nodes that are looked at, which
// takes some milliseconds.
const shiftWork = 1 << 16

// shift makes room for a task that would fit if nothing were kept for the tasks before it. It keeps other GPUs for
// these tasks, if all of them still find theirs at the expected times.
func (p *timetable) shift(w *want) bool {
	if w.until == 0 || len(p.reserved) == 0 {
		return false
	}
	free := *w
	free.until = 0
	before, diaries := p.reserved, p.pool.reserved
	for parts := range choices(p.pool, &free) {
		if p.shifted += len(before) * (len(p.releases) + len(p.pool.given) + len(parts)); p.shifted > shiftWork {
			break
		}
		if p.around(w, parts, before) {
			return true
		}
	}
	p.reserved, p.pool.reserved = before, diaries
	return false
}

// around keeps GPUs again for each of some reservations, from the same instant on as before, so that parts of
// nodes are left to a task; false if one of them would have to wait for longer.
func (p *timetable) around(w *want, parts []part, all []Reservation) bool {
	taken := make([]share, len(parts))
	for i, v := range parts {
		taken[i] = share{node: v.host.id, n: v.n}
	}
	p.reserved, p.pool.reserved = nil, keeps{}
	p.keep(Reservation{At: p.now, Until: w.until}, w, taken)
	for i := range all {
		r := &all[i]
		found, at := newFinder(p, r.want).earliest(r.At)
		if at != r.At {
			return false
		}
		p.keep(Reservation{Task: r.Task, At: r.At, Until: r.Until}, r.want, found)
	}
	p.reserved = slices.Delete(p.reserved, 0, 1)
	for _, v := range taken {
		p.pool.reserved[v.node].drop(w)
	}
	return true
}
