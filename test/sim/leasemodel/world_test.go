package leasemodel

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// mutant is one rule of the protocol that is broken.
type mutant string

const (
	production   mutant = "production"
	fromAnswer   mutant = "count from answer"
	noSeqCheck   mutant = "no seq check"
	timersKept   mutant = "timers kept over elections"
	memoryGrants mutant = "memory grants"
	noMargin     mutant = "no drift margin"
	awayInTurn   mutant = "away by peers asked in turn"
	awayTooSoon  mutant = "away after a short silence"
)

const node model.NodeID = "n1"

var rankKey = model.RankKey{Job: 1, N: 1}

// clock is a host's CLOCK_BOOTTIME: it runs at its own rate, and can stop.
type clock struct {
	offset time.Duration
	ppm    int64
	slept  time.Duration // true time that it has not counted
}

func (c *clock) at(now time.Duration) time.Duration {
	d := now - c.slept
	return c.offset + d + d*time.Duration(c.ppm)/1_000_000
}

type event struct {
	at time.Duration
	n  int
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) } //nolint:errcheck // only events are pushed
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// entry is a log entry on its way.
type entry struct {
	by      *peer
	bodies  []command.Body
	done    func([]command.Result, bool)
	due     bool // to be committed as soon as the leader has a majority
	settled bool // committed or dropped
}

// world is one schedule being played.
type world struct {
	course
	mutant mutant
	lease  time.Duration // the attempt's T
	away   bool          // jobs go on while the whole control plane is away

	log    logbook
	peers  []*peer
	leader *peer // nil: there is none
	wires  wires
	agent  *agent
	net    weather

	outcome
}

// course is the order of what happens.
type course struct {
	rng    *rand.Rand
	now    time.Duration // true time
	count  int
	events events
}

// outcome is what has come of a schedule so far.
type outcome struct {
	lost    bool // the rank has been given up
	overlap bool // and its processes still ran
	extends int  // how often the rank could go on for lack of any leader
	told    bool // the schedule is printed, line by line
	trace   []string
}

// logbook is the replicated log: one order of entries, and what is in flight.
type logbook struct {
	state  state.State
	flight []*entry
	last   time.Duration // of the newest commit that is due
	slow   time.Duration // how long a commit may take
}

// weather is the network between the agent and the peers.
type weather struct {
	there, back bool          // messages arrive
	slow        time.Duration // how long they may take
	aside       bool          // but nothing that is for the leader does
	until       time.Duration // the weather does not change before
}

func (w *world) note(format string, args ...any) {
	if !w.told {
		return
	}
	w.trace = append(w.trace, fmt.Sprintf("%12s %s", w.now.Round(time.Millisecond), fmt.Sprintf(format, args...)))
}

func (c *course) after(d time.Duration, do func()) {
	c.count++
	heap.Push(&c.events, event{c.now + max(d, 0), c.count, do})
}

func (c *course) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(c.rng.Int64N(int64(d)))
}

// about returns a random time with that mean, often shorter and sometimes much longer.
func (c *course) about(mean time.Duration) time.Duration {
	return time.Duration(c.rng.ExpFloat64() * float64(mean))
}

func (c *course) oneIn(n int) bool { return c.rng.IntN(n) == 0 }

// play runs the schedule until the rank has been given up and is gone, or for ten
// leases.
func (w *world) play() {
	for len(w.events) > 0 && w.now < 10*w.lease && !w.overlap {
		e, _ := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
		if w.lost && w.agent.gone() {
			return
		}
	}
}

// propose appends an entry to the leader's log. Only what the leader of the
// moment appends is ever committed.
func (w *world) propose(p *peer, bodies []command.Body, done func([]command.Result, bool)) {
	e := &entry{by: p, bodies: bodies, done: done}
	if p != w.leader {
		w.after(w.about(time.Second), func() { done(nil, false) })
		return
	}
	w.log.flight = append(w.log.flight, e)
	w.log.last = max(w.log.last, w.now+time.Millisecond+w.upTo(w.log.slow))
	w.after(w.log.last-w.now, func() {
		e.due = true
		w.commitDue()
	})
}

// commitDue commits what is due, in order, if there is a leader with a majority.
func (w *world) commitDue() {
	for len(w.log.flight) > 0 && w.log.flight[0].due && w.leads() {
		w.commit(w.log.flight[0])
	}
}

func (w *world) commit(e *entry) {
	if e.settled {
		return
	}
	e.settled = true
	w.log.flight = w.log.flight[1:]
	bodies := e.bodies
	if w.mutant == noSeqCheck {
		bodies = w.uncheck(bodies)
	}
	results := w.carryOut(bodies)
	results = results[len(results)-len(e.bodies):]
	w.checkLost()
	for _, p := range w.peers {
		w.after(w.upTo(50*time.Millisecond), p.sees(w.log.state))
	}
	if e.by == w.leader {
		e.by.view = w.log.state
		e.done(results, true)
	}
}

// uncheck turns off Apply's check that the node was silent since the leader judged it.
func (w *world) uncheck(bodies []command.Body) []command.Body {
	lost, isLoss := bodies[0].(*command.RankLost)
	if !isLoss {
		return bodies
	}
	lease, _ := w.log.state.Leases.Get(node)
	again := *lost
	again.Epoch, again.Seq = lease.Epoch, lease.Seq
	return []command.Body{&command.Suspect{Node: node, Epoch: lease.Epoch, Seq: lease.Seq}, &again}
}

func (w *world) carryOut(bodies []command.Body) []command.Result {
	var results []command.Result
	w.log.state, results = carryOut(w.log.state, bodies)
	return results
}

func (w *world) checkLost() {
	r, _ := w.log.state.Ranks.Get(rankKey)
	if w.lost || r.Phase != model.RankLost {
		return
	}
	w.lost = true
	w.note("the rank is given up")
	w.checkOverlap()
}

func (w *world) checkOverlap() {
	if w.lost && w.agent.runs() {
		w.overlap = true
		w.note("its processes still run")
	}
}

// elect makes a peer the leader. What was in flight is in its log up to some
// point, and committed by it; the rest is gone.
func (w *world) elect(p *peer) {
	keep := 0
	if n := len(w.log.flight); n > 0 {
		keep = w.rng.IntN(n + 1)
	}
	for i, e := range append([]*entry(nil), w.log.flight...) {
		if i < keep {
			w.commit(e)
		}
		if !e.settled {
			e.settled = true
			w.after(w.about(time.Second), func() { e.done(nil, false) })
		}
	}
	w.log.flight, w.log.last = nil, w.now
	if old := w.leader; old != nil && old != p {
		old.deposed(w.about(w.lease / 2))
	}
	w.leader = p
	w.note("peer %d is elected", p.id)
	p.elected()
	w.listen()
}

// elections come and go; some find the old leader standing still.
func (w *world) elections() {
	w.after(w.about(w.lease), func() {
		if w.leader != nil && w.oneIn(2) {
			w.leader.stand(w.about(w.lease / 3))
		}
		if p := w.peers[w.rng.IntN(len(w.peers))]; w.wires.joined(p.id) {
			w.elect(p)
		}
		w.elections()
	})
}

// stalls make the leader stand still without an election.
func (w *world) stalls() {
	w.after(w.about(2*w.lease), func() {
		if w.leader != nil {
			w.leader.stand(w.about(5 * time.Second))
		}
		w.stalls()
	})
}

// skies change the weather: good for a while, then slow, one-way or cut.
func (w *world) skies() {
	if w.now < w.net.until {
		w.after(w.net.until-w.now, w.skies)
		return
	}
	w.net = weather{there: true, back: true, slow: 20 * time.Millisecond}
	w.log.slow = 20 * time.Millisecond
	lasting := w.about(15 * time.Second)
	switch w.rng.IntN(6) {
	case 0:
		w.net.slow = time.Second
	case 1:
		w.net.slow = 20 * time.Second
	case 2, 3:
		w.net.there, w.net.back = false, false
		lasting = w.about(w.lease)
	case 4:
		w.net.back = false
		lasting = w.about(w.lease / 2)
	}
	if w.oneIn(4) {
		w.log.slow = 5 * time.Second
	}
	w.after(lasting, w.skies)
}
