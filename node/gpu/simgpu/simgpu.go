package simgpu

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// Properties of simulated GPUs.
const (
	Model    = "NVIDIA H100 80GB HBM3"
	MemoryMB = 81559
	MaxGPUs  = model.MaxDevices
)

// Probe simulates GPUs.
type Probe struct {
	devices []model.Device
	faults  string        // path of the file
	closed  chan struct{} // nothing hangs any more

	mu      sync.Mutex
	scanned time.Time // when the newest scan began
	users   []gpuUser // what it found
	others  map[int]without
	last    map[model.GPUID]reading
	raised  map[model.GPUID][]uint64 // the Xids that were
}

var _ gpu.Probe = (*Probe)(nil)

// reading is the base of a GPU's last utilization.
type reading struct {
	at          time.Time
	cpu         map[proc.ID]time.Duration
	utilization uint8
}

// window is the shortest time over which a utilization is measured.
const window = 500 * time.Millisecond

// Open makes n GPUs as Find does, and watches them.
func Open(path string, n int) (*gpu.Monitor, error) {
	p, err := Find(path, n)
	if err != nil {
		return nil, err
	}
	return gpu.NewMonitor(gpu.Options{Probe: p})
}

// Find makes n GPUs, of which the first have the UUIDs stored in the file. Indices, PCI addresses and places
// follow from the order in the file.
func Find(path string, n int) (*Probe, error) {
	if n < 1 || n > MaxGPUs {
		return nil, fmt.Errorf("%d simulated GPUs: give 1 to %d", n, MaxGPUs)
	}
	var ids []model.GPUID
	_, err := smallfile.ReadTwin(path, &ids)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the simulated GPUs' UUIDs: %w: remove %[2]s and %[2]s.copy to simulate other GPUs", err, path)
	}
	if len(ids) < n {
		for len(ids) < n {
			ids = append(ids, newID())
		}
		if err := smallfile.WriteTwin(path, ids); err != nil {
			return nil, fmt.Errorf("keeping the simulated GPUs' UUIDs: %w", err)
		}
	}
	p := &Probe{
		faults: filepath.Join(filepath.Dir(path), FaultsFile), closed: make(chan struct{}),
		last: map[model.GPUID]reading{}, raised: map[model.GPUID][]uint64{},
	}
	for i, id := range ids[:n] {
		p.devices = append(p.devices, device(i, n, id))
	}
	return p, nil
}

// device returns the i-th of n GPUs: half of them at each of two sockets, all on one
// NVLink switch.
func device(i, n int, id model.GPUID) model.Device {
	return model.Device{
		ID: id, Index: uint32(i), Model: Model, MemoryMB: MemoryMB,
		PCI:  fmt.Sprintf("00000000:%02X:00.0", 0x10+i),
		NUMA: int32(2 * i / max(n, 2)),
		Link: "nvswitch0",
	}
}

func newID() model.GPUID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return model.GPUID(fmt.Sprintf("GPU-%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// List lists the GPUs.
func (p *Probe) List() ([]model.Device, error) { return slices.Clone(p.devices), nil }

// Watch blocks hanging looks until the context ends.
func (p *Probe) Watch(ctx context.Context) {
	<-ctx.Done()
	close(p.closed)
}

// Look measures a GPU.
func (p *Probe) Look(id model.GPUID, after time.Time) gpu.Look {
	i := slices.IndexFunc(p.devices, func(d model.Device) bool { return d.ID == id })
	if i < 0 {
		return gpu.Look{Reading: judge.Reading{Trouble: judge.TroubleLost, Detail: "there is no such GPU"}}
	}
	fault, err := p.hang(p.devices[i])
	if err != nil {
		return gpu.Look{Reading: judge.Reading{Trouble: judge.TroubleError, Detail: err.Error()}}
	}
	l := p.measure(id, p.scan(after))
	l.Xids = p.raise(id, fault.Xids)
	fault.afflict(&l.Reading)
	l.Point.Temperature, l.Point.Uncorrected = l.Temperature, l.Uncorrected
	return l
}

// hang reads a GPU's fault, and returns once it is not one that hangs.
func (p *Probe) hang(d model.Device) (Fault, error) {
	tick := time.NewTicker(window / 10)
	defer tick.Stop()
	for {
		f, err := p.faultOf(d)
		if err != nil || !f.Hang {
			return f, err
		}
		select {
		case <-tick.C:
		case <-p.closed:
			return f, errors.New("the agent ends")
		}
	}
}

// raise returns the Xids of a GPU if they have changed.
func (p *Probe) raise(id model.GPUID, codes []uint64) (out []judge.Xid) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Equal(p.raised[id], codes) {
		return nil
	}
	p.raised[id] = codes
	for _, code := range codes {
		out = append(out, judge.Xid{Code: code})
	}
	return out
}

// scan returns a look at all processes that began after an instant. Callers that wait for
// each other share one.
func (p *Probe) scan(after time.Time) []gpuUser {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.scanned.After(after) {
		p.scanned = time.Now()
		p.users = p.findUsers()
	}
	return p.users
}

// measure looks at a GPU's share of a scan.
func (p *Probe) measure(id model.GPUID, users []gpuUser) gpu.Look {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := gpu.Look{Reading: judge.Reading{Recovery: judge.RecoveryNone}}
	now, last := time.Now(), p.last[id]
	next := reading{at: now, cpu: map[proc.ID]time.Duration{}}
	var used time.Duration
	for _, u := range users {
		if u.on(id) {
			next.cpu[u.id] = u.cpu
			used += max(0, u.cpu-last.cpu[u.id])
			l.Point.MemoryUsedMB += u.memoryMB
			l.Processes = append(l.Processes, u.process())
		}
	}
	if passed := now.Sub(last.at); passed >= window {
		next.utilization = percent(used, passed)
		p.last[id], last = next, next
	}
	l.Point.Utilization, l.Point.MemoryUsedMB = last.utilization, min(l.Point.MemoryUsedMB, MemoryMB)
	l.Temperature, l.Point.PowerWatts, l.Point.ClockMHz = warmth(last.utilization)
	l.Point.MemoryMHz = 2619
	return l
}

// percent returns used over passed, from 0 to 100.
func percent(used, passed time.Duration) uint8 {
	if passed <= 0 {
		return 0
	}
	return uint8(min(100, 100*used/passed))
}

// warmth returns a card's temperature, power and clock at a utilization; see the package's
// comment.
func warmth(utilization uint8) (celsius int16, watts, megahertz uint32) {
	u := uint32(utilization)
	return 32 + 46*int16(utilization)/100, 70 + 600*u/100, 345 + 1635*u/100
}
