package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-gpu/berth/test/sim/simdisk"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// fault is something that can go wrong. It returns a description of what it did, or "" if there was nothing to do it to.
type fault struct {
	weight int
	do     func(*World) string
}

// faults returns everything that can go wrong.
func faults() []fault {
	return []fault{
		{8, killPeer},
		{4, cutPower},
		{1, cutAllPower},
		{5, pausePeer},
		{5, cutPair},
		{4, cutOneWay},
		{5, isolatePeer},
		{3, loseSome},
		{3, slowDown},
		{4, stallPeerDisk},
		{2, hangPeerDisk},
		{2, fillPeerDisk},
		{2, breakPeerDisk},
		{1, loseSyncs},
		{3, driftClock},
		{3, jumpClock},
		{5, transfer},
		{2, addPeer},
		{2, removePeer},
		{1, partPeers},

		{5, killAgent},
		{4, pauseAgent},
		{4, reboot},
		{3, standStill},
		{5, cutNode},
		{5, cutNodeLong},
		{3, cutNodeOneWay},
		{3, stallHostDisk},
		{2, breakHostDisk},
		{3, killSupervisor},
		{1, wipeHost},
		{1, cloneHost},
	}
}

// Break lets things go wrong until the context ends.
func (w *World) breakThings(ctx context.Context) {
	list := faults()
	total := 0
	for _, f := range list {
		total += f.weight
	}
	for sleep(ctx, time.Duration(500+w.rng.IntN(5500))*time.Millisecond) {
		at := w.rng.IntN(total)
		for _, f := range list {
			if at -= f.weight; at < 0 {
				if what := f.do(w); what != "" {
					w.trace.Fault("%s", what)
				}
				break
			}
		}
	}
}

// later does something after a while, unless the run has ended.
func (w *World) later(d time.Duration, do func()) {
	w.work.Go(func() {
		if sleep(w.ctx, d) {
			do()
		}
	})
}

// span draws a time from least up to most milliseconds, for faults.
func (w *World) span(least, most int) time.Duration {
	return time.Duration(least+w.rng.IntN(most-least)) * time.Millisecond
}

// anyPeer picks a peer, every other time the leader.
func (w *World) anyPeer() *peer {
	if l := w.leader(); l != nil && w.rng.IntN(2) == 0 {
		return l
	}
	all := w.peers()
	return all[w.rng.IntN(len(all))]
}

// anyHost picks a host that is on.
func (w *World) anyHost() *host {
	h := w.hosts[w.rng.IntN(len(w.hosts))]
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.off || h.id.cloneOf != "" {
		return nil
	}
	return h
}

// healthy is what the network is like without faults.
var healthy = simnet.Link{Latency: 500 * time.Microsecond, Jitter: 500 * time.Microsecond}

// heal ends every fault.
func (w *World) heal() {
	w.trace.Fault("everything is healed")
	w.net.HealAll()
	w.net.SetDefault(healthy)
	for _, p := range w.peers() {
		p.clock.set(0)
		p.mu.Lock()
		p.disk.Heal()
		if p.net != nil {
			p.net.Resume()
		}
		p.mu.Unlock()
		p.start()
	}
	for _, h := range w.hosts {
		h.heal()
	}
	w.rules.healed()
}

// heal ends what is wrong with a host. A copy of another goes for good.
func (h *host) heal() {
	h.clock.set(0)
	h.onDisk((*simdisk.Disk).Heal)
	if h.id.cloneOf != "" {
		h.powerOff()
		return
	}
	h.stand(false, false)
	h.restartAgent()
	h.powerOn() // if it was off
}

// onDisk does something to the disk that the host has now.
func (h *host) onDisk(do func(*simdisk.Disk)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do(h.disk)
}

// machines names a peer's and a host's machine.
func (w *World) machines() []string {
	var out []string
	for _, p := range w.peers() {
		out = append(out, p.name)
	}
	w.truth.mu.Lock()
	defer w.truth.mu.Unlock()
	for _, h := range w.hosts {
		out = append(out, h.name)
	}
	return out
}

func cutPair(w *World) string {
	list := w.machines()
	a, b := list[w.rng.IntN(len(list))], list[w.rng.IntN(len(list))]
	d := w.span(500, 15_000)
	w.net.CutBoth(a, b)
	w.later(d, func() { w.net.Heal(a, b); w.net.Heal(b, a) })
	return fmt.Sprintf("cut %s and %s for %v", a, b, d)
}

func cutOneWay(w *World) string {
	list := w.machines()
	a, b := list[w.rng.IntN(len(list))], list[w.rng.IntN(len(list))]
	d := w.span(500, 15_000)
	w.net.Cut(a, b)
	w.later(d, func() { w.net.Heal(a, b) })
	return fmt.Sprintf("cut %s to %s for %v", a, b, d)
}

func loseSome(w *World) string {
	link, d := healthy, w.span(1000, 8000)
	link.Loss = 0.02 + 0.2*w.rng.Float64()
	w.net.SetDefault(link)
	w.later(d, func() { w.net.SetDefault(healthy) })
	return fmt.Sprintf("lose %.0f %% for %v", 100*link.Loss, d)
}

func slowDown(w *World) string {
	link, d := healthy, w.span(1000, 8000)
	link.Latency, link.Jitter = w.span(5, 60), w.span(5, 60)
	w.net.SetDefault(link)
	w.later(d, func() { w.net.SetDefault(healthy) })
	return fmt.Sprintf("latency %v to %v for %v", link.Latency, link.Latency+link.Jitter, d)
}

func driftClock(w *World) string {
	ppm := []int{-1000, 0, 1000}[w.rng.IntN(3)]
	name, c := w.anyClock()
	c.setRate(ppm)
	return fmt.Sprintf("clock of %s runs %d ppm fast", name, ppm)
}

func jumpClock(w *World) string {
	d := w.span(-30_000, 30_000)
	if w.rng.IntN(4) == 0 {
		d *= 20
	}
	name, c := w.anyClock()
	c.jump(d)
	w.later(w.span(2000, 20_000), func() { c.set(0) })
	return fmt.Sprintf("clock of %s jumps by %v", name, d)
}

func (w *World) anyClock() (string, *clock) {
	if w.rng.IntN(2) == 0 {
		p := w.anyPeer()
		return p.name, p.clock
	}
	h := w.hosts[w.rng.IntN(len(w.hosts))]
	return h.name, h.clock
}
