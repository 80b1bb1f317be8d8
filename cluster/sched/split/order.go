package split

import (
	"cmp"
	"slices"
)

// Tremble is the step, in percent, by which loads are compared: loads in one step count as equal.
const Tremble = 10

// pick returns the node that comes first by a job's order, of those on which so many GPUs suit the job.
func pick(s *space, j *Job, need int32, but []Part) (node int32, found bool) {
	if j.Order == Snug {
		return s.snug(j, need, but)
	}
	for n := range int32(len(s.Room)) {
		if s.may(j, n) && s.room(n, j) >= need && !slices.ContainsFunc(but, func(v Part) bool { return v.Node == n }) &&
			joins(s.keeper, j, but, Part{n, need}) && (!found || before(s, j, need, n, node)) {
			node, found = n, true
		}
	}
	return node, found
}

// before reports whether a node comes before another by a job's order or, if they are equal in that, is fuller. Of
// nodes that are equally busy, the one that Snug would take comes first.
func before(s *space, j *Job, need, a, b int32) bool {
	fit := func(n int32) int32 {
		switch whole := s.total[n] == s.size[n]; {
		case j.Order != Calm || !whole:
			return 2 * s.total[n]
		case s.total[n] > need:
			return 2*s.total[n] + 1<<16
		}
		return 2*s.total[n] + 1
	}
	return cmp.Or(cmp.Compare(rank(s, j, a), rank(s, j, b)), cmp.Compare(fit(a), fit(b))) < 0
}

// rank returns a node's place by a job's order: the least goes first.
func rank(s *space, j *Job, node int32) uint64 {
	switch j.Order {
	case Snug:
	case Roomy:
		return ^uint64(s.total[node])
	case InTurn:
		if s.turns[node] > 0 {
			return 1<<63 + s.turns[node]
		}
		if s.Turns != nil {
			return s.Turns[node]
		}
	case Calm:
		if s.Loads != nil && s.Loads[node] < Unknown {
			return (s.Loads[node] + s.given[node]*100/uint64(max(s.size[node], 1))) / Tremble
		}
		return Unknown
	}
	return 0
}

// Unknown is the load of a node if that load is not known.
const Unknown = 1 << 32

// gives notes that a layout starts something on a node.
func gives(s *space, at []Part) {
	s.turn++
	for _, v := range at {
		s.turns[v.Node] = s.turn
		s.given[v.Node] += uint64(v.GPUs)
	}
}
