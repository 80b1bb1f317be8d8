package sim

import (
	"fmt"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/test/sim/simdisk"
)

func killAgent(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	d := w.span(100, 8000)
	if w.rng.IntN(4) == 0 {
		d = w.span(20_000, 50_000)
	}
	h.stopAgent()
	w.later(d, h.restartAgent)
	return fmt.Sprintf("kill the agent of %s for %v", h.name, d)
}

func pauseAgent(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	d := w.span(500, 25_000)
	h.pauseAgent(d)
	return fmt.Sprintf("pause the agent of %s for %v", h.name, d)
}

func reboot(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	d := w.span(500, 15_000)
	h.powerOff()
	w.later(d, h.powerOn)
	return fmt.Sprintf("reboot %s, down for %v", h.name, d)
}

func standStill(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	d, hidden := w.span(500, 50_000), w.rng.IntN(2) == 0
	h.stand(true, hidden)
	w.later(d, func() { h.stand(false, hidden) })
	return fmt.Sprintf("%s stands still for %v (its clock, too: %t)", h.name, d, hidden)
}

// cutHost cuts a host from all peers, in one direction or both.
func (w *World) cutHost(h *host, d time.Duration, to, from bool) {
	for _, p := range w.peers() {
		if to {
			w.net.Cut(p.name, h.name)
		}
		if from {
			w.net.Cut(h.name, p.name)
		}
	}
	w.later(d, func() { w.rejoin(h.name) })
}

func cutNode(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	d := w.span(2000, 29_000)
	w.cutHost(h, d, true, true)
	return fmt.Sprintf("cut %s from all peers for %v", h.name, d)
}

func cutNodeLong(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	d := w.span(36_000, 60_000)
	w.cutHost(h, d, true, true)
	return fmt.Sprintf("cut %s from all peers for %v", h.name, d)
}

func cutNodeOneWay(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	d, to := w.span(2000, 60_000), w.rng.IntN(2) == 0
	w.cutHost(h, d, to, !to)
	return fmt.Sprintf("cut %s from all peers (towards it: %t) for %v", h.name, to, d)
}

func stallHostDisk(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	d := w.span(500, 25_000)
	h.onDisk(func(disk *simdisk.Disk) { disk.Stall(d) })
	return fmt.Sprintf("disk of %s stalls for %v", h.name, d)
}

func breakHostDisk(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	err, d := []error{syscall.ENOSPC, syscall.EIO}[w.rng.IntN(2)], w.span(500, 10_000)
	h.onDisk(func(disk *simdisk.Disk) {
		disk.Fail(err, 0, simdisk.WriteFile, simdisk.SyncFile)
		w.later(d, disk.Heal)
	})
	return fmt.Sprintf("disk of %s fails for %v: %v", h.name, d, err)
}

func killSupervisor(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	u := h.anyUnit()
	if u == nil {
		return ""
	}
	h.killSupervisor(u)
	return fmt.Sprintf("kill the supervisor of %s on %s", u.Rank, h.name)
}

func wipeHost(w *World) string {
	h := w.anyHost()
	if h == nil {
		return ""
	}
	h.wipe()
	return fmt.Sprintf("wipe the data folder of %s", h.name)
}

// cloneHost starts a copy of a host's data folder on another machine. Before the host is registered the copy could come first
// and be the node for good, until an operator retires that.
func cloneHost(w *World) string {
	h := w.anyHost()
	if h == nil || !w.registered(h) {
		return ""
	}
	c := w.clone(h, "machine-of-the-copy")
	w.later(w.span(10_000, 60_000), c.powerOff)
	return fmt.Sprintf("clone the data folder of %s to %s", h.name, c.name)
}

// registered reports whether a host is the machine that the cluster knows as its node.
func (w *World) registered(h *host) bool {
	n, _ := w.oracle.now().Nodes.Get(h.id.node)
	return n.Machine == h.id.machine
}

// clone starts another machine on a copy of a host's data folder.
func (w *World) clone(h *host, machine string) *host {
	c := w.addHost(fmt.Sprintf("c%d", len(w.hosts)+1), h.id.node, w.GPUs)
	h.onDisk(func(disk *simdisk.Disk) { disk.CopyTo(c.disk) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id.cloneOf, c.id.machine = h.name, machine
	c.agent.kill()
	c.life.disk = newStore(c.disk)
	c.agent = c.startAgent(c.agent)
	return c
}

// stopAgent kills the agent.
func (h *host) stopAgent() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agent.kill()
}

// pauseAgent stops the agent for a while, as SIGSTOP does.
func (h *host) pauseAgent(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.agent.life.paused <- d:
	default:
	}
}

// anyUnit returns a unit whose supervisor lives, or nil.
func (h *host) anyUnit() *unit {
	h.mu.Lock()
	defer h.mu.Unlock()
	var first *unit
	for _, u := range h.units {
		if u.alive && (first == nil || u.Rank.Compare(first.Rank) < 0) {
			first = u
		}
	}
	return first
}
