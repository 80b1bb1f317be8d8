package leasemodel

import (
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// peer is a peer with the part of the leader that judges nodes.
type peer struct {
	*world
	id    int
	clock clock
	book  *liveness.Book

	still  bool // it is stopped
	buffer []func()

	hears bool          // a leader, or it is the one
	deaf  time.Duration // since when it does not

	reigning
	sight
}

// reigning is a peer's part as the leader.
type reigning struct {
	believes bool // that it leads
	ready    bool // its state holds all of the past
	busy     bool // a proposal is under way
	reign    int  // counts its elections
	wakes    int  // counts its waits, so that an outdated one comes to nothing
}

// sight is what a peer has seen of the log.
type sight struct {
	view  state.State
	saw   [2]uint64     // epoch and seq of the newest renewal in view
	sawAt time.Duration // since when
}

func (p *peer) read() time.Duration { return p.clock.at(p.now) }

// sees makes the peer apply what has been committed, if it has not gone further.
func (p *peer) sees(s state.State) func() {
	return func() {
		if s.Index > p.view.Index {
			p.view = s
		}
		lease, _ := p.view.Leases.Get(node)
		if pair := [2]uint64{lease.Epoch, lease.Seq}; pair != p.saw {
			p.saw, p.sawAt = pair, p.read()
		}
		p.decide()
	}
}

func (p *peer) elected() {
	p.believes, p.ready, p.busy = true, false, false
	p.reign++
	reign := p.reign
	p.after(time.Millisecond+p.upTo(200*time.Millisecond), func() {
		p.awake(func() {
			if p.leader != p || p.reign != reign {
				return
			}
			p.book.Elected(p.read())
			p.view, p.ready = p.log.state, true
			p.sees(p.view)()
			if p.mutant == timersKept {
				p.book.Elected(p.sawAt)
				p.book.Observe(p.sawAt, &p.view)
			}
			p.decide()
		})
	})
}

// deposed lets the peer believe in its reign for a while.
func (p *peer) deposed(lasting time.Duration) {
	reign := p.reign
	p.after(lasting, func() {
		if p.reign == reign {
			p.believes = false
		}
	})
}

// stand stops the peer; what arrives meanwhile waits.
func (p *peer) stand(lasting time.Duration) {
	if p.still {
		return
	}
	p.note("peer %d stands still for %s", p.id, lasting)
	p.still = true
	p.listen()
	p.after(lasting, func() {
		p.still = false
		if lasting > unnoticed {
			p.book.Stalled(p.read())
		}
		if p.oneIn(2) {
			p.listen() // the other peers' messages are read first
		}
		waiting := p.buffer
		p.buffer = nil
		for _, do := range waiting {
			do()
		}
		p.listen()
		p.decide()
	})
}

// awake does something now, or when the peer is no longer stopped.
func (p *peer) awake(do func()) {
	if p.still {
		p.buffer = append(p.buffer, do)
		return
	}
	do()
}

// decide is the loop of the liveness decider.
func (p *peer) decide() {
	if p.leader != p || !p.ready || p.busy || p.still {
		return
	}
	bodies, next := p.book.Decide(p.read(), &p.view)
	p.wakes++
	wake, reign := p.wakes, p.reign
	if len(bodies) == 0 {
		if next < 10*p.lease {
			p.after(next+next/500+time.Millisecond, func() {
				if p.wakes == wake {
					p.decide()
				}
			})
		}
		return
	}
	p.busy = true
	left := len(bodies)
	for _, b := range bodies {
		p.note("peer %d proposes %s", p.id, b.Kind())
		p.propose(p, []command.Body{b}, func([]command.Result, bool) {
			if left--; left == 0 && p.reign == reign {
				p.busy = false
				p.after(p.upTo(50*time.Millisecond), p.decide)
			}
		})
	}
}

// handle takes a message of the agent: a leader proposes it, another peer passes
// it on once.
func (p *peer) handle(b command.Body, answer func(command.Result, *state.State), passed bool) {
	p.awake(func() {
		switch {
		case p.leader == nil || p.net.aside:
		case !p.believes && !passed:
			to := p.leader
			p.after(p.upTo(5*time.Millisecond), func() { to.handle(b, answer, true) })
		case p.believes:
			if _, renews := b.(*command.Renew); renews && p.mutant == memoryGrants {
				answer(command.Result{Verdicts: make([]model.Code, 1)}, nil)
			}
			p.after(p.upTo(200*time.Millisecond), func() {
				p.awake(func() {
					p.propose(p, []command.Body{b}, func(r []command.Result, committed bool) {
						if committed && (p.mutant != memoryGrants || b.Kind() != command.KindRenew) {
							s := p.log.state
							answer(r[0], &s)
						}
					})
				})
			})
		}
	})
}
