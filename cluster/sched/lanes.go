package sched

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// finder looks for the first instant at which a task finds its GPUs.
type finder struct {
	times  *timetable
	want   *want
	free   want // the same, without regard to what is kept for others
	runs   time.Duration
	one    bool // all of them on one node
	all    map[model.NodeID]*share
	filled bool // all holds every node that has GPUs for the task now
}

func newFinder(p *timetable, w *want) *finder {
	l := &finder{times: p, want: w, free: *w, runs: w.until.Sub(p.now), all: map[model.NodeID]*share{}}
	l.one = w.nodes <= 1 && (w.nodes == 1 || p.pool.oneHolds(w))
	l.free.until, l.free.asks = 0, nil
	return l
}

// fill adds the nodes that have GPUs for the task now. A task of one node most often looks only at the nodes where
// something changes.
func (l *finder) fill() {
	if l.filled {
		return
	}
	l.filled = true
	pool := l.times.pool
	for n := pool.most(&l.free); n > 0; n-- {
		for _, h := range pool.with(n, &l.free) {
			if l.all[h.id] == nil {
				l.all[h.id] = &share{node: h.id, n: pool.count(h, &l.free)}
			}
		}
	}
}

// lane returns a node with the GPUs that the task finds there now and those added since.
func (l *finder) lane(id model.NodeID) *share {
	v := l.all[id]
	if v == nil {
		v = &share{node: id}
		if h := l.times.pool.host(id); h != nil {
			v.n = l.times.pool.count(h, &l.free)
		}
		l.all[id] = v
	}
	return v
}

// earliest returns where and when a task is expected to find its GPUs first: at one of the instants at which GPUs
// become free or, if from is later than now, at from. No instant before from counts.
func (l *finder) earliest(from model.Time) ([]share, model.Time) {
	waits := from > l.times.now
	for at := range l.times.instants() {
		if waits && at.at > from {
			if parts := l.fit(from, l.list()); parts != nil {
				return parts, from
			}
			waits = false
		}
		var touched []*share
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
func (l *finder) list() []*share {
	l.fill()
	all := make([]*share, 0, len(l.all))
	for _, v := range l.all { // order-free: sorted below
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *share) int { return cmp.Compare(a.node, b.node) })
	return all
}

// most returns the most GPUs that a task finds at an instant at which it finds at least the fewest that it takes.
func (l *finder) most(w *want, at model.Time) (parts []share) {
	least, all := l.want.gpus(), w.gpus()
	step := uint32(1)
	if w.whole {
		step = w.need
	}
	fits := func(n uint32) []share {
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
func (l *finder) add(r *release) *share {
	v := l.lane(r.node)
	for i := range r.gpus {
		if l.want.sites.has(r.node) && l.want.takes(&r.gpus[i]) {
			v.n++
		}
	}
	return v
}

// open returns how many GPUs of a node a task may have from an instant on.
func (l *finder) open(v *share, at model.Time) uint32 {
	p := l.times.pool
	return v.n - min(v.n, p.reserved.held(v.node, at, at.Add(l.runs))+p.booked.held(v.node, at, l.want.asks))
}

// fit returns where all GPUs of a task are, or nil if there are too few. A task of one node looks only at the
// nodes where something has changed.
func (l *finder) fit(at model.Time, touched []*share) []share {
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
func (l *finder) among(all []*share, at model.Time, nodes int) (parts []share) {
	var open []share
	for _, v := range all {
		if n := l.open(v, at); n >= l.want.need {
			open = append(open, share{node: v.node, n: n})
		}
	}
	if len(open) < nodes {
		return nil
	}
	slices.SortFunc(open, func(a, b share) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.node, b.node)) })
	for _, v := range open[:nodes] {
		parts = append(parts, share{node: v.node, n: l.want.need})
	}
	return parts
}

// spread takes GPUs of the nodes with the most GPUs until there are enough.
func (l *finder) spread(all []*share, at model.Time) (parts []share) {
	var open []share
	for _, v := range all {
		if n := l.open(v, at); n > 0 {
			open = append(open, share{node: v.node, n: n})
		}
	}
	slices.SortFunc(open, func(a, b share) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.node, b.node)) })
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
