package simnet

import (
	"slices"
	"time"
)

// pipe is one direction of a connection. A segment is either on its way, with the time of its arrival, or
// held behind a cut or a paused sender; held ones are behind all that are on the way.
type pipe struct {
	path     *path
	from, to *Host
	segments []segment
	size     int       // bytes in segments
	last     time.Time // latest arrival so far: later data does not overtake it
	unread   bool      // the receiving end has closed: what comes is thrown away
	readers  signal
	writers  signal
}

type segment struct {
	data []byte
	due  time.Time // arrival, or while held the moment since which it waits
	held bool
	fin  bool // the sender closed: nothing follows
}

func newPipe(from, to *Host) *pipe {
	p := &pipe{path: from.net.path(from.name, to.name), from: from, to: to}
	p.path.pipes[p] = struct{}{}
	return p
}

// send puts a segment on its way, or holds it if it cannot leave now.
func (p *pipe) send(s segment, now time.Time) {
	if p.unread {
		return
	}
	s.due, s.held = now, p.stuck()
	if !s.held {
		p.schedule(&s, now)
	}
	p.segments = append(p.segments, s)
	p.size += len(s.data)
	p.readers.give()
}

func (p *pipe) stuck() bool {
	return p.path.cut || p.from.paused || p.to.crashed
}

func (p *pipe) schedule(s *segment, now time.Time) {
	s.held = false
	s.due = now.Add(p.path.delay())
	if s.due.Before(p.last) {
		s.due = p.last
	}
	p.last = s.due
}

// hold stops what has not arrived yet.
func (p *pipe) hold(now time.Time) {
	for i := range p.segments {
		if s := &p.segments[i]; !s.held && s.due.After(now) {
			s.held, s.due = true, now
		}
	}
	p.last = time.Time{}
}

// release lets what was held go on. After a cut it leaves with the next retransmission, which is the later
// the longer it has waited; a paused sender's data leaves at once.
func (p *pipe) release(now time.Time) {
	if p.stuck() {
		return
	}
	start := time.Time{}
	for i := range p.segments {
		s := &p.segments[i]
		if !s.held {
			continue
		}
		if start.IsZero() {
			start = now.Add(nextRetry(now.Sub(s.due)))
		}
		p.schedule(s, start)
	}
	p.readers.give()
}

// resume is release without retransmission delay: the data waited in its sender, not on the wire.
func (p *pipe) resume(now time.Time) {
	for i := range p.segments {
		if p.segments[i].held {
			p.segments[i].due = now
		}
	}
	p.release(now)
}

// nextRetry returns when the next retransmission comes for data that has been lost for so long.
func nextRetry(lost time.Duration) time.Duration {
	if lost <= 0 {
		return 0
	}
	at := time.Duration(0)
	for retry := minRetry; at < lost; retry = min(2*retry, maxRetry) {
		at += retry
	}
	return at - lost
}

// take copies what has arrived into b. It reports whether the end of the stream was reached.
func (p *pipe) take(b []byte, now time.Time) (count int, end bool) {
	for len(p.segments) > 0 {
		s := &p.segments[0]
		if s.held || s.due.After(now) || count == len(b) {
			break
		}
		if s.fin {
			return count, true
		}
		moved := copy(b[count:], s.data)
		count += moved
		s.data = s.data[moved:]
		if len(s.data) == 0 {
			p.segments[0] = segment{}
			p.segments = p.segments[1:]
		}
	}
	if count > 0 {
		p.size -= count
		p.writers.give()
	}
	return count, false
}

// next returns when the next segment arrives; zero if none is on its way.
func (p *pipe) next() time.Time {
	if len(p.segments) == 0 || p.segments[0].held {
		return time.Time{}
	}
	return p.segments[0].due
}

// finished reports whether the receiver can know by now that the sender has closed.
func (p *pipe) finished(now time.Time) bool {
	n := len(p.segments)
	if n == 0 {
		return false
	}
	last := p.segments[n-1]
	return last.fin && !last.held && !last.due.After(now)
}

// dropHeld forgets what never left a sender that is gone.
func (p *pipe) dropHeld() {
	if i := slices.IndexFunc(p.segments, func(s segment) bool { return s.held }); i >= 0 {
		p.segments = p.segments[:i]
	}
}

// discard ends the receiving side: nothing will be read any more.
func (p *pipe) discard() {
	p.unread, p.segments, p.size = true, nil, 0
	delete(p.path.pipes, p)
	p.readers.give()
	p.writers.give()
}
