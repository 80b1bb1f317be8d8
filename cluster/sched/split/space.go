package split

import "slices"

// space is a problem while its jobs are laid out.
type space struct {
	*Problem
	*hosts

	sums
	load []int32 // GPUs of each node that jobs hold that may be suspended
	tenure
	bars
	left []int64 // what is left of each bound
	last bool    // the jobs that come last are being laid out
	starts
	ganged
	sorts
	missed
}

// tenure is, for each node, when the last job that is locked or never yields ends there, in seconds, when the last was
// expected to end as it started, and when the last such job began.
type tenure struct{ until, due, began []int64 }

// sums are of GPUs.
type sums struct {
	all    int64 // of all nodes
	demand int64 // of all jobs
}

// sorts are the jobs by how they are laid out, as indexes in order.
type sorts struct {
	big     []bool // a job needs a node or more
	bigs    []int
	smalls  []int // and large jobs that take less than they ask for
	elastic []int // those that take less than they ask for
	locked  *starter
}

// ganged is where large jobs are.
type ganged struct {
	gang  []bool // nodes
	gangs int    // how many
}

// starts is what a layout starts on nodes.
type starts struct {
	turns []uint64 // number of the last start there, from 1
	given []uint64 // GPUs
	turn  uint64
}

func newSpace(p *Problem) *space {
	n := len(p.Room)
	s := &space{
		Problem: p, hosts: newHosts(p.Room, p.Sites),
		ganged: ganged{gang: make([]bool, n)}, load: make([]int32, n), tenure: tenure{make([]int64, n), make([]int64, n), make([]int64, n)},
		bars: bars{barred: make([]int64, n)},
		left: make([]int64, len(p.Bounds)), starts: starts{turns: make([]uint64, n), given: make([]uint64, n)},
	}
	s.keeper = p.Keeper
	for _, c := range s.size {
		s.all += int64(c)
	}
	shapes := int32(0)
	for i := range p.Jobs {
		j := &p.Jobs[i]
		s.demand += int64(j.GPUs)
		shapes = max(shapes, j.Shape+1)
		if !j.Locked {
			for _, v := range j.Place {
				s.load[v.Node] += v.GPUs
			}
		}
		sortIn(s, i, j)
	}
	for i := range p.Rest {
		shapes = max(shapes, p.Rest[i].Job.Shape+1)
	}
	s.misfits = make([]int64, shapes)
	lock(s)
	return s
}

// sortIn notes how a job is laid out.
func sortIn(s *space, i int, j *Job) {
	big := s.IsGang(j)
	s.big = append(s.big, big)
	switch {
	case j.Locked:
		return
	case big:
		s.bigs = append(s.bigs, i)
	}
	if j.Least > 0 {
		s.elastic = append(s.elastic, i)
	}
	if j.Least > 0 || !big {
		s.smalls = append(s.smalls, i)
	}
}

// starter is a layout of the jobs that stay where they are, from which all others start.
type starter struct {
	hosts  mark
	ganged ganged
	tenure tenure
	left   []int64
	layout Layout
}

// lock lays out the jobs that stay where they are.
func lock(s *space) {
	s.empty()
	copy(s.left, s.Bounds)
	l := Layout{Places: make([][]Part, len(s.Jobs))}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Locked {
			s.settle(&l, i, j.Place)
		}
	}
	s.locked = &starter{
		hosts: s.mark(), ganged: ganged{slices.Clone(s.gang), s.gangs},
		tenure: tenure{slices.Clone(s.until), slices.Clone(s.due), slices.Clone(s.began)}, left: slices.Clone(s.left), layout: l,
	}
}

// reset removes all jobs except those that stay where they are.
func (s *space) reset(k int) Layout {
	s.restore(&s.locked.hosts)
	s.gangs = s.locked.ganged.gangs
	copy(s.gang, s.locked.ganged.gang)
	copy(s.until, s.locked.tenure.until)
	copy(s.due, s.locked.tenure.due)
	copy(s.began, s.locked.tenure.began)
	clear(s.barred)
	s.waiter, s.kept, s.looked = -1, false, 0
	forget(s)
	copy(s.left, s.locked.left)
	if s.keeper != nil {
		s.keeper.Reset()
	}
	clear(s.turns)
	clear(s.given)
	s.turn = 0
	return Layout{Gangs: k, Places: slices.Clone(s.locked.layout.Places), Value: s.locked.layout.Value}
}

// allowed reports whether bounds leave room for a job.
func (s *space) allowed(j *Job) bool {
	for _, u := range j.Uses {
		if rest := u.Amount - max(s.left[u.Bound], 0); rest > 0 && (u.Spill == 0 || s.left[u.Spill-1] < rest) {
			return false
		}
	}
	return true
}

// put takes a place for a job, and what it uses of bounds.
func (s *space) put(j *Job, at []Part) {
	if s.keeper != nil && !j.Locked {
		s.keeper.Put(j, at)
	}
	for _, v := range at {
		s.take(v.Node, j, v.GPUs)
	}
	for _, u := range j.Uses {
		rest := u.Amount
		if u.Spill > 0 {
			rest = min(u.Amount, max(s.left[u.Bound], 0))
			s.left[u.Spill-1] -= u.Amount - rest
		}
		s.left[u.Bound] -= rest
	}
}
