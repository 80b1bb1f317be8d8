package split

import "slices"

// Problem is a cluster and the jobs that run or may start there.
type Problem struct {
	// Room is how many GPUs each node has that jobs may be given, free or held by
	// one of Jobs: Room[node][kind]. All nodes list the same kinds.
	Room [][]int32
	// Turns are when each node was last given something, for jobs that ask for nodes in turn; nil: no job does.
	Turns []uint64
	// Loads are how busy each node is, in percent, for jobs that ask for the least busy one, in steps of Tremble;
	// nil: not known.
	Loads []uint64
	// Sites are sets of nodes that some jobs may be on: Sites[site][node].
	Sites [][]bool
	// Jobs are those that run and those that may start, in the order in which they go.
	Jobs []Job
	// Rest are small jobs that were left out of Jobs because they go last, in order; nil: none was.
	Rest []Rest
	// Front is how many of the first jobs come before all others, regardless of size.
	Front int
	// Last is how many of the last jobs come after all others, regardless of size.
	Last int
	// Bounds are limits that several jobs share: how much of each may be used.
	Bounds []int64
	// Today is how many nodes large jobs had in the last layout.
	Today int
	Rules
	// Keeper keeps GPUs from some jobs; nil: all may have any.
	Keeper Keeper
}

// Rest are waiting jobs that are alike: each needs less than a node, and takes no fewer GPUs than it asks for.
type Rest struct {
	After int // they come after Jobs[After], which is neither at the front nor among the last
	Job   Job
}

// Rules are how jobs are laid out.
type Rules struct {
	// Ordered asks for one layout, strictly in order, regardless of what it wastes.
	Ordered bool
	// Skips is set if all that fits may start: no nodes are kept for large jobs that wait.
	Skips bool
	// Steady is set if no job ever yields. A job that comes before the large job that nodes are kept for may then
	// start on these nodes if there is no other place.
	Steady bool
}

// Keeper keeps GPUs from some jobs, as far as they were not given to others already.
type Keeper interface {
	// Reset removes all jobs except those that are locked.
	Reset()
	// Room returns how many of so many free GPUs of a node a job may have at most.
	Room(j *Job, node, free int32) int32
	// Allows reports whether a job may have a place.
	Allows(j *Job, at []Part) bool
	// Own sets whether Room counts only what is kept for the job itself.
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
	// Locked is set if the job stays where it is.
	Locked bool
	// Spread is set if no single node could ever hold the job: it takes several.
	Spread bool
	Stay
	// Uses is what the job takes of bounds.
	Uses []Use
	// Shape is the same for waiting jobs with the same needs: where one finds no room, none of its shape does. -1:
	// the job is like no other.
	Shape int32
	// Tag is the number by which the Keeper knows the job.
	Tag int32
}

// Stay is for how long a job is in the way of a large job that waits for its nodes. Only jobs that yield, or are
// gone before the jobs there that do not yield, may start on these nodes.
type Stay struct {
	Yields bool  // it may be suspended later on
	Ends   int64 // after so many seconds it is expected to be gone
	Over   int64 // by so much Ends is later than what was expected of it when it started
	Began  int64 // when it started or would start, by any clock, if it runs to its end; 0: it may be suspended before
}

// Manner is where and how a job may be placed.
type Manner struct {
	Order Order  // which it gets of the nodes that hold it
	Site  int32  // on the nodes of Sites[Site-1] only; 0: on any
	Shuns []Part // free GPUs that it keeps off
	Least int32  // the fewest GPUs that it takes; 0: all or none
	Whole bool   // fewer GPUs are fewer nodes
	// Drains reports whether its reserved nodes are drained: only jobs that yield, or end, at once start there. These
	// are the nodes on which nothing has started for longest, regardless of what is expected of the job.
	Drains bool
}

// Order is which of several nodes a job gets.
type Order uint8

// The orders.
const (
	Snug   Order = 0 // the fewest free GPUs, whole nodes last
	Roomy  Order = 1 // the most free GPUs
	InTurn Order = 2 // by Turns: the node that was given nothing for longest
	Calm   Order = 3 // by Loads: the least busy, what the layout has there included
)

// Part is so many GPUs of a node.
type Part struct{ Node, GPUs int32 }

// Use is what a job takes of a bound.
type Use struct {
	Bound  int32
	Amount int64
	Spill  int32 // number, from 1, of the bound that takes what Bound has no room for; 0: none does
	Scales bool  // fewer GPUs take proportionally less
}

// Layout is one answer of the search: a place for each job that should run.
type Layout struct {
	Gangs  int      // nodes that large jobs may be given at most
	Places [][]Part // of each job; nil: it does not run
	Idle   int64    // GPUs that a job could have used
	Value  uint64   // of all that run
	Bars
	Big []bool // of each job: it needs a node or more
	// Short is set if some of Rest might have run: there is no layout before Jobs lists them.
	Short bool
}

// Bars are what is kept for a large job that does not run.
type Bars struct {
	For   int     // the large job
	Until []int64 // for each node: after how many seconds the large job is expected to have it; 0: not kept; nil: no large job waits
}

// Choose returns the best layout of those that are tried, as the package comment describes.
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

// Where nodes are many, not all numbers of them are tried: only those near today's, and the number that the first
// waiting large job would need in addition to those that run.
const (
	allUpTo = 16
	near    = 4
)

// tries lists the numbers of nodes for large jobs to try.
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

// enough returns how many nodes the first waiting large job needs at least in addition to the nodes of all large
// jobs that run; 0: none waits.
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
	today int   // nodes that large jobs had
	all   int64 // GPUs of all nodes
}

// fine reports whether a layout wastes nothing, or only little if it is today's.
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
