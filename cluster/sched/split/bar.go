package split

import (
	"cmp"
	"slices"
)

// bars is what is kept for a large job that waits.
type bars struct {
	barred []int64 // when the job is expected to have each node; 0: not kept
	waiter int     // the index of that job
	ahead  bool    // the search is for a place of a job that comes before the waiter
	kept   bool    // nodes are kept for the waiter
	looked int     // large jobs that need no further look: they have a place, or no nodes can be kept for them
	own    bool    // the search is for a place of the waiter itself
}

// may reports whether a job may start on a node at all.
func (s *space) may(j *Job, node int32) bool {
	return s.barred[node] == 0 || s.own || s.ahead || j.Yields || j.Ends <= s.barred[node]
}

// bar keeps jobs that never yield off nodes that a large job waits for. It picks the first large job that can have
// nodes at all, and the nodes on which the jobs that stay are expected to end soonest. It looks at the first n
// jobs until it has found that large job.
//
// Jobs may pass the large job that end before it gets the nodes, by what was expected of the jobs there as they started.
// So that instant never moves on: a job that takes longer than expected lets no further one pass, and a job that has
// passed makes no room for the next.
func (s *space) bar(l *Layout, n int) {
	for ; !s.Skips && !s.kept && s.looked < len(s.bigs); s.looked++ {
		i := s.bigs[s.looked]
		if i >= n || !s.last && !due(s, i) {
			return
		}
		if j := &s.Jobs[i]; l.Places[i] == nil && due(s, i) && s.allowed(j) && s.barFor(j) {
			s.waiter, s.kept = i, true
		}
	}
}

// barFor keeps nodes for a large job, and reports whether there are such nodes.
func (s *space) barFor(j *Job) bool {
	var nodes []int32
	var gpus int32
	for i := range s.Room {
		n := int32(i)
		if has := s.could(n, j); s.may(j, n) && (has >= perNode(j) || j.Spread && has > 0) {
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
		got += min(s.could(nodes[need], j), perNode(j))
	}
	if s.keeper != nil && !s.keeper.Allows(j, across(s, j, nodes[:need])) {
		return false // nodes that the keeper keeps from the job are not kept for it
	}
	until := int64(1)
	for _, n := range nodes[:need] {
		if !j.Drains {
			until = max(until, s.due[n])
		}
	}
	for _, n := range nodes[:need] {
		s.barred[n] = until
	}
	return true
}

// across returns a large job's place on nodes, if they were empty.
func across(s *space, j *Job, nodes []int32) (at []Part) {
	left := j.GPUs
	for _, n := range nodes {
		v := min(left, s.could(n, j), perNode(j))
		at = append(at, Part{n, v})
		left -= v
	}
	return at
}
