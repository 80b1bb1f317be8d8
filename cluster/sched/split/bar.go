package split

import (
	"cmp"
	"slices"
)

// bars is what is kept for a gang that waits.
type bars struct {
	barred []int64 // when it wants each node; 0: it does not
	waiter int     // that gang
	ahead  bool    // a place is being looked for for a job that comes before that gang
	kept   bool    // some are kept for it
	own    bool    // a place is being looked for for that gang itself
}

// may says that a job may start on a node at all.
func (s *space) may(j *Job, node int32) bool {
	return s.barred[node] == 0 || s.own || s.ahead || j.Yields || j.Ends <= s.barred[node]
}

// bar keeps jobs that never yield off the nodes that the first gang waits for:
// those that are expected to be rid of what stays there soonest. It looks at the
// first n jobs, once it has not found that gang yet.
func (s *space) bar(l *Layout, n int) {
	if s.Skips || s.kept {
		return
	}
	for _, i := range s.bigs {
		if i >= n {
			break
		}
		if j := &s.Jobs[i]; l.Places[i] == nil && due(s, i) && s.allowed(j) {
			s.waiter = i
			s.kept = s.barFor(j)
			break
		}
	}
}

// barFor says that there are nodes that can be kept for a gang.
func (s *space) barFor(j *Job) bool {
	var nodes []int32
	var gpus int32
	for i := range s.Room {
		n := int32(i) //nolint:gosec // few
		if has := s.has(n, j) - s.shunned(n, j); s.may(j, n) && (has >= perNode(j) || j.Spread && has > 0) {
			nodes = append(nodes, n)
			gpus += has
		}
	}
	if len(nodes) < int(max(j.Nodes, 1)) || gpus < j.GPUs {
		return false
	}
	slices.SortStableFunc(nodes, func(a, b int32) int {
		if j.Drains {
			return cmp.Compare(s.began[a], s.began[b])
		}
		return cmp.Compare(s.until[a], s.until[b])
	})
	need := 0
	for got := int32(0); got < j.GPUs; need++ {
		got += min(s.has(nodes[need], j), perNode(j))
	}
	if s.keeper != nil && !s.keeper.Allows(j, across(s.Room, j, nodes[:need])) {
		return false // what is kept from it is not kept for it
	}
	until := max(s.until[nodes[need-1]], 1)
	if j.Drains {
		until = 1
	}
	for _, n := range nodes[:need] {
		s.barred[n] = until
	}
	return true
}

// across is a gang's place on nodes, if they were empty.
func across(room [][]int32, j *Job, nodes []int32) (at []Part) {
	left := j.GPUs
	for _, n := range nodes {
		v := min(left, suiting(room[n], j), perNode(j))
		at = append(at, Part{n, v})
		left -= v
	}
	return at
}
