package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/test/sim/simdisk"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// identity is a host's configured name, and its hardware.
type identity struct {
	node    model.NodeID
	machine string
	gpus    []model.GPUID
	zone    string // its label of this key
	cloneOf string // the host whose data folder this one's is a copy of
}

// life is one boot of a host.
type life struct {
	boot   string
	count  int             // of boots so far
	ctx    context.Context // ends with the boot
	cancel context.CancelFunc
	net    *simnet.Host
	disk   store
}

// host is a machine with GPUs.
type host struct {
	w     *World
	name  string // on the network
	id    identity
	clock *clock

	mu     *sync.Mutex // of all hosts, guards what follows; never held while time passes
	disk   *simdisk.Disk
	off    bool
	kernel kernel
	units  map[model.RankKey]*unit // of this boot
	life   life
	agent  *agent
	lag    time.Duration // agents look at answers so long after they came
	moved  chan struct{} // closed and replaced when the machine goes on after a pause
}

// ip returns the address that the host's agent reports, which nothing here dials.
func (h *host) ip() string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(h.name)) // a hash takes everything
	return netip.AddrFrom4([4]byte{10, 1, byte(sum.Sum32()), 1 + byte(sum.Sum32()>>8)%250}).String()
}

func newHost(w *World, name string, node model.NodeID, gpus int) *host {
	h := &host{
		w: w, name: name, clock: newClock(time.Duration(1+w.pick(1000)) * time.Minute),
		disk: simdisk.New(w.rng.Uint64()), off: true, units: map[model.RankKey]*unit{}, moved: make(chan struct{}),
		id: identity{node: node, machine: "machine-" + name, zone: zoneOf(node)}, mu: &w.truth.mu,
	}
	for i := range gpus {
		h.id.gpus = append(h.id.gpus, model.GPUID(fmt.Sprintf("gpu-%s-%d", name, i)))
	}
	h.disk.SetLatency(simdisk.Latency{Write: 200 * time.Microsecond, Sync: 2 * time.Millisecond})
	h.powerOn()
	return h
}

// zoneOf returns the zone of a node: n1 is in a, n2 in b, n3 in a, and so on.
func zoneOf(node model.NodeID) string {
	if n, err := strconv.Atoi(strings.TrimPrefix(string(node), "n")); err == nil && n%2 == 0 {
		return "b"
	}
	return "a"
}

// powerOn boots the machine and starts its agent.
func (h *host) powerOn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.off {
		return
	}
	h.off = false
	n := h.life.count + 1
	h.life = life{boot: fmt.Sprintf("boot-%s-%d", h.name, n), count: n, net: h.w.net.Host(h.name), disk: newStore(h.disk)}
	h.life.ctx, h.life.cancel = context.WithCancel(h.w.ctx)
	h.agent = h.startAgent(nil)
}

// powerOff ends everything on the machine at once. What was not synced may be lost.
func (h *host) powerOff() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.off {
		return
	}
	h.off = true
	h.life.cancel()
	h.agent.kill()
	h.life.net.Crash()
	old := h.disk
	h.disk = h.w.powerCut(old)
	old.Wipe() // kills the handle, so that what still runs ends soon
	for _, p := range h.kernel.procs {
		h.w.truth.unsure(p.rank)
	}
	for _, u := range h.units {
		if u.alive { // it may have been about to write down how the rank ended
			h.w.truth.unsure(u.Rank)
		}
	}
	h.kernel = kernel{}
	h.units = map[model.RankKey]*unit{}
	h.clock.restart()
	close(h.moved)
	h.moved = make(chan struct{})
}

// restartAgent ends the agent and starts another over the same folder.
func (h *host) restartAgent() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.off {
		return
	}
	h.agent.kill()
	h.agent = h.startAgent(h.agent)
}

// wipe removes the data folder, and starts another agent. Supervisors go on with the removed files.
func (h *host) wipe() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agent.kill()
	h.disk.Wipe()
	h.life.disk = newStore(h.disk)
	h.agent = h.startAgent(h.agent)
}

// killSupervisor kills one supervisor with its rank's process, as the kernel does on request; children of the process live on.
func (h *host) killSupervisor(u *unit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !u.alive {
		return
	}
	u.end()
	u.alive = false
	h.w.truth.unsure(u.Rank)
	h.kernel.settle()
	if p := u.proc; p != nil && !p.gone {
		h.kernel.kill(p)
	}
}

// stand stops the machine as a hypervisor does, or lets it go on; with hidden, its CLOCK_BOOTTIME does not count the pause.
func (h *host) stand(on, hidden bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.off || on == !h.kernel.paused.IsZero() {
		return
	}
	stood := h.kernel.pause(on)
	if on {
		h.life.net.Pause()
		return
	}
	if hidden {
		h.clock.stand(stood)
	}
	h.life.net.Resume()
	close(h.moved)
	h.moved = make(chan struct{})
}

// pause lets time pass for a program of the host, and longer while the machine is stopped. It reports whether the program may go on.
func (h *host) pause(ctx context.Context, d time.Duration) bool {
	if !sleep(ctx, d) {
		return false
	}
	for {
		h.mu.Lock()
		still, moved := !h.kernel.paused.IsZero(), h.moved
		h.mu.Unlock()
		if !still {
			return ctx.Err() == nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// free reports whether no process is on any of the GPUs. The lock is held.
func (h *host) free(gpus []model.GPUID) bool {
	for _, g := range gpus {
		if len(h.kernel.on(g)) > 0 {
			return false
		}
	}
	return true
}

// freeze stops a unit's processes until the cluster has confirmed the lease. The lock is held.
func (h *host) freeze(u *unit, now fence.Boot) {
	if u.frozen == 0 && !u.phase.Ended() {
		u.frozen = now
		h.kernel.freeze(u.Rank, true)
		h.w.trace.Note("%s freezes %s", h.name, u.Rank)
	}
}

// thaw lets a unit's processes go on. The lock is held.
func (h *host) thaw(u *unit) {
	u.frozen = 0
	h.kernel.freeze(u.Rank, false)
	h.w.trace.Note("%s thaws %s", h.name, u.Rank)
}

// devices returns the inventory as it is now. The lock is held.
func (h *host) devices() (out []model.Device) {
	for i, g := range h.id.gpus {
		out = append(out, model.Device{
			ID: g, Index: uint32(i), Model: "H200", MemoryMB: 143_771, Health: model.HealthHealthy,
			Idle: len(h.kernel.on(g)) == 0,
		})
	}
	return out
}

// sleep lets time pass, or reports that the context has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
