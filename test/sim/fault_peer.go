package sim

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/test/sim/simdisk"
)

func killPeer(w *World) string { return w.stopFor(w.anyPeer(), false, w.span(200, 12_000)) }
func cutPower(w *World) string { return w.stopFor(w.anyPeer(), true, w.span(500, 12_000)) }

// stopFor ends a peer for a while.
func (w *World) stopFor(p *peer, power bool, d time.Duration) string {
	if power && w.liar.Load() == p {
		return w.loseDisk(p)
	}
	p.stop(power)
	w.later(d, p.start)
	return fmt.Sprintf("stop %s (power cut: %t) for %v", p.name, power, d)
}

// cutAllPower returns a power cut of the whole room of peers.
func cutAllPower(w *World) string {
	for _, p := range w.peers() {
		w.stopFor(p, true, w.span(500, 5000))
	}
	return "cut the power of all peers"
}

func pausePeer(w *World) string {
	p, d := w.anyPeer(), w.span(200, 6000)
	p.mu.Lock()
	defer p.mu.Unlock()
	if net := p.net; net != nil {
		net.Pause()
		w.later(d, net.Resume)
	}
	return fmt.Sprintf("pause %s for %v", p.name, d)
}

func isolatePeer(w *World) string {
	p, d := w.anyPeer(), w.span(500, 12_000)
	w.net.Isolate(p.name)
	w.later(d, func() { w.rejoin(p.name) })
	return fmt.Sprintf("isolate %s for %v", p.name, d)
}

func partPeers(w *World) string {
	d := w.span(2000, 40_000)
	w.part(d)
	return fmt.Sprintf("all peers lose each other for %v", d)
}

// part cuts the peers off from each other, and from no other machine.
func (w *World) part(d time.Duration) {
	all := w.peers()
	each := func(do func(a, b string)) {
		for i, a := range all {
			for _, b := range all[:i] {
				do(a.name, b.name)
			}
		}
	}
	each(w.net.CutBoth)
	w.later(d, func() { each(func(a, b string) { w.net.Heal(a, b); w.net.Heal(b, a) }) })
}

// rejoin ends all cuts around a machine.
func (w *World) rejoin(name string) {
	for _, other := range w.machines() {
		w.net.Heal(name, other)
		w.net.Heal(other, name)
	}
}

// onDisk does something to a peer's disk, and heals it later.
func (w *World) onDisk(p *peer, d time.Duration, do func(*simdisk.Disk)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p.disk)
	w.later(d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.disk.Heal()
		p.disk.LoseSyncs(w.liar.Load() == p)
	})
}

func stallPeerDisk(w *World) string {
	p, d := w.anyPeer(), w.span(100, 4000)
	w.onDisk(p, d, func(disk *simdisk.Disk) { disk.Stall(d) })
	return fmt.Sprintf("disk of %s stalls for %v", p.name, d)
}

func hangPeerDisk(w *World) string {
	p, d := w.anyPeer(), w.span(11_000, 20_000)
	w.onDisk(p, d, func(disk *simdisk.Disk) { disk.Stall(d) })
	return fmt.Sprintf("disk of %s hangs for %v", p.name, d)
}

func fillPeerDisk(w *World) string {
	p, d := w.anyPeer(), w.span(500, 4000)
	w.onDisk(p, d, func(disk *simdisk.Disk) {
		disk.Fail(syscall.ENOSPC, 0, simdisk.WriteLog, simdisk.WriteStable, simdisk.WriteSnapshot)
	})
	return fmt.Sprintf("disk of %s is full for %v", p.name, d)
}

func breakPeerDisk(w *World) string {
	p, d := w.anyPeer(), w.span(500, 4000)
	ops := []simdisk.Op{simdisk.SyncLog, simdisk.SyncStable, simdisk.ReadLog, simdisk.SyncSnapshot, simdisk.WriteLog}
	op := ops[w.rng.IntN(len(ops))]
	if w.liar.Load() == p {
		return ""
	}
	w.onDisk(p, d, func(disk *simdisk.Disk) { disk.Fail(syscall.EIO, 1, op) })
	return fmt.Sprintf("disk of %s fails once: %v", p.name, op)
}

// loseSyncs makes one disk of a run lose syncs. It survives kill -9; at a power cut its content can no longer be trusted, and its peer must
// leave.
func loseSyncs(w *World) string {
	if l := w.liar.Load(); l != nil {
		return w.loseDisk(l)
	}
	p := w.anyPeer()
	if !p.settled() || w.leaving.Load() > 0 {
		return ""
	}
	w.liar.Store(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disk.Heal() // what fails and lies at the same time is lost at once
	p.disk.LoseSyncs(true)
	return fmt.Sprintf("disk of %s loses what it has synced", p.name)
}

// loseDisk returns the end of a peer whose disk is lost: another takes its place.
func (w *World) loseDisk(p *peer) string {
	if !p.settled() {
		return ""
	}
	p.change(func(f *fate) { f.gone = true })
	p.stop(true)
	w.retire(p)
	return fmt.Sprintf("power cut of %s, whose disk is lost; %s takes its place", p.name, w.newcomer().name)
}

// retire makes the leader remove a peer that is gone.
func (w *World) retire(p *peer) {
	w.leaving.Add(1)
	w.work.Go(func() {
		for sleep(w.ctx, time.Second) {
			l := w.leader()
			if l == nil {
				continue
			}
			if run := l.running(); run != nil {
				ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
				err := run.Remove(ctx, model.PeerID(p.name))
				cancel()
				if err == nil {
					w.leaving.Add(-1)
					w.trace.Note("%s is removed", p.name)
					return
				}
			}
		}
	})
}

// newcomer starts a new peer that joins.
func (w *World) newcomer() *peer {
	w.shared.mu.Lock()
	name := fmt.Sprintf("p%d", len(w.shared.peers)+1)
	w.shared.mu.Unlock()
	p := newPeer(w, name)
	w.shared.mu.Lock()
	w.shared.peers = append(w.shared.peers, p)
	w.shared.mu.Unlock()
	p.start()
	p.join()
	return p
}

func addPeer(w *World) string {
	if len(w.peers()) >= 5 {
		return ""
	}
	return fmt.Sprintf("%s joins", w.newcomer().name)
}

// removePeer removes a peer in good order: it runs until the leader has had time to remove it. If that takes longer it counts as a member
// that is down; a cluster survives only one of those, so no peer leaves while another does, or while a disk may be lost.
func removePeer(w *World) string {
	all := w.peers()
	if len(all) <= 3 || w.leaving.Load() > 0 {
		return ""
	}
	if l := w.liar.Load(); l != nil && l.settled() {
		return ""
	}
	p := all[w.rng.IntN(len(all))]
	if !p.settled() {
		return ""
	}
	p.change(func(f *fate) { f.gone = true })
	w.retire(p)
	w.later(20*time.Second, func() { p.stop(false) })
	return fmt.Sprintf("remove %s", p.name)
}

func transfer(w *World) string {
	l := w.leader()
	if l == nil {
		return ""
	}
	run := l.running()
	if run == nil {
		return ""
	}
	w.work.Go(func() {
		ctx, cancel := context.WithTimeout(w.ctx, 3*time.Second)
		defer cancel()
		if err := run.Transfer(ctx, ""); err != nil {
			w.trace.Note("%s hands over: %v", l.name, err)
		}
	})
	return fmt.Sprintf("transfer from %s", l.name)
}
