package simdisk

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Disk is a data folder and the drive that it is on. It is safe for concurrent
// use.
type Disk struct {
	dev *device

	mu    sync.Mutex
	vol   *volume
	owner *Handle // the newest handle, unless killed
}

// New returns an empty disk without latency or faults. The seed is for the
// latencies that it draws.
func New(seed uint64) *Disk { return &Disk{dev: newDevice(seed), vol: newVolume()} }

// Open returns a handle for a new process. A folder has one owner, so the
// handle before it is killed.
func (d *Disk) Open() *Handle {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.evict()
	d.owner = &Handle{dev: d.dev, vol: d.vol, killed: make(chan struct{})}
	return d.owner
}

// evict kills the owner. d.mu is held.
func (d *Disk) evict() {
	if d.owner != nil {
		d.owner.Kill()
		d.owner = nil
	}
}

// Clone returns a disk with what survives kill -9: everything written. What
// was not synced is still not. The disk itself stays as it is, its owner too.
func (d *Disk) Clone() *Disk {
	return d.derive((*volume).clone)
}

// PowerCut returns a disk with what survives a power loss: everything synced,
// and of what was written since a part that rng draws. The disk itself stays as
// it is, its owner too.
func (d *Disk) PowerCut(rng *rand.Rand) *Disk {
	return d.derive(func(v *volume) *volume { return v.afterPowerCut(rng) })
}

func (d *Disk) derive(f func(*volume) *volume) *Disk {
	var vol *volume
	d.with(func(v *volume) { vol = f(v) })
	return &Disk{dev: d.dev.clone(), vol: vol}
}

// with runs f on the folder without concurrent writes.
func (d *Disk) with(f func(*volume)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owner == nil || !d.owner.lend(f) {
		f(d.vol)
	}
}

// Wipe removes everything. The owner goes on with the removed files, as a
// process does, and no longer reaches the folder.
func (d *Disk) Wipe() { d.replace(newVolume()) }

// CopyTo makes dst's folder a copy of this one, as an operator or a virtual
// machine's snapshot does: a peer's twin, with its identity and its votes.
// dst's owner is killed.
func (d *Disk) CopyTo(dst *Disk) {
	var copied *volume
	d.with(func(v *volume) { copied = v.settled() })
	dst.replace(copied)
}

func (d *Disk) replace(v *volume) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.evict()
	d.vol = v
}

// SetLatency sets how long operations take.
func (d *Disk) SetLatency(l Latency) { d.dev.set(func() { d.dev.latency = l }) }

// Stall lets no operation end for the time t from now.
func (d *Disk) Stall(t time.Duration) {
	d.dev.set(func() {
		if until := time.Now().Add(t); until.After(d.dev.stalled) {
			d.dev.stalled = until
		}
	})
}

// Fail lets the given operations, or all of them if none is given, fail with an
// error such as syscall.ENOSPC or syscall.EIO: each the next times times, or
// until Heal if times is 0. A failed write changes nothing. After a failed sync
// the data is still read, and lost with the next power cut, also if a later
// sync succeeds.
func (d *Disk) Fail(err error, times int, ops ...Op) {
	if times <= 0 {
		times = -1
	}
	if len(ops) == 0 {
		for o := range numOps {
			ops = append(ops, o)
		}
	}
	d.dev.set(func() {
		for _, o := range ops {
			d.dev.faults[o] = fault{err, times}
		}
	})
}

// LoseSyncs lets syncs succeed without keeping anything but changes that are older than the last 64. A
// cluster survives it on a minority of its disks.
func (d *Disk) LoseSyncs(on bool) { d.dev.set(func() { d.dev.lying = on }) }

// Heal ends stalls, faults and lost syncs. What was lost stays so.
func (d *Disk) Heal() {
	d.dev.set(func() {
		d.dev.stalled, d.dev.lying = time.Time{}, false
		clear(d.dev.faults)
	})
}

// Entry returns a log entry as reads would see it now. It is for observers from outside: it takes no time and
// has no faults.
func (d *Disk) Entry(index uint64) (entry *raft.Log, found bool) {
	d.with(func(v *volume) {
		var at int
		if at, found = v.cache.find(index); found {
			copied := *v.cache.logs[at]
			entry = &copied
		}
	})
	return entry, found
}

// Rot changes the data of a log entry where it lies, as a flipped bit does, synced or not.
// It reports whether there was such an entry, and change made a change.
func (d *Disk) Rot(index uint64, change func(data []byte) bool) (done bool) {
	d.with(func(v *volume) {
		for _, m := range []*image{&v.cache, &v.kept} {
			if at, found := m.find(index); found {
				copied := cloneLog(m.logs[at])
				if change(copied.Data) {
					m.logs[at], done = copied, true
				}
			}
		}
	})
	return done
}

// Forgot reports whether a sync has failed and left something that reads see and
// that no later sync will keep: what the folder seems to hold is not what it
// holds, until the machine has been rebooted.
func (d *Disk) Forgot() (forgot bool) {
	d.with(func(v *volume) { forgot = v.forgot })
	return forgot
}

// CorruptSnapshot damages the newest snapshot: it is still listed, and fails
// when opened. It reports whether there was one.
func (d *Disk) CorruptSnapshot() bool {
	var done bool
	d.with(func(v *volume) {
		done = v.cache.spoil()
		v.kept.spoil()
	})
	return done
}
