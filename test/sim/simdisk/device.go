package simdisk

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"
)

// Op is a kind of disk operation that can be made to fail by itself.
type Op int

// The operations: each store's reads, writes and syncs.
const (
	ReadLog Op = iota
	WriteLog
	SyncLog
	ReadStable
	WriteStable
	SyncStable
	ReadSnapshot
	WriteSnapshot
	SyncSnapshot
	ReadFile
	WriteFile
	SyncFile
	numOps
)

// String returns the operation in words.
func (o Op) String() string {
	names := [numOps]string{
		"read log", "write log", "sync log", "read stable store", "write stable store", "sync stable store",
		"read snapshot", "write snapshot", "sync snapshot", "read file", "write file", "sync file",
	}
	if o < 0 || o >= numOps {
		return fmt.Sprintf("operation %d", int(o))
	}
	return names[o]
}

func (o Op) isRead() bool { return o%3 == 0 }
func (o Op) isSync() bool { return o%3 == 2 }

// Latency is how long a healthy disk takes, on average; a single operation
// takes half of that up to one and a half times, and one in a hundred ten times
// as long. Zero takes no time.
type Latency struct{ Read, Write, Sync time.Duration }

func (l Latency) of(o Op) time.Duration {
	switch {
	case o.isRead():
		return l.Read
	case o.isSync():
		return l.Sync
	default:
		return l.Write
	}
}

// device is the drive under a folder: how fast it is and what is wrong with it.
type device struct {
	mu      sync.Mutex
	rng     *rand.Rand
	seed    uint64
	folders int // made on it
	latency Latency
	stalled time.Time // no operation ends before
	lying   bool
	faults  map[Op]fault
	changed chan struct{} // closed and replaced when a stall changes
}

// fault is the error of an operation.
type fault struct {
	err   error
	times int // how often yet; negative: always
}

func newDevice(seed uint64) *device {
	return &device{
		seed:   seed,
		rng:    rand.New(rand.NewPCG(seed, 0x51d15c)),
		faults: map[Op]fault{}, changed: make(chan struct{}),
	}
}

// clone returns a drive in the same condition.
func (d *device) clone() *device {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := newDevice(d.rng.Uint64())
	c.latency, c.stalled, c.lying, c.faults = d.latency, d.stalled, d.lying, maps.Clone(d.faults)
	return c
}

// set changes the drive's condition and wakes the operations that wait for it.
func (d *device) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	close(d.changed)
	d.changed = make(chan struct{})
}

// run takes the time of one operation and returns its fault, if it has one. A
// killed process waits no longer.
func (d *device) run(o Op, killed <-chan struct{}) error {
	pause(d.draw(o), killed, nil)
	for {
		left, changed := d.stall()
		if left <= 0 || isClosed(killed) {
			return d.fail(o)
		}
		pause(left, killed, changed)
	}
}

// draw returns how long an operation takes this time.
func (d *device) draw(o Op) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	mean := d.latency.of(o)
	if mean <= 0 {
		return 0
	}
	if d.rng.IntN(100) == 0 {
		return 10 * mean
	}
	return mean/2 + time.Duration(d.rng.Int64N(int64(mean)))
}

// newFolder returns the id of a folder that is made on this drive. It draws no number:
// the latencies of a run do not depend on how many folders there are.
func (d *device) newFolder() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.folders++
	return fmt.Sprintf("folder-%016x-%d", d.seed, d.folders)
}

// stall returns how much longer the drive is stalled.
func (d *device) stall() (time.Duration, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.stalled), d.changed
}

// fail returns the fault of an operation and counts it.
func (d *device) fail(o Op) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.faults[o]
	if !ok {
		return nil
	}
	if f.times--; f.times == 0 {
		delete(d.faults, o)
	} else {
		d.faults[o] = fault{f.err, max(f.times, -1)}
	}
	return fmt.Errorf("simulated disk: %v: %w", o, f.err)
}

func (d *device) lies() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lying
}

// pause lets time pass until one of the channels is closed.
func pause(t time.Duration, killed, changed <-chan struct{}) {
	if t <= 0 {
		return
	}
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-killed:
	case <-changed:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// errCRC is the error of raft's file snapshot store for a damaged snapshot.
var errCRC = errors.New("CRC mismatch")
