package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/node/fence"
)

const (
	agentTick      = 250 * time.Millisecond
	renewEvery     = 2 * time.Second
	inventoryEvery = 5 * time.Second
	pollWait       = 5 * time.Second
	patience       = 3 * time.Second // of a call
)

// agent is one agent process. One goroutine owns everything in it; calls run in goroutines of their own and pass their answers back to it.
type agent struct {
	h      *host
	disk   store
	life   proc
	calls  *client.Agent
	peers  []string // that it knew when it started
	names  names
	lease  fence.Lease
	sets   fence.Sets
	wanted wanted
	still  still
	units  roster
	before fence.Reading
	due    due
	grants []grant // the newest of them
	inquiry
	clean map[model.Cleaned]uint64 // verified as clean; the index of a state that has it, 0 while none is known
}

// proc is an agent's process.
type proc struct {
	ctx    context.Context
	kill   context.CancelFunc
	ended  chan struct{}
	inbox  chan func()
	paused chan time.Duration // stopped for so long
}

// names are an agent's identity.
type names struct{ boot, lineage, session string }

// wanted is the newest desired set, and when it was requested.
type wanted struct {
	set   *model.Desired
	asked fence.Boot
}

// grant is an accepted renewal.
type grant struct {
	index uint64 // of a state that holds it
	start fence.Boot
}

// due is when the agent repeats its actions, and which of them are under way.
type due struct {
	renew, inventory, register, poll time.Time
	registering, polling, reporting  bool
	urgent                           bool       // no renewal has been accepted since a standstill
	counted                          fence.Boot // start of the lease as a twisted agent counts it
}

// startAgent starts an agent once the one before it is gone. The host's lock is held.
func (h *host) startAgent(before *agent) *agent {
	ctx, cancel := context.WithCancel(h.life.ctx)
	session := fmt.Sprintf("session-%016x", h.w.random())
	a := &agent{
		h: h, disk: h.life.disk, clean: map[model.Cleaned]uint64{},
		life:  proc{ctx: ctx, kill: cancel, ended: make(chan struct{}), inbox: make(chan func(), 256), paused: make(chan time.Duration, 1)},
		names: names{boot: h.life.boot, session: session}, peers: h.w.apiAddresses(),
	}
	certificates, node := h.w.certificates, string(h.id.node)
	calls, err := client.NewAgent(client.Options{
		Addresses: a.peers, Dial: certificates.Dialer(h.name, node, dialer(h.life.net)), Led: certificates.Led(h.name, node),
	})
	if err != nil {
		h.w.trace.Break(BreachDefect, "an agent cannot be set up: %v", err)
	}
	a.calls = calls
	h.w.work.Go(func() {
		defer close(a.life.ended)
		if before != nil {
			<-before.life.ended // the data folder is locked
		}
		a.run()
		a.calls.Close()
	})
	return a
}

func (a *agent) kill() { a.life.kill() }

// run is the life of the agent.
func (a *agent) run() {
	for a.open() != nil { // a disk in trouble: the service manager tries again
		if !a.h.pause(a.life.ctx, time.Second) {
			return
		}
	}
	a.before = a.h.clock.reading()
	for a.h.pause(a.life.ctx, 0) {
		a.step()
		timer := time.NewTimer(agentTick)
		select {
		case <-timer.C:
		case answer := <-a.life.inbox:
			answer()
		case d := <-a.life.paused:
			a.h.pause(a.life.ctx, d)
		case <-a.life.ctx.Done():
		}
		timer.Stop()
		for more := true; more; {
			select {
			case answer := <-a.life.inbox:
				answer()
			default:
				more = false
			}
		}
	}
}

// open reads the data folder, and adopts the units that still live.
func (a *agent) open() error {
	if lineage, err := a.disk.files.Read(lineageFile); err == nil {
		a.names.lineage = string(lineage)
	} else {
		a.names.lineage = fmt.Sprintf("lineage-%016x", a.h.w.random())
		if err := a.disk.files.Write(lineageFile, []byte(a.names.lineage)); err != nil {
			return err
		}
	}
	var mark fence.Mark
	if a.disk.get(markFile, &mark) == nil {
		a.lease = fence.Restore(mark, a.names.boot)
	}
	units, err := a.disk.load()
	if err != nil {
		return err
	}
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	for _, u := range units {
		a.adopt(u)
	}
	return nil
}

// adopt takes a unit from the disk, or in its place the one that still lives.
func (a *agent) adopt(u *unit) {
	live := a.h.units[u.Rank]
	switch {
	case u.Boot == a.names.boot && live != nil:
		live.told = told{}
		u = live
	case u.Boot != a.names.boot && u.phase == model.RankRunning:
		u.phase, u.past = model.RankExited, true // the kernel that ran it is gone: its end is not known
	}
	a.units.put(u)
}

// step does what is due.
func (a *agent) step() {
	now := a.h.clock.reading()
	a.watch(now)
	a.bury()
	if _, ok := a.lease.Registration(); !ok {
		a.register()
		return
	}
	a.renew(now.Boot)
	a.poll(now.Boot)
	a.reconcile()
	a.report()
	a.inventory()
	a.inquire(now.Boot)
}

// watch freezes the running ranks after a clock gap, and thaws them once the cluster has confirmed the lease.
func (a *agent) watch(now fence.Reading) {
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	var shortest time.Duration
	for _, u := range a.units {
		if t := u.Frozen.T; !u.phase.Ended() && (shortest == 0 || t < shortest) {
			shortest = t
		}
	}
	must := fence.MustFreeze(a.before, now, shortest)
	a.before = now
	for _, u := range a.units {
		if must {
			a.h.freeze(u, now.Boot)
		}
		if u.frozen != 0 && fence.MayThaw(now.Boot, u.frozen, a.startNow(), a.wants(u), u.Frozen) {
			a.h.thaw(u)
		}
	}
	if must {
		a.Forget()
		a.due.renew, a.due.poll, a.due.urgent = time.Time{}, time.Time{}, true
	}
}

// wants reports whether a set that was requested after a unit was frozen names it.
func (a *agent) wants(u *unit) bool {
	return a.wanted.set != nil && a.wanted.asked > u.frozen && a.wanted.set.Incarnation == u.Incarnation &&
		slices.ContainsFunc(a.wanted.set.Ranks, func(r model.Assignment) bool { return r.Rank == u.Rank })
}

// start returns the start of the lease; the agent before this one may have had a later one than the mark on the disk.
func (a *agent) start() fence.Boot { return max(a.lease.Start(), a.disk.run.get(), a.due.counted) }

// startFor returns the start of the lease as far as it may begin ranks of a set with that index: that of a renewal which the set's state
// contains. A newer renewal may have been accepted after ranks of the set were given up, since the lease belongs to the node; running ranks
// are protected by their guard, which has begun by then.
func (a *agent) startFor(index uint64) (start fence.Boot) {
	if a.h.w.Twists.AnySet {
		return a.start()
	}
	for _, g := range a.grants {
		if g.index <= index {
			start = max(start, g.start)
		}
	}
	if a.due.counted > 0 { // a twisted agent believes in more
		start = a.start()
	}
	return start
}

// startNow is startFor the newest set.
func (a *agent) startNow() fence.Boot {
	if a.wanted.set == nil {
		return 0
	}
	return a.startFor(a.wanted.set.Index)
}

// bury ends what is left of ranks whose supervisors have died, and records that they were killed.
func (a *agent) bury() {
	for _, u := range a.unwatched() {
		a.h.mu.Lock()
		lost := u.unwatched()
		if lost {
			a.h.kernel.killAll(u.Rank)
			lost = !a.h.kernel.has(u.Rank)
			a.h.w.truth.unsure(u.Rank)
		}
		fenced, stop := u.orders.kill, u.orders.stop
		a.h.mu.Unlock()
		exit := model.Exit{Signal: 9, Fenced: fenced, Delivered: stop}
		if lost && a.disk.put(folderName(u.Rank)+exitSuffix, exit) == nil {
			a.h.mu.Lock()
			u.phase, u.exit = model.RankExited, exit
			a.h.mu.Unlock()
		}
	}
}

// unwatched returns the units that run, as far as known, without a supervisor.
func (a *agent) unwatched() (out []*unit) {
	a.h.mu.Lock()
	defer a.h.mu.Unlock()
	for _, u := range a.units {
		if u.unwatched() {
			out = append(out, u)
		}
	}
	return out
}

// ask makes a call outside the agent's goroutine. then handles the answer in that goroutine again; failed is the fallback without one.
func ask[A any](a *agent, wait time.Duration, call func(context.Context) (A, error), then func(A), failed func()) {
	a.h.w.work.Go(func() {
		ctx, cancel := context.WithTimeout(a.life.ctx, wait)
		defer cancel()
		answer, err := call(ctx)
		a.h.mu.Lock()
		lag := a.h.lag
		a.h.mu.Unlock()
		sleep(a.life.ctx, lag)
		handle := func() { then(answer) }
		if err != nil {
			handle = failed
		}
		select {
		case a.life.inbox <- handle:
		case <-a.life.ctx.Done():
		}
	})
}

// heard takes the peers' addresses from an answer.
func (a *agent) heard(peers []string) {
	for _, p := range a.peers {
		if !slices.Contains(peers, p) {
			peers = append(peers, p)
		}
	}
	a.calls.SetPeers(peers)
}
