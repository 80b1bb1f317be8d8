package state

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// ledger is what bookings rest on: for the moment at which each of them begins, how
// many GPUs are free then or certainly free by then, and how many their owners hold.
// It follows from the rows, and costs as much as there are bookings: what changes
// one GPU changes some numbers of each.
//
// A ledger that was published does not change.
type ledger struct {
	moments []moment
	closed  []model.Booking // maintenances
	order   []int           // moments in the order in which what owners hold is counted to them
	classes []class
}

// moment is when a booking begins, or now if it has begun.
type moment struct {
	model.Booking

	nodes []model.NodeID
	each  int32   // GPUs on each of them
	all   int32   // GPUs of the cluster that are free then
	kind  int32   // of those, the ones of its model
	named []int32 // of those, the ones of each of its nodes
	used  []int32 // GPUs of each class that are not free then
}

// class is GPUs that are alike to bookings, held by owners of bookings. What no
// booking names is left empty.
type class struct {
	user, project string
	node          model.NodeID
	model         string
}

// hold is one GPU as bookings look at it.
type hold struct {
	node          model.NodeID
	model         string
	open          bool // its node takes work and it is fit for it
	user, project string
	ends          model.Time // it is certainly free by then; 0: it is free, or about to be
}

func newLedger(bookings []model.Booking) *ledger {
	l := &ledger{}
	for _, b := range bookings {
		if b.Kind == model.BookMaintenance {
			l.closed = append(l.closed, b)
			continue
		}
		m := moment{Booking: b, nodes: b.NodeIDs(), each: int32(b.GPUs)} //nolint:gosec // bounded
		if n := len(m.nodes); n > 0 {
			m.each /= int32(n) //nolint:gosec // few
			m.named = make([]int32, n)
		}
		l.order = append(l.order, len(l.moments))
		l.moments = append(l.moments, m)
	}
	slices.SortStableFunc(l.order, func(i, j int) int { return l.moments[i].compare(&l.moments[j]) })
	return l
}

// compare orders by what can be met in the fewest ways: nodes, then a model, then
// anything; of these users before projects.
func (m *moment) compare(o *moment) int {
	rank := func(m *moment) int {
		switch {
		case len(m.nodes) > 0:
			return 0
		case m.Model != "":
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(m), rank(o)), -cmp.Compare(m.Owner.Kind, o.Owner.Kind))
}

// clone is a ledger that may be changed.
func (l *ledger) clone() *ledger {
	c := *l
	c.classes = slices.Clone(l.classes)
	c.moments = slices.Clone(l.moments)
	for i := range c.moments {
		m := &c.moments[i]
		m.named, m.used = slices.Clone(m.named), slices.Clone(m.used)
	}
	return &c
}

// add counts a GPU, or with -1 takes it out.
func (l *ledger) add(h *hold, by int32) {
	c := -1
	for i := range l.moments {
		m := &l.moments[i]
		free := h.ends == 0 || !m.Begun && h.ends <= m.Start
		switch {
		case l.closes(h.node, &m.Booking):
		case free && h.open:
			m.all += by
			if m.Model == "" || m.Model == h.model {
				m.kind += by
				if at := slices.Index(m.nodes, h.node); at >= 0 {
					m.named[at] += by
				}
			}
		case !free:
			if c < 0 {
				c = l.classOf(h)
			}
			if c < len(l.classes) {
				m.used[c] += by
			}
		}
	}
}

// closes says that a node has a maintenance in the time of a booking.
func (l *ledger) closes(id model.NodeID, b *model.Booking) bool {
	return slices.ContainsFunc(l.closed, func(c model.Booking) bool { return c.Overlaps(b) && slices.Contains(c.NodeIDs(), id) })
}

// classOf is the class of a GPU that is held; beyond the last: it is nobody's who
// has a booking.
func (l *ledger) classOf(h *hold) int {
	c := class{}
	for i := range l.moments {
		switch o := l.moments[i].Owner; {
		case o.Kind == model.ScopeUser && o.Name == h.user:
			c.user = h.user
		case o.Kind == model.ScopeProject && o.Name == h.project:
			c.project = h.project
		}
	}
	if c.user == "" && c.project == "" {
		return len(l.classes)
	}
	c.node, c.model = l.place(h.node, h.model)
	at := slices.Index(l.classes, c)
	if at < 0 {
		at = len(l.classes)
		l.classes = append(l.classes, c)
		for i := range l.moments {
			l.moments[i].used = append(l.moments[i].used, 0)
		}
	}
	return at
}

// place is a node and a model as far as bookings name them.
func (l *ledger) place(id model.NodeID, name string) (node model.NodeID, kind string) {
	for i := range l.moments {
		m := &l.moments[i]
		if slices.Contains(m.nodes, id) {
			node = id
		}
		if m.Model == name {
			kind = name
		}
	}
	return node, kind
}

// lack is how many GPUs too few there are at a moment for all bookings that hold
// then: in the cluster, of the booking's model, on each of its nodes. Below 0 there
// are as many to spare.
type lack struct {
	all, kind int32
	named     []int32
}

// lackAt adds up what bookings that are not over need at a moment beyond what their
// owners hold.
func (l *ledger) lackAt(i int, now model.Time) lack {
	m := &l.moments[i]
	out := lack{-m.all, -m.kind, make([]int32, len(m.named))}
	for j := range m.named {
		out.named[j] = -m.named[j]
	}
	used := slices.Clone(m.used)
	for _, j := range l.order {
		c := &l.moments[j]
		if c.End <= now || !c.Holds(m.Start) {
			continue
		}
		same := m.Model == "" || c.Model == m.Model
		for at := range max(len(c.nodes), 1) {
			node := model.NodeID("")
			if len(c.nodes) > 0 {
				node = c.nodes[at]
			}
			need := c.each - l.count(c, node, used)
			out.all += need
			if same {
				out.kind += need
			}
			if k := slices.Index(m.nodes, node); k >= 0 && same {
				out.named[k] += need
			}
		}
	}
	return out
}

// count takes what counts to a booking, on one node if it names any, from what
// owners hold: first what counts to fewer others.
func (l *ledger) count(c *moment, node model.NodeID, used []int32) (got int32) {
	for _, shared := range []bool{false, true} {
		for i, v := range l.classes {
			if shared != (v.user != "" && v.project != "") || !c.For(v.user, v.project) || node != "" && v.node != node ||
				c.Model != "" && v.model != c.Model {
				continue
			}
			n := min(used[i], c.each-got)
			used[i] -= n
			got += n
		}
	}
	return got
}

// worst is the most that is lacking of what a booking is made of.
func (k *lack) worst(m *moment) (n int32) {
	n = k.all
	if m.Model != "" {
		n = max(n, k.kind)
	}
	for _, v := range k.named {
		n = max(n, v)
	}
	return n
}

// exceeds says that more is lacking than another time, of what a booking is made of.
func (k *lack) exceeds(o *lack, m *moment) bool {
	over := func(a, b int32) bool { return a > max(b, 0) }
	if over(k.all, o.all) || m.Model != "" && over(k.kind, o.kind) {
		return true
	}
	for i := range k.named {
		if over(k.named[i], o.named[i]) {
			return true
		}
	}
	return false
}
