package leasemodel

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/node/fence"
)

const renewal = 2 * time.Second

// agent is a node: its agent process, and the supervisor of its one rank.
type agent struct {
	*world
	clock clock
	still bool          // the host is stopped, and its clock with it
	since time.Duration // true time since when

	lease fence.Lease
	sets  fence.Sets
	mark  fence.Mark

	process
	supervisor
}

// process is the agent's process, one after the other.
type process struct {
	stopped bool // it is stopped or gone; the supervisor is not
	buffer  []func()
	life    int // counts processes
	checked fence.Reading
	home    *peer
	deaf    int    // sendings without an answer
	lineage string // changes with the data folder
	forgot  bool   // the rank's folder is gone: no agent extends its lease
	answers []fence.Answer
}

// supervisor is what holds the rank to its lease.
type supervisor struct {
	guard    fence.Guard
	ended    bool // ordered to end
	frozen   bool
	frozenAt fence.Boot
}

func (a *agent) boot() fence.Boot {
	at := a.now
	if a.still {
		at = a.since
	}
	return fence.Boot(a.clock.at(at))
}

// over reports whether the rank's processes are gone: the kernel may take until the
// very end of the lease.
func (a *agent) over() bool {
	f, _ := a.guard.Deadline()
	return a.ended || a.boot() >= f.Expiry
}

// runs reports whether the rank's processes do something right now.
func (a *agent) runs() bool { return !a.still && !a.frozen && !a.over() }

func (a *agent) gone() bool { return a.over() }

// awake does something now, or once the agent process goes on.
func (a *agent) awake(do func()) {
	if a.still || a.stopped {
		a.buffer = append(a.buffer, do)
		return
	}
	do()
}

func (a *agent) resume() {
	if a.still || a.stopped {
		return
	}
	waiting := a.buffer
	a.buffer = nil
	for _, do := range waiting {
		do()
	}
}

// ticks are the agent's loop: look at the clocks, then renew or register.
func (a *agent) ticks() {
	life := a.life
	a.awake(func() {
		if a.life != life {
			return
		}
		a.check()
		a.send()
		a.inquire()
		a.after(renewal/2, a.inquire)
		a.after(renewal+a.upTo(50*time.Millisecond), a.ticks)
	})
}

func (a *agent) check() {
	r := fence.Reading{Boot: a.boot(), Real: model.Time(a.now)}
	if fence.MustFreeze(a.checked, r, a.guard.Frozen.T) {
		a.freeze()
	}
	a.checked = r
}

// freeze freezes the rank, or freezes it again: what was sent between two
// standstills proves nothing after the second.
func (a *agent) freeze() {
	a.frozen, a.frozenAt = true, a.boot()
	a.answers = nil // they were timed by a clock that stood still
}

func (a *agent) send() {
	if a.deaf++; a.deaf > 2 {
		a.deaf, a.home = 0, a.peers[a.rng.IntN(len(a.peers))]
	}
	reg, registered := a.lease.Registration()
	if !registered {
		a.register()
		return
	}
	sent := a.boot()
	r, _ := a.lease.Send(sent)
	life := a.life
	body := &command.Renew{Renewals: []command.Renewal{
		{Node: node, Incarnation: reg.Incarnation, Epoch: reg.Epoch, Seq: r.Seq},
	}}
	a.ask(body, func(result command.Result, s *state.State) {
		if a.life == life {
			a.answered(r, sent, result.Verdicts[0], s)
		}
	})
}

// ask sends to a peer; the answer comes back if the network lets it.
func (a *agent) ask(b command.Body, answer func(command.Result, *state.State)) {
	if !a.net.there || a.oneIn(20) {
		return
	}
	to := a.home
	a.after(a.upTo(a.net.slow), func() {
		to.handle(b, func(r command.Result, s *state.State) {
			if a.net.back {
				a.after(a.upTo(a.net.slow), func() {
					a.awake(func() { answer(r, s) })
				})
			}
		}, false)
	})
}

func (a *agent) answered(r fence.Renewal, sent fence.Boot, verdict model.Code, s *state.State) {
	a.deaf = 0
	if verdict != model.CodeOK {
		var newest uint64
		if s != nil {
			lease, _ := s.Leases.Get(node)
			newest = lease.Seq
		}
		a.lease.Refused(r, verdict, newest)
		return
	}
	a.lease.Accepted(r)
	a.mark = a.lease.Mark("boot")
	start := a.lease.Start()
	if a.mutant == fromAnswer {
		start = a.boot()
	}
	if a.forgot {
		return
	}
	a.guard.Extend(a.boot(), start)
	wanted := true
	if s != nil {
		set := s.Desired(node)
		if !a.sets.Accept(r.Registration, &set) {
			return
		}
		wanted = len(set.Ranks) > 0
		a.ended = a.ended || !wanted
	}
	if a.frozen && fence.MayThaw(a.boot(), a.frozenAt, start, wanted && sent > a.frozenAt, a.guard.Frozen) {
		a.frozen = false
		a.checkOverlap()
	}
}

func (a *agent) register() {
	life := a.life
	a.ask(registration(a.lineage, a.forgot), func(result command.Result, s *state.State) {
		if a.life == life && result.OK() {
			a.deaf = 0
			a.lease.Registered(fence.Registration{Incarnation: incarnation, Node: node, Epoch: result.Number})
		}
	})
}

// troubles are what happens to the node: its agent process stops or restarts, with or without its data
// folder, or the host is stopped.
func (a *agent) troubles() {
	a.after(a.about(a.world.lease), func() {
		long := a.about(a.world.lease / 2)
		switch a.rng.IntN(6) {
		case 0:
			a.note("the agent stops for %s", long)
			a.stopped = true
			a.after(long, func() { a.stopped = false; a.resume() })
		case 1, 2:
			a.restart(long, false)
		case 3:
			if a.oneIn(3) {
				a.restart(long, true)
			}
		case 4:
			a.ambush()
		default:
			a.sleep(long + 2100*time.Millisecond)
		}
		a.troubles()
	})
}

// ambush lets the host come back just when its rank may be given up, in good
// weather, while the log takes its time: a renewal and the loss meet in it.
func (a *agent) ambush() {
	left := a.guard.Frozen.LostAfter() - a.boot().Sub(a.lease.Start())
	long := max(left-2*time.Second, 0) + 2100*time.Millisecond + a.upTo(2*time.Second)
	a.sleep(long)
	a.after(long, func() {
		a.net = weather{there: true, back: true, slow: 20 * time.Millisecond}
		a.log.slow = 5 * time.Second
	})
}

func (a *agent) restart(long time.Duration, empty bool) {
	a.note("the agent is gone for %s, with its data folder: %t", long, empty)
	a.life++
	a.stopped, a.buffer = true, nil
	if empty {
		a.forgot, a.mark = true, fence.Mark{}
		a.lineage += "x"
	}
	life := a.life
	a.after(long, func() {
		if a.life != life {
			return
		}
		a.stopped = false
		a.lease, a.sets, a.answers = fence.Restore(a.mark, "boot"), fence.Sets{}, nil
		a.checked = fence.Reading{Boot: a.boot(), Real: model.Time(a.now)}
		a.ticks()
		a.resume()
	})
}

// sleep stops the host without its CLOCK_BOOTTIME counting that, as with a paused virtual machine. The first
// thing that runs afterwards is the check of the clocks.
func (a *agent) sleep(long time.Duration) {
	if a.still {
		return
	}
	a.note("the host stands still for %s", long)
	a.still, a.since = true, a.now
	a.after(long, func() {
		a.still = false
		a.clock.slept += a.now - a.since
		a.check()
		a.freeze() // the check may be that of an agent that is not there: its supervisor looks too
		a.after(10*time.Millisecond, a.resume)
		a.checkOverlap()
	})
}
