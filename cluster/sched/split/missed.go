package split

// missed is the jobs that find no room any more.
type missed struct {
	misfits []int64 // by shape: jobs that never yield and end so late or later find no room; 0: no job does, -1: any may
	closed  int     // how many of Rest find none
	short   bool    // one of Rest might have found some
}

// forget forgets which jobs have found no room.
func forget(s *space) {
	for i := range s.misfits {
		s.misfits[i] = -1
	}
	s.closed = 0
}

// misfit reports whether a job of the same shape has found no room already, although it could start wherever this
// one can.
func misfit(s *space, j *Job) bool {
	if j.Shape < 0 {
		return false
	}
	ends := s.misfits[j.Shape]
	return ends == 0 || ends > 0 && !j.Yields && j.Ends >= ends
}

// note remembers that a job has found no room.
func note(s *space, j *Job) {
	if j.Shape < 0 {
		return
	}
	ends := int64(0)
	if !j.Yields {
		ends = max(j.Ends, 1)
	}
	if was := s.misfits[j.Shape]; was < 0 || ends < was {
		s.misfits[j.Shape] = ends
	}
}

// inTurn gives a job a place, a smaller one if it takes that, and reports whether one of Rest might have had the
// place. Then the layout is worth nothing.
func inTurn(s *space, l *Layout, i, k int) bool {
	before := waits(s, i)
	squeeze(s, l, i, k)
	s.short = before && l.Places[i] != nil
	return s.short
}

// waits reports whether some of Rest that come before job i might find room. A job that finds none once finds none
// later on: free GPUs only become fewer.
func waits(s *space, i int) bool {
	for ; s.closed < len(s.Rest) && s.Rest[s.closed].After < i; s.closed++ {
		if r := &s.Rest[s.closed]; s.open > 0 && s.allowed(&r.Job) && finds(s, r) {
			return !s.last
		}
	}
	return false
}

// finds reports whether some of Rest might find room. Jobs that come before the large job that nodes are kept for
// might have had these nodes as well, no matter whether jobs like them found room.
func finds(s *space, r *Rest) bool {
	ahead := (s.Steady || s.Ordered) && r.After < s.waiter
	switch {
	case !ahead && misfit(s, &r.Job):
		return false
	case s.keeper != nil:
		return true // this is known only at the job's turn
	}
	was := s.ahead
	s.ahead = ahead
	at := s.placeFor(&r.Job, len(s.Room))
	s.ahead = was
	return at != nil
}
