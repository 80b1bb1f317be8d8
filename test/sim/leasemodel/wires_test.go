package leasemodel

import "time"

const (
	stickiness = 500 * time.Millisecond // a leader without a majority steps down within
	beat       = 300 * time.Millisecond // the longest interval between a leader's messages
	// unnoticed is the longest standstill that a leader does not take for one.
	unnoticed = 2250 * time.Millisecond
)

// wires is which peers are cut off from which, in both directions.
type wires struct{ cut [3][3]bool }

func (x *wires) set(a, b int, cut bool) { x.cut[a][b], x.cut[b][a] = cut, cut }

// apart cuts a peer off from all others, or ends that.
func (x *wires) apart(a int, cut bool) {
	for b := range x.cut {
		if b != a {
			x.set(a, b, cut)
		}
	}
}

// joined reports whether a peer and another one reach each other.
func (x *wires) joined(a int) bool {
	for b := range x.cut {
		if b != a && !x.cut[a][b] {
			return true
		}
	}
	return false
}

// leads reports whether there is a leader that a majority hears.
func (w *world) leads() bool {
	if w.leader == nil {
		return false
	}
	for _, p := range w.peers {
		if p != w.leader && p.hears {
			return true
		}
	}
	return false
}

// listen updates which peers hear a leader. Call it after anything that may change that.
func (w *world) listen() {
	for _, p := range w.peers {
		l := w.leader
		hears := l != nil && (p == l || !l.still && !p.still && !w.wires.cut[p.id][l.id])
		if p.hears && !hears {
			p.deaf = p.read() - w.upTo(beat)
		}
		p.hears = hears
	}
	switch {
	case w.leader == nil:
		w.candidate()
	case w.leads():
		w.commitDue()
	default:
		w.stepDown(w.leader)
	}
}

// stepDown has a leader without a majority give up soon, unless it finds one or
// stands still meanwhile.
func (w *world) stepDown(p *peer) {
	reign := p.reign
	w.after(stickiness/2+w.upTo(stickiness/2), func() {
		p.awake(func() {
			if w.leader != p || p.reign != reign || w.leads() {
				return
			}
			w.note("peer %d steps down", p.id)
			w.leader, p.believes, p.ready = nil, false, false
			p.reign++
			p.deaf, p.hears = p.read(), false
			w.listen()
		})
	})
}

// candidate elects a peer that reaches another soon, if there is no leader.
func (w *world) candidate() {
	w.after(stickiness+w.upTo(2*time.Second), func() {
		if w.leader != nil {
			return
		}
		for _, i := range w.rng.Perm(len(w.peers)) {
			if p := w.peers[i]; !p.still && w.wires.joined(p.id) {
				w.elect(p)
				return
			}
		}
	})
}

// silence returns for how long a peer has heard no leader, by its own answer.
func (p *peer) silence() time.Duration {
	if p.hears {
		return 0
	}
	return p.read() - p.deaf
}

// partings are when the peers lose each other, and the agent may notice: after bad
// weather it reaches them for a while, and then no more for long.
func (w *world) partings() {
	w.after(w.about(w.lease/2), func() {
		bad := w.about(w.lease / 4)
		w.net = weather{until: w.now + bad}
		w.after(bad, func() {
			w.net = weather{there: true, back: true, slow: 20 * time.Millisecond}
			w.log.slow = 20 * time.Millisecond
			lasting := w.part()
			w.net.until = w.now + lasting
			w.after(lasting, func() {
				w.net = weather{until: w.now + w.about(2*w.lease)}
			})
		})
		w.partings()
	})
}

// part does one of the things that make peers miss their leader, and returns for how long the agent should
// see it.
func (w *world) part() time.Duration {
	long := awaySilence + w.about(w.lease/4)
	switch {
	case w.oneIn(2):
		w.note("all peers lose each other for %s", long)
		for i := range w.peers {
			w.partFor(i, long)
		}
	case w.leader == nil:
	case w.oneIn(3):
		w.note("the leader loses the others for %s", long)
		w.partFor(w.leader.id, long)
	case w.oneIn(2):
		long = unnoticed - w.upTo(unnoticed/4)
		w.net.aside = true
		w.leader.stand(long)
	default:
		long = w.inTurn(long)
	}
	return long
}

func (w *world) partFor(id int, lasting time.Duration) {
	w.wires.apart(id, true)
	w.listen()
	w.after(lasting, func() {
		w.wires.apart(id, false)
		w.listen()
	})
}

// inTurn has one follower after the other lose the leader, which leads on; the
// agent hears nothing of the leader.
func (w *world) inTurn(each time.Duration) time.Duration {
	w.net.aside = true
	l, start := w.leader, time.Duration(0)
	for _, p := range w.peers {
		if p == l {
			continue
		}
		w.after(start, func() { w.wires.set(p.id, l.id, true); w.listen() })
		start += each
		w.after(start-time.Millisecond, func() { w.wires.set(p.id, l.id, false); w.listen() })
	}
	return start
}
