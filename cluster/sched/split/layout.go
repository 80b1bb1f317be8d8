package split

import (
	"cmp"
	"slices"
)

// layout lays out the jobs with large jobs on at most k nodes.
func (s *space) layout(k int) Layout {
	l := s.reset(k)
	if s.Ordered {
		s.inOrder(&l)
	} else {
		for _, s.last = range []bool{false, true} {
			if s.last && s.Last == 0 {
				break
			}
			s.first(&l)
			s.bar(&l, s.Front)
			s.gangsOn(&l, k)
			s.bar(&l, len(s.Jobs))
			if s.others(&l, k); s.short {
				return l
			}
			s.gangsOn(&l, len(s.Room))
			rest(s, &l)
		}
	}
	var used int64
	for i := range l.Places {
		for _, v := range l.Places[i] {
			used += int64(v.GPUs)
		}
	}
	l.Idle = max(min(s.all, s.demand)-used, 0)
	return l
}

// settle gives a job its place.
func (s *space) settle(l *Layout, i int, at []Part) {
	j := placedAs(&s.Jobs[i], at)
	s.put(j, at)
	if j.Place == nil {
		gives(s, at)
	}
	if j.Locked || !j.Yields {
		for _, v := range at {
			s.until[v.Node], s.began[v.Node] = max(s.until[v.Node], j.Ends), max(s.began[v.Node], j.Began)
			s.due[v.Node] = max(s.due[v.Node], j.Ends-j.Over)
		}
	}
	l.Places[i] = at
	if l.Value += j.Value; l.Value < j.Value {
		l.Value = ^uint64(0)
	}
	if j == &s.Jobs[i] && s.big[i] || j != &s.Jobs[i] && s.IsGang(j) {
		for _, v := range at {
			if !s.gang[v.Node] {
				s.gang[v.Node] = true
				s.gangs++
			}
		}
	}
}

// gangsOn lays out large jobs in order, on at most k nodes together.
func (s *space) gangsOn(l *Layout, k int) {
	forget(s)
	for _, i := range s.bigs {
		if s.open == 0 {
			break
		}
		if l.Places[i] == nil {
			s.try(l, i, k)
			s.bar(l, i+1)
		}
	}
	forget(s)
}

// try gives a job a place if there is one.
func (s *space) try(l *Layout, i, k int) {
	j := &s.Jobs[i]
	if !due(s, i) {
		return
	}
	if misfit(s, j) || !s.allowed(j) {
		return
	}
	at := placeAllowed(s, j, k)
	if at == nil && s.Steady && i < s.waiter {
		s.ahead = true
		at = placeAllowed(s, j, k)
		s.ahead = false
	}
	if at != nil {
		s.settle(l, i, at)
	} else {
		note(s, j)
	}
}

// placeAllowed returns a place for a job that the keeper allows: any place or, if the keeper refuses that, one on
// what is kept for the job.
func placeAllowed(s *space, j *Job, k int) []Part {
	at := s.placeFor(j, k)
	if at == nil || s.keeper == nil || s.keeper.Allows(j, at) {
		return at
	}
	s.keeper.Own(true)
	at = s.placeFor(j, k)
	s.keeper.Own(false)
	if at != nil && s.keeper.Allows(j, at) {
		return at
	}
	return nil
}

// due reports whether a job is among those being laid out: the jobs that come last are laid out after all others.
func due(s *space, i int) bool { return s.Ordered || s.last == (i >= len(s.Jobs)-s.Last) }

// squeeze gives a job a place, a smaller one if it takes that.
func squeeze(s *space, l *Layout, i, k int) {
	s.try(l, i, k)
	j := &s.Jobs[i]
	if l.Places[i] != nil || j.Least == 0 || !due(s, i) {
		return
	}
	s.own = i == s.waiter // it waits no longer if it takes fewer
	at := fewer(s, j, k)
	s.own = false
	if at != nil && (s.keeper == nil || s.keeper.Allows(j, at)) {
		s.settle(l, i, at)
	}
}

// rest gives what is left to jobs that take less than they ask for.
func rest(s *space, l *Layout) {
	for _, i := range s.elastic {
		if l.Places[i] == nil {
			squeeze(s, l, i, len(s.Room))
		}
	}
}

// placeFor returns where a job may run: where it runs already, if that place is free, or else another place.
func (s *space) placeFor(j *Job, k int) []Part {
	stays := s.fits(j, j.Place)
	switch {
	case !s.IsGang(j) && stays:
		return j.Place
	case !s.IsGang(j):
		return s.snugAll(j)
	case stays && s.fresh(j.Place) <= k-s.gangs:
		return j.Place
	}
	if at := s.nodesFor(j, k); s.fresh(at) <= k-s.gangs {
		return at
	}
	return nil
}

// fresh returns how many nodes of a place have no large job so far.
func (s *space) fresh(at []Part) (n int) {
	for _, v := range at {
		if !s.gang[v.Node] {
			n++
		}
	}
	return n
}

// nodesFor finds nodes for a large job: nodes of large jobs, and others as long as k is not exceeded. Nodes on
// which the fewest GPUs would have to be suspended come first.
func (s *space) nodesFor(j *Job, k int) (at []Part) {
	each := perNode(j)
	if j.Spread {
		each = 1
	}
	var open []int32
	for free := len(s.levels) - 1; free >= int(each); free-- {
		s.eachWith(free, func(n int32) bool {
			if (s.gang[n] || s.gangs < k) && s.may(j, n) && s.room(n, j) >= each {
				open = append(open, n)
			}
			return true
		})
	}
	if j.Spread {
		return s.spread(j, open)
	}
	nodes := int(max(j.Nodes, 1))
	if len(open) < nodes {
		return nil
	}
	slices.SortStableFunc(open, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.load[a], s.load[b]), cmp.Compare(rank(s, j, a), rank(s, j, b)), cmp.Compare(a, b))
	})
	for _, n := range open {
		if joins(s.keeper, j, at, Part{n, each}) {
			at = append(at, Part{n, each})
		}
		if len(at) == nodes {
			return at
		}
	}
	return nil
}

// joins reports whether the keeper leaves one more part to a job in addition to others.
func joins(k Keeper, j *Job, at []Part, more Part) bool {
	return k == nil || k.Allows(j, append(slices.Clone(at), more))
}

func (s *space) byLoad(a, b int32) int {
	return cmp.Or(cmp.Compare(s.load[a], s.load[b]), cmp.Compare(a, b))
}

// spread takes the nodes with the most room, and for the remainder the fullest node that has room for it.
func (s *space) spread(j *Job, open []int32) (at []Part) {
	slices.SortStableFunc(open, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.room(b, j), s.room(a, j)), s.byLoad(a, b))
	})
	left := j.GPUs
	for _, n := range open {
		if end, found := s.snug(j, left, at); found {
			return append(at, Part{end, left})
		}
		has := s.room(n, j)
		if !joins(s.keeper, j, at, Part{n, has}) {
			continue
		}
		at = append(at, Part{n, has})
		if left -= has; left == 0 {
			return at
		}
	}
	return nil
}

// snug returns the node with the fewest free GPUs on which so many suit a job. An empty node is chosen only if the
// job fills it, or if there is no other.
func (s *space) snug(j *Job, need int32, but []Part) (node int32, found bool) {
	look := func(n int32) bool {
		if s.may(j, n) && s.room(n, j) >= need && !slices.ContainsFunc(but, func(v Part) bool { return v.Node == n }) &&
			joins(s.keeper, j, but, Part{n, need}) {
			node, found = n, true
		}
		return !found
	}
	if int(need) < len(s.levels) && !s.eachWith(int(need), look) {
		return node, true
	}
	for _, levels := range [][]set{s.levels, s.wholes} {
		for free := int(need) + 1; free < len(levels); free++ {
			if !levels[free].each(look) {
				return node, true
			}
		}
	}
	return node, found
}

// others lays out smaller jobs in order, and among them large jobs that take less than they ask for.
func (s *space) others(l *Layout, k int) {
	for _, i := range s.smalls {
		if s.open == 0 {
			break
		}
		if l.Places[i] == nil && inTurn(s, l, i, k) {
			return
		}
	}
	s.short = waits(s, len(s.Jobs))
}

// first lays out the jobs at the front, in order.
func (s *space) first(l *Layout) {
	for i := range s.Front {
		if l.Places[i] == nil {
			squeeze(s, l, i, len(s.Room))
		}
	}
}

// inOrder lays out all jobs strictly in order, large jobs on any nodes.
func (s *space) inOrder(l *Layout) {
	forget(s)
	for i := range s.Jobs {
		if s.open == 0 {
			break
		}
		if l.Places[i] == nil {
			if inTurn(s, l, i, len(s.Room)) {
				return
			}
			if s.big[i] {
				s.bar(l, i+1)
			}
		}
	}
	s.short = waits(s, len(s.Jobs))
	s.bar(l, len(s.Jobs))
}

// snugAll finds a node for a job, or several if it asks for so many.
func (s *space) snugAll(j *Job) (at []Part) {
	each := perNode(j)
	for range max(j.Nodes, 1) {
		n, found := pick(s, j, each, at)
		if !found {
			return nil
		}
		at = append(at, Part{n, each})
	}
	return at
}
