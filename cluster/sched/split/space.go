package split

// space is a problem while its jobs are laid out.
type space struct {
	*Problem
	*hosts

	all    int64   // GPUs of all nodes
	demand int64   // of all jobs
	load   []int32 // GPUs of each node whose jobs may be suspended
	until  []int64 // when the last job of each node that stays ends, in seconds
	barred []int64 // when a gang that waits wants each node; 0: none does
	left   []int64 // of bounds
	last   bool    // those that come last are laid out
	starts
	ganged
	misfits map[int32]int64 // shapes that find no room any more, of jobs that never yield those that end so late or later; 0: any
}

// ganged is where gangs are.
type ganged struct {
	gang  []bool // nodes
	gangs int    // how many
}

// starts is what a layout starts on nodes.
type starts struct {
	turns []uint64 // its number there, from 1
	given []uint64 // GPUs
	turn  uint64
}

func newSpace(p *Problem) *space {
	n := len(p.Room)
	s := &space{
		Problem: p, hosts: newHosts(p.Room, p.Sites), misfits: map[int32]int64{},
		ganged: ganged{gang: make([]bool, n)}, load: make([]int32, n), until: make([]int64, n), barred: make([]int64, n),
		left: make([]int64, len(p.Bounds)), starts: starts{turns: make([]uint64, n), given: make([]uint64, n)},
	}
	s.keeper = p.Keeper
	for _, c := range s.size {
		s.all += int64(c)
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

// reset thinks all jobs away.
func (s *space) reset() {
	s.empty()
	s.gangs = 0
	clear(s.gang)
	clear(s.until)
	clear(s.barred)
	clear(s.misfits)
	copy(s.left, s.Bounds)
	if s.keeper != nil {
		s.keeper.Reset()
	}
	clear(s.turns)
	clear(s.given)
	s.turn = 0
}

// may says that a job may start on a node at all.
func (s *space) may(j *Job, node int32) bool {
	return s.barred[node] == 0 || j.Yields || j.Ends <= s.barred[node]
}

// allowed says that bounds leave room for a job.
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
