package sched

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// lane is a node with the number of its GPUs that suit a task at the instant looked at.
type lane struct {
	node model.NodeID
	n    uint32
}

// lanes looks for the first instant at which a task finds its GPUs.
type lanes struct {
	times  *timetable
	want   *want
	free   want // the same, without regard to what is kept for others
	runs   time.Duration
	one    bool // all of them on one node
	all    map[model.NodeID]*lane
	filled bool // all holds every node that has GPUs for the task now
}

func newLanes(p *timetable, w *want) *lanes {
	l := &lanes{times: p, want: w, free: *w, runs: w.until.Sub(p.now), all: map[model.NodeID]*lane{}}
	l.one = w.nodes <= 1 && (w.nodes == 1 || p.pool.oneHolds(w))
	l.free.until, l.free.asks = 0, nil
	return l
}

// fill adds the nodes that have GPUs for the task now. A task of one node most often looks only at the nodes where
// something changes.
func (l *lanes) fill() {
	if l.filled {
		return
	}
	l.filled = true
	pool := l.times.pool
	for n := pool.most(&l.free); n > 0; n-- {
		for _, h := range pool.with(n, &l.free) {
			if l.all[h.id] == nil {
				l.all[h.id] = &lane{h.id, pool.count(h, &l.free)}
			}
		}
	}
}

// lane returns a node with the GPUs that the task finds there now and those added since.
func (l *lanes) lane(id model.NodeID) *lane {
	v := l.all[id]
	if v == nil {
		v = &lane{node: id}
		if h := l.times.pool.host(id); h != nil {
			v.n = l.times.pool.count(h, &l.free)
		}
		l.all[id] = v
	}
	return v
}

// earliest returns where and when a task is expected to find its GPUs first: at one of the instants at which GPUs
// become free or, if from is later than now, at from. No instant before from counts.
func (l *lanes) earliest(from model.Time) ([]lane, model.Time) {
	waits := from > l.times.now
	for at := range l.times.instants() {
		if waits && at.at > from {
			if parts := l.fit(from, l.list()); parts != nil {
				return parts, from
			}
			waits = false
		}
		var touched []*lane
		for _, r := range at.releases {
			touched = append(touched, l.add(r))
		}
		for _, id := range at.nodes {
			touched = append(touched, l.lane(id))
		}
		if waits {
			continue
		}
		if parts := l.fit(at.at, touched); parts != nil {
			return parts, at.at
		}
	}
	if waits {
		if parts := l.fit(from, l.list()); parts != nil {
			return parts, from
		}
	}
	return nil, never
}

// list returns all nodes with GPUs that suit, in order.
func (l *lanes) list() []*lane {
	l.fill()
	all := make([]*lane, 0, len(l.all))
	for _, v := range l.all { // order-free: sorted below
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *lane) int { return cmp.Compare(a.node, b.node) })
	return all
}

// most returns the most GPUs that a task finds at an instant at which it finds at least the fewest that it takes.
func (l *lanes) most(w *want, at model.Time) (parts []lane) {
	least, all := l.want.gpus(), w.gpus()
	step := uint32(1)
	if w.whole {
		step = w.need
	}
	fits := func(n uint32) []lane {
		try := *w
		if try.least = 0; w.whole {
			try.nodes = n / w.need
		} else {
			try.need = n
		}
		with := *l
		with.want, with.one = &try, l.one && try.nodes <= 1
		return with.fit(at, l.list())
	}
	n := sort.Search(int((all-least)/step)+1, func(i int) bool { return fits(all-uint32(i)*step) != nil })
	return fits(all - min(uint32(n)*step, all-least))
}

// add counts the GPUs that a release frees.
func (l *lanes) add(r *release) *lane {
	v := l.lane(r.node)
	for i := range r.gpus {
		if l.want.sites.has(r.node) && l.want.takes(&r.gpus[i]) {
			v.n++
		}
	}
	return v
}

// open returns how many GPUs of a node a task may have from an instant on.
func (l *lanes) open(v *lane, at model.Time) uint32 {
	p := l.times.pool
	return v.n - min(v.n, p.reserved.held(v.node, at, at.Add(l.runs))+p.booked.held(v.node, at, l.want.asks))
}

// fit returns where all GPUs of a task are, or nil if there are too few. A task of one node looks only at the
// nodes where something has changed.
func (l *lanes) fit(at model.Time, touched []*lane) []lane {
	if l.one {
		return l.among(touched, at, 1)
	}
	all := l.list()
	if l.want.nodes > 1 {
		return l.among(all, at, int(l.want.nodes))
	}
	return l.spread(all, at)
}

// among picks so many nodes with enough GPUs, those with the fewest GPUs first.
func (l *lanes) among(all []*lane, at model.Time, nodes int) (parts []lane) {
	var open []lane
	for _, v := range all {
		if n := l.open(v, at); n >= l.want.need {
			open = append(open, lane{v.node, n})
		}
	}
	if len(open) < nodes {
		return nil
	}
	slices.SortFunc(open, func(a, b lane) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.node, b.node)) })
	for _, v := range open[:nodes] {
		parts = append(parts, lane{v.node, l.want.need})
	}
	return parts
}

// spread takes GPUs of the nodes with the most GPUs until there are enough.
func (l *lanes) spread(all []*lane, at model.Time) (parts []lane) {
	var open []lane
	for _, v := range all {
		if n := l.open(v, at); n > 0 {
			open = append(open, lane{v.node, n})
		}
	}
	slices.SortFunc(open, func(a, b lane) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.node, b.node)) })
	left := l.want.need
	for _, v := range open {
		v.n = min(v.n, left)
		parts = append(parts, v)
		if left -= v.n; left == 0 {
			return parts
		}
	}
	return nil
}
