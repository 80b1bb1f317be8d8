package split

import (
	"math/bits"
	"slices"
)

// space is what is free while jobs are laid out.
type space struct {
	*Problem

	all    int64            // GPUs of all nodes
	demand int64            // of all jobs
	size   []int32          // GPUs of each node
	most   int32            // GPUs of the node that has most
	widest map[uint64]int32 // of the kinds of a set, GPUs of the node that has most

	free    [][]int32 // of each node and kind
	total   []int32   // of each node
	levels  []set     // nodes by total
	gang    []bool    // nodes that gangs are on
	gangs   int       // how many
	until   []int64   // when the last job of each node that stays ends, in seconds
	barred  []int64   // when a gang that waits wants each node; 0: none does
	load    []int32   // GPUs of each node whose jobs may be suspended
	left    []int64   // of bounds
	misfits map[int32]bool
}

func newSpace(p *Problem) *space {
	s := &space{Problem: p, misfits: map[int32]bool{}, widest: map[uint64]int32{}}
	n := len(p.Room)
	s.size, s.total, s.gang, s.load = make([]int32, n), make([]int32, n), make([]bool, n), make([]int32, n)
	s.until, s.barred = make([]int64, n), make([]int64, n)
	s.free, s.left = make([][]int32, n), make([]int64, len(p.Bounds))
	for i, kinds := range p.Room {
		for _, c := range kinds {
			s.size[i] += c
		}
		s.all += int64(s.size[i])
		s.most = max(s.most, s.size[i])
		s.free[i] = make([]int32, len(kinds))
	}
	s.levels = make([]set, s.most+1)
	for i := range s.levels {
		s.levels[i] = newSet(n)
	}
	for i := range p.Jobs {
		s.demand += int64(p.Jobs[i].GPUs)
		if !p.Jobs[i].Locked {
			for _, v := range p.Jobs[i].Place {
				s.load[v.Node] += v.GPUs
			}
		}
	}
	return s
}

// reset empties all nodes.
func (s *space) reset() {
	for i := range s.levels {
		s.levels[i].clear()
	}
	for i := range s.free {
		copy(s.free[i], s.Room[i])
		s.total[i] = s.size[i]
		s.levels[s.size[i]].add(i)
		s.gang[i] = false
	}
	s.gangs = 0
	clear(s.until)
	clear(s.barred)
	copy(s.left, s.Bounds)
	clear(s.misfits)
}

// isGang says that a job needs a node or more.
func (s *space) isGang(j *Job) bool {
	widest, known := s.widest[j.Kinds]
	if !known {
		for _, kinds := range s.Room {
			widest = max(widest, suiting(kinds, j))
		}
		s.widest[j.Kinds] = widest
	}
	return j.Spread || j.each() >= max(widest, 1)
}

// each is how many GPUs a job needs on one node.
func (j *Job) each() int32 {
	if j.Nodes > 1 {
		return j.GPUs / j.Nodes
	}
	return j.GPUs
}

// room is how many free GPUs of a node suit a job.
func (s *space) room(node int32, j *Job) int32 { return suiting(s.free[node], j) }

// suiting is how many GPUs of each kind suit a job.
func suiting(kinds []int32, j *Job) (n int32) {
	for kind, c := range kinds {
		if j.Kinds>>kind&1 == 1 {
			n += c
		}
	}
	return n
}

// may says that a job may use a node at all.
func (s *space) may(j *Job, node int32) bool {
	if s.barred[node] > 0 && !j.Yields && j.Ends > s.barred[node] {
		return false
	}
	return !slices.Contains(j.Not, node)
}

// take gives GPUs of a node to a job: of the kinds that suit, those of which there
// are fewest first.
func (s *space) take(node int32, j *Job, n int32) {
	s.levels[s.total[node]].remove(int(node))
	s.total[node] -= n
	s.levels[s.total[node]].add(int(node))
	for n > 0 {
		best := -1
		for kind, c := range s.free[node] {
			if c > 0 && j.Kinds>>kind&1 == 1 && (best < 0 || c < s.free[node][best]) {
				best = kind
			}
		}
		got := min(n, s.free[node][best])
		s.free[node][best] -= got
		n -= got
	}
}

// put takes a place for a job, and what it uses of bounds.
func (s *space) put(j *Job, at []Part) {
	for _, v := range at {
		s.take(v.Node, j, v.GPUs)
	}
	for _, u := range j.Uses {
		s.left[u.Bound] -= u.Amount
	}
}

// allowed says that bounds leave room for a job.
func (s *space) allowed(j *Job) bool {
	for _, u := range j.Uses {
		if s.left[u.Bound] < u.Amount {
			return false
		}
	}
	return true
}

// fits says that a place is free for a job.
func (s *space) fits(j *Job, at []Part) bool {
	for _, v := range at {
		if s.room(v.Node, j) < v.GPUs {
			return false
		}
	}
	return len(at) > 0
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
