package sim

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster"
	clusterpeer "github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/test/sim/simdisk"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// peer is a machine for a production peer. Its name is the peer's id, for ever: a peer whose disk was lost comes back as another.
type peer struct {
	w     *World
	name  string
	clock *clock

	mu     sync.Mutex
	disk   *simdisk.Disk
	net    *simnet.Host
	run    *cluster.Peer // nil while it is down
	door   *door
	fate   fate
	grants atomic.Bool
}

// fate is what is becoming of a peer.
type fate struct {
	starting bool  // which takes long on a slow disk
	joining  bool  // has not been taken in yet
	gone     bool  // for good
	former   bool  // left behind by a recovery of the others
	halt     error // why it ended itself, the last time it did
}

func newPeer(w *World, name string) *peer {
	p := &peer{w: w, name: name, clock: newClock(time.Duration(1+w.pick(1000)) * time.Minute), disk: simdisk.New(w.random())}
	p.disk.SetLatency(simdisk.Latency{Write: 100 * time.Microsecond, Sync: time.Millisecond})
	return p
}

// start starts the peer on what its disk holds. A peer that cannot start stays down until it is tried again.
func (p *peer) start() {
	p.mu.Lock()
	idle := !p.fate.gone && p.run == nil && !p.fate.starting
	p.fate.starting = p.fate.starting || idle
	p.mu.Unlock()
	if !idle {
		return
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fate.starting = false
	}()
	net := p.w.net.Host(p.name)
	var life *cluster.Peer
	begun := make(chan struct{})
	config := cluster.Config{
		Self: model.Peer{
			ID: model.PeerID(p.name), RaftAddress: raftAddress(p.name), APIAddress: apiAddress(p.name), Level: command.Level,
			Version: "sim",
		},
		Cluster: "sim", Network: p.w.certificates.Network(p.name, net, dialer(net)), Stores: p.stores(), Clock: p.clock, Logger: p.w.logger(p.name),
		Tuning: p.w.tuning(), Tests: p.w.Unguarded,
		Halt: func(reason error) {
			p.w.work.Go(func() {
				<-begun
				p.halted(life, reason)
			})
		},
	}
	run, err := cluster.Start(config)
	if err != nil {
		close(begun)
		net.Crash()
		p.w.trace.Note("%s does not start: %v", p.name, err)
		p.w.later(2*time.Second, p.start)
		return
	}
	life = run
	close(begun)
	way, err := openDoor(p, net, run)
	if err != nil {
		p.w.trace.Note("%s does not listen: %v", p.name, err)
		net.Crash()
		p.w.work.Go(run.Kill)
		return
	}
	p.mu.Lock()
	p.net, p.run, p.door = net, run, way
	p.mu.Unlock()
	if p.w.ctx.Err() != nil {
		p.stop(false)
	}
}

// stores opens the peer's disk.
func (p *peer) stores() cluster.Stores {
	handle := p.disk.Open()
	stores := cluster.Stores{
		Log: raftstore.SealLogs(handle.Logs(), p.name), Stable: raftstore.SealStable(handle.Stable(), p.name),
		Snapshots: handle.Snapshots(), Folder: handle.Folder(),
	}
	if p.w.Unguarded.NoChecksums {
		stores.Log = handle.Logs()
	}
	if p.w.Stores != nil {
		stores = p.w.Stores(p.name, stores)
	}
	return stores
}

// stop ends the peer as kill -9 does, or with its machine's power; what it still does reaches neither network nor disk.
func (p *peer) stop(power bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return
	}
	run, way := p.run, p.door
	p.net.Crash()
	old := p.disk
	if power || old.Forgot() { // after a failed sync only a reboot shows what the disk holds
		p.disk = p.w.powerCut(old)
	} else {
		p.disk = old.Clone()
	}
	old.Wipe() // kills the handle, so that what still runs ends soon
	p.run, p.door = nil, nil
	p.w.work.Go(func() {
		run.Kill()
		way.close()
	})
}

// halted is the peer's own way out. A service manager starts it again, but not after a report that its state is wrong.
func (p *peer) halted(run *cluster.Peer, reason error) {
	if p.running() != run || run == nil {
		return
	}
	p.w.trace.Fault("%s halts: %v", p.name, reason)
	p.mu.Lock()
	p.fate.halt = reason
	p.mu.Unlock()
	p.stop(false)
	if _, wrong := errors.AsType[*clusterpeer.QuarantineError](reason); wrong {
		p.w.quarantined(p, reason)
		return
	}
	if sleep(p.w.ctx, 2*time.Second) {
		p.start()
	}
}

// running returns the peer that runs here, or nil.
func (p *peer) running() *cluster.Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// join makes the peer ask for admission to the cluster, until it is a member.
func (p *peer) join() {
	p.change(func(f *fate) { f.joining = true })
	p.w.work.Go(func() {
		defer p.change(func(f *fate) { f.joining = false })
		for p.w.ctx.Err() == nil {
			if run := p.running(); run != nil {
				ctx, cancel := context.WithTimeout(p.w.ctx, 5*time.Second)
				err := run.Join(ctx, p.w.raftAddresses())
				cancel()
				if err == nil {
					p.w.trace.Note("%s is taken in", p.name)
					return
				}
			}
			sleep(p.w.ctx, time.Second)
		}
	})
}

// change changes the peer's fate, and returns what it is then.
func (p *peer) change(do func(*fate)) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(&p.fate)
	return p.fate
}

// settled reports whether the peer is a member without a pending removal.
func (p *peer) settled() bool {
	f := p.change(func(*fate) {})
	return !f.joining && !f.gone
}
