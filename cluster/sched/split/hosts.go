package split

import "math/bits"

// hosts are nodes with what is free of them.
type hosts struct {
	whole  [][]int32        // of each node and kind, free or not
	free   [][]int32        // of each node and kind
	size   []int32          // GPUs of each node
	total  []int32          // free ones of each node
	levels []set            // nodes by total
	most   int32            // GPUs of the node that has most
	widest map[uint64]int32 // of the kinds of a set, GPUs of the node that has most
	keeper Keeper
}

func newHosts(whole [][]int32) *hosts {
	n := len(whole)
	h := &hosts{
		whole: whole, free: make([][]int32, n), size: make([]int32, n), total: make([]int32, n), widest: map[uint64]int32{},
	}
	for i, kinds := range whole {
		for _, c := range kinds {
			h.size[i] += c
		}
		h.most = max(h.most, h.size[i])
		h.free[i] = make([]int32, len(kinds))
	}
	h.levels = make([]set, h.most+1)
	for i := range h.levels {
		h.levels[i] = newSet(n)
	}
	return h
}

// empty frees all nodes.
func (h *hosts) empty() {
	for i := range h.levels {
		h.levels[i].clear()
	}
	for i := range h.free {
		copy(h.free[i], h.whole[i])
		h.total[i] = h.size[i]
		h.levels[h.size[i]].add(i)
	}
}

// isGang says that a job needs a node or more.
func (h *hosts) isGang(j *Job) bool {
	widest, known := h.widest[j.Kinds]
	if !known {
		for _, kinds := range h.whole {
			widest = max(widest, suiting(kinds, j))
		}
		h.widest[j.Kinds] = widest
	}
	return j.Spread || perNode(j) >= max(widest, 1)
}

// room is how many free GPUs of a node suit a job, less those that it keeps off:
// they might be the ones that are left.
func (h *hosts) room(node int32, j *Job) int32 {
	n := suiting(h.free[node], j)
	for _, v := range j.Shuns {
		if v.Node == node {
			n -= v.GPUs
		}
	}
	if h.keeper != nil && n > 0 {
		n = h.keeper.Room(j, node, n)
	}
	return max(n, 0)
}

// take gives GPUs of a node to a job: of the kinds that suit, those of which there
// are fewest first.
func (h *hosts) take(node int32, j *Job, n int32) {
	h.levels[h.total[node]].remove(int(node))
	h.total[node] -= n
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

// fits says that a place is free for a job.
func (h *hosts) fits(j *Job, at []Part) bool {
	for _, v := range at {
		if h.room(v.Node, j) < v.GPUs {
			return false
		}
	}
	return len(at) > 0
}

// suiting is how many GPUs of each kind suit a job.
func suiting(kinds []int32, j *Job) (n int32) {
	for kind, c := range kinds {
		if j.Kinds>>kind&1 == 1 {
			n += c
		}
	}
	return n
}

// perNode is how many GPUs a job needs on one node.
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

// each calls f with every number until it says no, and says whether it went
// through all.
func (s set) each(f func(n int32) bool) bool {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !f(int32(i*64 + bits.TrailingZeros64(word))) { //nolint:gosec // few
				return false
			}
		}
	}
	return true
}
