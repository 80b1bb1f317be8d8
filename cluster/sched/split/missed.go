package split

// missed is who finds no room any more.
type missed struct {
	misfits []int64 // shapes, of jobs that never yield those that end so late or later; 0: any, -1: none
	closed  int     // how many of Rest
	short   bool    // one of Rest might have found some
}

// forget forgets who has found no room.
func forget(s *space) {
	for i := range s.misfits {
		s.misfits[i] = -1
	}
	s.closed = 0
}

// misfit says that a job of its shape has found no room already: one that could start
// wherever this one can.
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

// inTurn gives a job a place, a smaller one if it takes that, and says whether one of
// Rest might have had it: then the layout is worth nothing.
func inTurn(s *space, l *Layout, i, k int) bool {
	before := waits(s, i)
	squeeze(s, l, i, k)
	s.short = before && l.Places[i] != nil
	return s.short
}

// waits says that some of Rest who come before job i might find room. Who finds none once
// finds none later on: what is free becomes less.
func waits(s *space, i int) bool {
	for ; s.closed < len(s.Rest) && s.Rest[s.closed].After < i; s.closed++ {
		if r := &s.Rest[s.closed]; s.open > 0 && s.allowed(&r.Job) && finds(s, r) {
			return !s.last
		}
	}
	return false
}

// finds says that some of Rest might find room. Those who come before the gang that nodes are kept for
// might have had these as well, whatever has become of others who are like them.
func finds(s *space, r *Rest) bool {
	ahead := (s.Steady || s.Ordered) && r.After < s.waiter
	switch {
	case !ahead && misfit(s, &r.Job):
		return false
	case s.keeper != nil:
		return true // only in its turn can it be told
	}
	was := s.ahead
	s.ahead = ahead
	at := s.placeFor(&r.Job, len(s.Room))
	s.ahead = was
	return at != nil
}
