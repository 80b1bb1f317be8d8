package reserve

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/place"
	"github.com/berth-gpu/berth/fsm/model"
)

// Finder looks for the first instant at which a task finds its GPUs.
type Finder struct {
	times      *Timetable
	request    *place.Request
	unreserved place.Request // the same, without regard to what is kept for others
	runs       time.Duration
	one        bool // all of them on one node
	all        map[model.NodeID]*place.Share
	filled     bool // all holds every node that has GPUs for the task now
}

// NewFinder returns a finder for a task, as of now.
func NewFinder(p *Timetable, w *place.Request) *Finder {
	l := &Finder{times: p, request: w, unreserved: *w, runs: w.Until.Sub(p.now), all: map[model.NodeID]*place.Share{}}
	l.one = w.Nodes <= 1 && (w.Nodes == 1 || p.free.OneNodeHolds(w))
	l.unreserved.Until, l.unreserved.Holder = 0, nil
	return l
}

// fill adds the nodes that have GPUs for the task now. A task of one node most often looks only at the nodes where
// something changes.
func (l *Finder) fill() {
	if l.filled {
		return
	}
	l.filled = true
	capacity := l.times.free
	for n := capacity.MostFree(&l.unreserved); n > 0; n-- {
		for _, h := range capacity.NodesWith(n, &l.unreserved) {
			if l.all[h.ID] == nil {
				l.all[h.ID] = &place.Share{Node: h.ID, N: capacity.Count(h, &l.unreserved)}
			}
		}
	}
}

// node returns a node with the GPUs that the task finds there now and those added since.
func (l *Finder) node(id model.NodeID) *place.Share {
	v := l.all[id]
	if v == nil {
		v = &place.Share{Node: id}
		if h := l.times.free.Host(id); h != nil {
			v.N = l.times.free.Count(h, &l.unreserved)
		}
		l.all[id] = v
	}
	return v
}

// Earliest returns where and when a task is expected to find its GPUs first: at one of the instants at which GPUs
// become free or, if from is later than now, at from. No instant before from counts.
func (l *Finder) Earliest(from model.Time) ([]place.Share, model.Time) {
	waits := from > l.times.now
	for at := range l.times.Instants() {
		if waits && at.At > from {
			if parts := l.fit(from, l.List()); parts != nil {
				return parts, from
			}
			waits = false
		}
		var touched []*place.Share
		for _, r := range at.Releases {
			touched = append(touched, l.Add(r))
		}
		for _, id := range at.nodes {
			touched = append(touched, l.node(id))
		}
		if waits {
			continue
		}
		if parts := l.fit(at.At, touched); parts != nil {
			return parts, at.At
		}
	}
	if waits {
		if parts := l.fit(from, l.List()); parts != nil {
			return parts, from
		}
	}
	return nil, place.Never
}

// List returns all nodes with GPUs that suit, in order.
func (l *Finder) List() []*place.Share {
	l.fill()
	all := make([]*place.Share, 0, len(l.all))
	for _, v := range l.all { // order-free: sorted below
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *place.Share) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// Most returns the most GPUs that a task finds at an instant at which it finds at least the fewest that it takes.
func (l *Finder) Most(w *place.Request, at model.Time) (parts []place.Share) {
	least, all := l.request.Total(), w.Total()
	step := uint32(1)
	if w.WholeNodes {
		step = w.PerNode
	}
	fits := func(n uint32) []place.Share {
		try := *w
		if try.Least = 0; w.WholeNodes {
			try.Nodes = n / w.PerNode
		} else {
			try.PerNode = n
		}
		with := *l
		with.request, with.one = &try, l.one && try.Nodes <= 1
		return with.fit(at, l.List())
	}
	n := sort.Search(int((all-least)/step)+1, func(i int) bool { return fits(all-uint32(i)*step) != nil })
	return fits(all - min(uint32(n)*step, all-least))
}

// Add counts the GPUs that a release frees.
func (l *Finder) Add(r *place.Release) *place.Share {
	v := l.node(r.Node)
	for i := range r.GPUs {
		if l.request.Sites.Has(r.Node) && l.request.Takes(&r.GPUs[i]) {
			v.N++
		}
	}
	return v
}

// Open returns how many GPUs of a node a task may have from an instant on.
func (l *Finder) Open(v *place.Share, at model.Time) uint32 {
	p := l.times.free
	return v.N - min(v.N, p.Reserved.Withheld(v.Node, at, at.Add(l.runs))+p.Booked.Withheld(v.Node, at, l.request.Holder))
}

// fit returns where all GPUs of a task are, or nil if there are too few. A task of one node looks only at the
// nodes where something has changed.
func (l *Finder) fit(at model.Time, touched []*place.Share) []place.Share {
	if l.one {
		return l.among(touched, at, 1)
	}
	all := l.List()
	if l.request.Nodes > 1 {
		return l.among(all, at, int(l.request.Nodes))
	}
	return l.spread(all, at)
}

// among picks so many nodes with enough GPUs, those with the fewest GPUs first.
func (l *Finder) among(all []*place.Share, at model.Time, nodes int) (parts []place.Share) {
	var open []place.Share
	for _, v := range all {
		if n := l.Open(v, at); n >= l.request.PerNode {
			open = append(open, place.Share{Node: v.Node, N: n})
		}
	}
	if len(open) < nodes {
		return nil
	}
	slices.SortFunc(open, func(a, b place.Share) int { return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Node, b.Node)) })
	for _, v := range open[:nodes] {
		parts = append(parts, place.Share{Node: v.Node, N: l.request.PerNode})
	}
	return parts
}

// spread takes GPUs of the nodes with the most GPUs until there are enough.
func (l *Finder) spread(all []*place.Share, at model.Time) (parts []place.Share) {
	var open []place.Share
	for _, v := range all {
		if n := l.Open(v, at); n > 0 {
			open = append(open, place.Share{Node: v.Node, N: n})
		}
	}
	slices.SortFunc(open, func(a, b place.Share) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Node, b.Node)) })
	left := l.request.PerNode
	for _, v := range open {
		v.N = min(v.N, left)
		parts = append(parts, v)
		if left -= v.N; left == 0 {
			return parts
		}
	}
	return nil
}
