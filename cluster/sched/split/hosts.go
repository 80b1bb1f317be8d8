package split

import (
	"math/bits"
	"slices"
)

// hosts are nodes with what is free on them.
type hosts struct {
	Widths

	free   [][]int32 // of each node and kind
	size   []int32   // GPUs of each node
	total  []int32   // free ones of each node
	levels []set     // nodes that hold something, by total
	wholes []set     // nodes that hold nothing, by total
	most   int32     // GPUs of the node that has most
	open   int64     // free GPUs of all nodes
	keeper Keeper
}

func newHosts(room [][]int32, sites [][]bool) *hosts {
	n := len(room)
	h := &hosts{
		Widths: Widths{Room: room, Sites: sites}, free: make([][]int32, n), size: make([]int32, n), total: make([]int32, n),
	}
	for i, kinds := range room {
		for _, c := range kinds {
			h.size[i] += c
		}
		h.most = max(h.most, h.size[i])
		h.free[i] = make([]int32, len(kinds))
	}
	h.levels, h.wholes = make([]set, h.most+1), make([]set, h.most+1)
	for i := range h.levels {
		h.levels[i], h.wholes[i] = newSet(n), newSet(n)
	}
	return h
}

// empty frees all nodes.
func (h *hosts) empty() {
	h.open = 0
	for i := range h.levels {
		h.levels[i].clear()
		h.wholes[i].clear()
	}
	for i := range h.free {
		copy(h.free[i], h.Room[i])
		h.total[i] = h.size[i]
		h.open += int64(h.size[i])
		h.wholes[h.size[i]].add(i)
	}
}

// mark is what was free at one moment.
type mark struct {
	free           [][]int32
	total          []int32
	levels, wholes []set
	open           int64
}

// mark remembers what is free.
func (h *hosts) mark() mark {
	m := mark{total: slices.Clone(h.total), open: h.open}
	for _, kinds := range h.free {
		m.free = append(m.free, slices.Clone(kinds))
	}
	for i := range h.levels {
		m.levels = append(m.levels, slices.Clone(h.levels[i]))
		m.wholes = append(m.wholes, slices.Clone(h.wholes[i]))
	}
	return m
}

// restore makes free again what a mark remembers as free.
func (h *hosts) restore(m *mark) {
	for i := range h.free {
		copy(h.free[i], m.free[i])
	}
	copy(h.total, m.total)
	for i := range h.levels {
		copy(h.levels[i], m.levels[i])
		copy(h.wholes[i], m.wholes[i])
	}
	h.open = m.open
}

// room returns how many free GPUs of a node suit a job that may be there.
func (h *hosts) room(node int32, j *Job) int32 {
	if !h.on(node, j) {
		return 0
	}
	return h.left(node, j)
}

// left returns how many free GPUs of a node suit a job, less those that the job keeps off: they might be the ones
// that are left.
func (h *hosts) left(node int32, j *Job) int32 {
	n := max(suiting(h.free[node], j)-h.shunned(node, j), 0)
	if h.keeper != nil && n > 0 {
		n = h.keeper.Room(j, node, n)
	}
	return max(n, 0)
}

// shunned returns how many free GPUs of a node a job keeps off.
func (h *hosts) shunned(node int32, j *Job) (n int32) {
	for _, v := range j.Shuns {
		if v.Node == node {
			n += v.GPUs
		}
	}
	return n
}

// could returns how many GPUs of a node a job could have if nothing were there.
func (h *hosts) could(node int32, j *Job) int32 { return max(h.has(node, j)-h.shunned(node, j), 0) }

// take gives GPUs of a node to a job: of the kinds that suit, those of which there are fewest first. A job that
// stays where the problem has no room for it would be a defect of the problem: the job is given what there is.
func (h *hosts) take(node int32, j *Job, n int32) {
	n = min(n, suiting(h.free[node], j))
	h.levels[h.total[node]].remove(int(node))
	h.wholes[h.total[node]].remove(int(node))
	h.total[node] -= n
	h.open -= int64(n)
	h.levels[h.total[node]].add(int(node))
	for n > 0 {
		best := -1
		for kind, c := range h.free[node] {
			if c > 0 && j.Kinds>>kind&1 == 1 && (best < 0 || c < h.free[node][best]) {
				best = kind
			}
		}
		got := min(n, h.free[node][best])
		h.free[node][best] -= got
		n -= got
	}
}

// eachWith calls f with every node of so many free GPUs, empty nodes last, until f returns false. It reports
// whether it went through all.
func (h *hosts) eachWith(free int, f func(n int32) bool) bool {
	return h.levels[free].each(f) && h.wholes[free].each(f)
}

// fits reports whether a place is free for a job. The place may be one where the job runs and would not be started
// any more.
func (h *hosts) fits(j *Job, at []Part) bool {
	for _, v := range at {
		if h.left(v.Node, j) < v.GPUs {
			return false
		}
	}
	return len(at) > 0
}

// suiting returns how many GPUs suit a job, of all kinds together.
func suiting(kinds []int32, j *Job) (n int32) {
	for kind, c := range kinds {
		if j.Kinds>>kind&1 == 1 {
			n += c
		}
	}
	return n
}

// perNode returns how many GPUs a job needs on one node.
func perNode(j *Job) int32 {
	if j.Nodes > 1 {
		return j.GPUs / j.Nodes
	}
	return j.GPUs
}

// set is a set of small numbers, which lists them in order.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(n int)    { s[n/64] |= 1 << (n % 64) }
func (s set) remove(n int) { s[n/64] &^= 1 << (n % 64) }
func (s set) clear()       { clear(s) }

// each calls f with every number until f returns false, and reports whether it went through all.
func (s set) each(f func(n int32) bool) bool {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !f(int32(i*64 + bits.TrailingZeros64(word))) {
				return false
			}
		}
	}
	return true
}
