package split

import "slices"

// Problem is a cluster and the jobs that want it.
type Problem struct {
	// Room is how many GPUs each node has that jobs may be given, free or held by
	// one of Jobs: Room[node][kind]. All nodes list the same kinds.
	Room [][]int32
	// Turns are when each node was last given something, for jobs that ask for nodes
	// in turn; nil: nobody does.
	Turns []uint64
	// Loads are how busy each node is, in percent, for jobs that ask for the least busy
	// one, in steps of Tremble; nil: nobody knows.
	Loads []uint64
	// Sites are sets of nodes that some jobs may be on: Sites[site][node].
	Sites [][]bool
	// Jobs are those that run and those that may start, who goes first first.
	Jobs []Job
	// Rest are small jobs that were left out of Jobs since they go last, in order; nil: none was.
	Rest []Rest
	// Front is how many of the first jobs come before all others, whatever their size.
	Front int
	// Last is how many of the last jobs come after all others, whatever their size.
	Last int
	// Bounds are limits that several jobs share: how much of each may be used.
	Bounds []int64
	// Today is how many nodes gangs had in the last layout.
	Today int
	Rules
	// Keeper keeps GPUs from some jobs; nil: all may have any.
	Keeper Keeper
}

// Rest are jobs that are alike and wait for less than a node, and of which none takes fewer GPUs than it
// asks for.
type Rest struct {
	After int // they come after Jobs[After], which is neither at the front nor among the last
	Job   Job
}

// Rules say how jobs are laid out.
type Rules struct {
	// Ordered asks for one layout, strictly in order, whatever it wastes.
	Ordered bool
	// Skips says that whatever fits may start: no nodes are kept for gangs that wait.
	Skips bool
	// Steady says that nobody ever yields: who comes before the gang that nodes are
	// kept for may start there if nowhere else.
	Steady bool
}

// Keeper keeps GPUs from some jobs, as far as they were not given to others already.
type Keeper interface {
	// Reset thinks all jobs away but those that are locked.
	Reset()
	// Room is how many of so many free GPUs of a node a job may have at most.
	Room(j *Job, node, free int32) int32
	// Allows says that a job may have a place.
	Allows(j *Job, at []Part) bool
	// Own has Room count only what is kept for the job itself, until it is called again.
	Own(only bool)
	// Put gives a place to a job that is not locked.
	Put(j *Job, at []Part)
}

// Job is a job that runs or may start.
type Job struct {
	Manner

	GPUs  int32  // in all
	Nodes int32  // exactly so many nodes with GPUs/Nodes on each; 0: as few as hold them
	Kinds uint64 // bit n: GPUs of kind n suit
	Value uint64 // what its running is worth
	// Place is where it runs; nil: it waits.
	Place []Part
	// Locked says that it stays where it is.
	Locked bool
	// Spread says that no single node could ever hold it: it takes several.
	Spread bool
	Stay
	// Uses is what it takes of bounds.
	Uses []Use
	// Shape is alike for waiting jobs that need alike: where one finds no room,
	// none of its shape does. -1: it is like no other.
	Shape int32
	// Tag is what the Keeper knows it by.
	Tag int32
}

// Stay is for how long a job is in the way of a gang that waits for its nodes: only what yields, or is
// gone before those on them that do not yield, may start there.
type Stay struct {
	Yields bool  // it may be suspended later on
	Ends   int64 // after so many seconds it is expected to be gone
	Began  int64 // when it started, or would, if it runs to its end, by any clock; 0: it may be suspended before
}

// Manner is where and how a job may be placed.
type Manner struct {
	Order Order  // of the nodes that hold it: which it gets
	Site  int32  // on the nodes of Sites[Site-1] only; 0: on any
	Shuns []Part // free GPUs that it keeps off
	Least int32  // it takes so many GPUs if it must, and whole nodes fewer; 0: all or none
	Whole bool   // fewer GPUs are fewer nodes
	// Drains reports whether its reserved nodes are drained: only jobs that yield, or end, at once start there.
	// They are those on which nothing has started for longest, whatever is expected of it.
	Drains bool
}

// Order is which of several nodes a job gets.
type Order uint8

// The orders.
const (
	Snug   Order = 0 // the fewest free GPUs, whole nodes last
	Roomy  Order = 1 // the most free GPUs
	InTurn Order = 2 // by Turns: whom nothing was given for longest
	Calm   Order = 3 // by Loads: the least busy, what the layout has there included
)

// Part is so many GPUs of a node.
type Part struct{ Node, GPUs int32 }

// Use is what a job takes of a bound.
type Use struct {
	Bound  int32
	Amount int64
	Spill  int32 // what Bound has no room for is taken of the bound before this number; 0: it is not to be had
	Scales bool  // fewer GPUs take as much less
}

// Layout says who runs where.
type Layout struct {
	Gangs  int      // nodes that gangs were given at most
	Places [][]Part // of each job; nil: it does not run
	Idle   int64    // GPUs that somebody could have used
	Value  uint64   // of all that run
	Bars
	Big []bool // of each job: it needs a node or more
	// Short says that some of Rest might have run: there is no layout before the problem lists them.
	Short bool
}

// Bars are what is kept for a gang that does not run.
type Bars struct {
	For   int     // the gang
	Until []int64 // of each node after how many seconds the gang is expected to have it; 0: it does not want it; nil: no gang waits
}

// Choose is the best layout of those that are tried, as the package says.
func Choose(p *Problem) Layout {
	s := newSpace(p)
	v := judge{p.Today, s.all}
	var best Layout
	first := true
	for _, k := range tries(s) {
		l := s.layout(k)
		if s.short {
			return Layout{Short: true}
		}
		if first || v.better(&l, &best) {
			best, first = l, false
			if best.Bars = (Bars{}); s.kept && l.Places[s.waiter] == nil {
				best.Bars = Bars{s.waiter, slices.Clone(s.barred)}
			}
		}
	}
	best.Big = s.big
	return best
}

// Many nodes are not tried one by one: only numbers near today's, and what the first gang that waits
// would need beside those that run.
const (
	allUpTo = 16
	near    = 4
)

// tries lists the numbers of gang nodes to try.
func tries(s *space) (out []int) {
	n := len(s.Room)
	if s.Ordered {
		return []int{n}
	}
	from, to := 0, n
	if n > allUpTo {
		from, to = max(min(s.Today, n)-near, 0), min(s.Today+near, n)
	}
	for k := from; k <= to; k++ {
		out = append(out, k)
	}
	if k := min(enough(s), n); k > to {
		out = append(out, k)
	}
	return out
}

// enough is how many nodes the first gang that waits needs at least beside all gangs that run; 0: none waits.
func enough(s *space) (nodes int) {
	runs, need := make([]bool, len(s.Room)), int32(0)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		switch {
		case !s.big[i]:
		case j.Place != nil:
			for _, v := range j.Place {
				runs[v.Node] = true
			}
		case need == 0 && s.allowed(j):
			widest := max(s.widest[reach{j.Kinds, j.Site}], 1)
			need = max(j.Nodes, (j.GPUs+widest-1)/widest)
		}
	}
	if need == 0 {
		return 0
	}
	for _, gang := range runs {
		if gang {
			nodes++
		}
	}
	return nodes + int(need)
}

// tolerated is how much of the cluster today's layout may leave idle, in percent.
const tolerated = 7

// judge compares layouts.
type judge struct {
	today int   // nodes that gangs had
	all   int64 // GPUs of all nodes
}

// fine says that a layout wastes nothing, or little if it is today's.
func (v judge) fine(l *Layout) bool {
	return l.Idle == 0 || l.Gangs == v.today && l.Idle*100 <= v.all*tolerated
}

func (v judge) better(a, b *Layout) bool {
	switch x, y := v.fine(a), v.fine(b); {
	case x != y:
		return x
	case !x && a.Idle != b.Idle:
		return a.Idle < b.Idle
	}
	return a.Value > b.Value
}
