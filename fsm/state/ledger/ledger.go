// Package ledger counts the GPUs that bookings need: a [Ledger] how many are free or held when each booking
// begins, and [Books] decide from one what may be placed in addition to the bookings.
//
//berth:pure
package ledger

import (
	"cmp"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// Ledger is the basis of bookings: for the moment at which each of them begins, how many GPUs are free then
// or certainly free by then, and how many their owners hold. It follows from the rows, and costs as much as
// there are bookings: a change of one GPU changes some numbers of each.
//
// A ledger that was published does not change.
type Ledger struct {
	moments []moment
	closed  []shut
	order   []int // moments in the order in which what owners hold is counted to them
	classes []class
}

// moment is when a booking begins, or now if it has begun.
type moment struct {
	model.Booking

	nodes places
	each  int32   // GPUs on each of them
	all   int32   // GPUs of the cluster that are free then
	kind  int32   // of those, the ones of its model
	named []int32 // of those, the ones of each of its nodes
	used  []int32 // GPUs of each class that are not free then
	owned []owned // the classes that count to it, first those that count to fewer others

	common map[int][]both // its nodes that other moments, by number, or itself name; it does not change
}

// places are a booking's nodes, numbered in order. They do not change.
type places map[model.NodeID]int

func placesOf(b *model.Booking) places {
	out := places{}
	for _, id := range b.NodeIDs() {
		out[id] = len(out)
	}
	return out
}

func (p places) has(id model.NodeID) bool {
	_, is := p[id]
	return is
}

// both is the numbers of one node in two moments.
type both struct{ mine, theirs int }

// commonTo returns the nodes that two moments name.
func commonTo(m, o *moment) (out []both) {
	for id, at := range m.nodes { // order-free: sorted below
		if is, named := o.nodes[id]; named {
			out = append(out, both{at, is})
		}
	}
	slices.SortFunc(out, func(a, b both) int { return cmp.Compare(a.mine, b.mine) })
	return out
}

// owned is a class that counts to a booking, and on which of its nodes; 0 if it names none.
type owned struct{ class, node int }

// shut is a maintenance.
type shut struct {
	model.Booking

	nodes places
}

// class is GPUs that are alike to bookings, held by owners of bookings. A property that no booking names is
// left empty.
type class struct {
	user, project string
	node          model.NodeID
	model         string
}

// shared reports whether it may count to bookings of a user and of a project.
func (c *class) shared() bool { return c.user != "" && c.project != "" }

// Hold is one GPU as bookings count it.
type Hold struct {
	Node          model.NodeID
	Model         string
	Open          bool // its node takes work and it is fit for it
	User, Project string
	Ends          model.Time // it is certainly free by then; 0: it is free, or about to be
}

// New returns a ledger of bookings, without GPUs; Add counts them.
func New(bookings []model.Booking) *Ledger {
	l := &Ledger{}
	for _, b := range bookings {
		if b.Kind == model.BookMaintenance {
			l.closed = append(l.closed, shut{b, placesOf(&b)})
			continue
		}
		m := moment{Booking: b, nodes: placesOf(&b), each: int32(b.GPUs)}
		if n := len(m.nodes); n > 0 {
			m.each /= int32(n)
			m.named = make([]int32, n)
		}
		l.order = append(l.order, len(l.moments))
		l.moments = append(l.moments, m)
	}
	for i := range l.moments {
		m := &l.moments[i]
		m.common = map[int][]both{}
		for j := range l.moments {
			if nodes := commonTo(m, &l.moments[j]); nodes != nil {
				m.common[j] = nodes
			}
		}
	}
	slices.SortStableFunc(l.order, func(i, j int) int { return l.moments[i].compare(&l.moments[j]) })
	return l
}

// compare orders by what can be met in the fewest ways: nodes, then a model, then any; of these users before
// projects.
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

// Clone returns a ledger that may be changed.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.classes = slices.Clone(l.classes)
	c.moments = slices.Clone(l.moments)
	for i := range c.moments {
		m := &c.moments[i]
		m.named, m.used = slices.Clone(m.named), slices.Clone(m.used)
	}
	return &c
}

// frees reports whether a GPU is certainly free at a moment.
func (m *moment) frees(h *Hold) bool { return h.Ends == 0 || !m.Begun && h.Ends <= m.Start }

// Add counts a GPU, or with -1 subtracts it, and reports whether its holder has a booking.
func (l *Ledger) Add(h *Hold, by int32) (owned bool) {
	c := -1
	for i := range l.moments {
		m := &l.moments[i]
		free := m.frees(h)
		switch {
		case l.closes(h.Node, &m.Booking):
		case free && h.Open:
			m.all += by
			if m.Model == "" || m.Model == h.Model {
				m.kind += by
				if at, is := m.nodes[h.Node]; is {
					m.named[at] += by
				}
			}
		case !free:
			if c < 0 {
				c = l.classOf(h)
			}
			if owned = c < len(l.classes); owned {
				m.used[c] += by
			}
		}
	}
	return owned
}

// closes reports whether a node has a maintenance in the time of a booking.
func (l *Ledger) closes(id model.NodeID, b *model.Booking) bool {
	return slices.ContainsFunc(l.closed, func(c shut) bool { return c.Overlaps(b) && c.nodes.has(id) })
}

// classOf returns the class of a held GPU; beyond the last: its holder has no booking.
func (l *Ledger) classOf(h *Hold) int {
	c := class{}
	for i := range l.moments {
		switch o := l.moments[i].Owner; {
		case o.Kind == model.ScopeUser && o.Name == h.User:
			c.user = h.User
		case o.Kind == model.ScopeProject && o.Name == h.Project:
			c.project = h.Project
		}
	}
	if c.user == "" && c.project == "" {
		return len(l.classes)
	}
	c.node, c.model = l.place(h.Node, h.Model)
	at := slices.Index(l.classes, c)
	if at < 0 {
		at = len(l.classes)
		l.classes = append(l.classes, c)
		for i := range l.moments {
			m := &l.moments[i]
			m.used = append(m.used, 0)
			m.own(at, l.classes)
		}
	}
	return at
}

// own makes a new class count to a booking, if it does: shared ones after the others.
func (m *moment) own(at int, classes []class) {
	c := &classes[at]
	node, named := m.nodes[c.node]
	if !m.For(c.user, c.project) || len(m.nodes) > 0 && !named || m.Model != "" && c.model != m.Model {
		return
	}
	i := len(m.owned)
	for !c.shared() && i > 0 && classes[m.owned[i-1].class].shared() {
		i--
	}
	m.owned = slices.Insert(slices.Clip(m.owned), i, owned{at, node})
}

// place returns a node and a model as far as bookings name them.
func (l *Ledger) place(id model.NodeID, name string) (node model.NodeID, kind string) {
	for i := range l.moments {
		m := &l.moments[i]
		if m.nodes.has(id) {
			node = id
		}
		if m.Model == name {
			kind = name
		}
	}
	return node, kind
}

// lack is how many GPUs too few there are at a moment for all bookings that are in force then: in the
// cluster, of the booking's model, on each of its nodes. Below 0 there are as many to spare.
type lack struct {
	all, kind int32
	named     []int32
}

// lackAt returns what bookings that are not over lack at a moment.
func (l *Ledger) lackAt(i int, now model.Time) lack {
	need := l.needAt(i, now)
	return l.moments[i].lacks(&need)
}

// lacks returns what is needed at a moment less what is free.
func (m *moment) lacks(need *lack) lack {
	out := lack{need.all - m.all, need.kind - m.kind, slices.Clone(need.named)}
	for i := range out.named {
		out.named[i] -= m.named[i]
	}
	return out
}

// needAt returns the sum of what bookings that are not over need at a moment beyond what their owners hold.
func (l *Ledger) needAt(i int, now model.Time) lack {
	m := &l.moments[i]
	out := lack{named: make([]int32, len(m.named))}
	used := slices.Clone(m.used)
	var got []int32
	for _, j := range l.order {
		c := &l.moments[j]
		if c.End <= now || !c.Holds(m.Start) {
			continue
		}
		got = c.count(used, got)
		same := m.Model == "" || c.Model == m.Model
		for _, n := range got {
			out.all += c.each - n
			if same {
				out.kind += c.each - n
			}
		}
		if !same {
			continue
		}
		for _, v := range m.common[j] {
			out.named[v.mine] += c.each - got[v.theirs]
		}
	}
	return out
}

// count subtracts what counts to a booking from what owners hold, and returns how much, for each of its nodes
// or as a whole. It may write on the slice that it is given.
func (m *moment) count(used, on []int32) []int32 {
	got := append(on[:0], make([]int32, max(len(m.nodes), 1))...)
	for _, v := range m.owned {
		n := min(used[v.class], m.each-got[v.node])
		used[v.class] -= n
		got[v.node] += n
	}
	return got
}

// total returns how much is lacking of a booking's demand: a lack on one of its nodes cannot be met on
// another.
func (k *lack) total(m *moment) (n int32) {
	for _, v := range k.named {
		n += max(v, 0)
	}
	n = max(n, k.all)
	if m.Model != "" {
		n = max(n, k.kind)
	}
	return n
}

// exceeds reports whether more is lacking than in another lack, of a booking's demand.
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

// Differences returns the numbers of the bookings that two ledgers of the same bookings count differently,
// or all of them if the bookings are not the same.
func (l *Ledger) Differences(o *Ledger) (ids []model.BookingID) {
	for i := range l.moments {
		a := &l.moments[i]
		if len(l.moments) != len(o.moments) {
			ids = append(ids, a.ID)
			continue
		}
		b := &o.moments[i]
		if a.Booking != b.Booking || a.all != b.all || a.kind != b.kind || !slices.Equal(a.named, b.named) ||
			!l.sameUse(o, i) || !o.sameUse(l, i) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// sameUse reports whether another ledger counts as much for each class of this one at a moment.
func (l *Ledger) sameUse(o *Ledger, i int) bool {
	for j, c := range l.classes {
		var other int32
		if k := slices.Index(o.classes, c); k >= 0 {
			other = o.moments[i].used[k]
		}
		if l.moments[i].used[j] != other {
			return false
		}
	}
	return true
}

// Worse returns the numbers of the bookings that are not over now and lack more than in an earlier ledger of
// the same bookings.
func (l *Ledger) Worse(before *Ledger, now model.Time) (ids []model.BookingID) {
	for i := range l.moments {
		at := &l.moments[i]
		is, was := l.lackAt(i, now), before.lackAt(i, now)
		if at.End > now && is.exceeds(&was, at) {
			ids = append(ids, at.ID)
		}
	}
	return ids
}
