package simgpu

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
)

// What is simulated.
const (
	Model    = "NVIDIA H100 80GB HBM3"
	MemoryMB = 81559
	MaxGPUs  = model.MaxDevices
)

// Source simulates GPUs.
type Source struct {
	devices []model.Device
	changed chan struct{}

	mu      sync.Mutex
	scanned time.Time // when the newest scan began
	users   []gpuUser // what it found
	last    map[model.GPUID]reading
}

var _ gpu.Source = (*Source)(nil)

// reading is what the last sample of a GPU was taken from.
type reading struct {
	at  time.Time
	cpu map[process]time.Duration
}

// Open makes n GPUs, or as many of those whose UUIDs are stored in the file and
// more. Indices, PCI addresses and places follow from the order in the file.
func Open(path string, n int) (*Source, error) {
	if n < 1 || n > MaxGPUs {
		return nil, fmt.Errorf("%d simulated GPUs: give 1 to %d", n, MaxGPUs)
	}
	var ids []model.GPUID
	data, err := os.ReadFile(path) //nolint:gosec // in the operator's data folder
	if err == nil {
		err = json.Unmarshal(data, &ids)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the simulated GPUs' UUIDs: %s: %w", path, err)
	}
	if len(ids) < n {
		for len(ids) < n {
			ids = append(ids, newID())
		}
		if err := store(path, ids); err != nil {
			return nil, fmt.Errorf("keeping the simulated GPUs' UUIDs: %w", err)
		}
	}
	s := &Source{changed: make(chan struct{}), last: map[model.GPUID]reading{}}
	for i, id := range ids[:n] {
		s.devices = append(s.devices, device(i, n, id))
	}
	return s, nil
}

// device is the i-th of n GPUs: half of them at each of two sockets, all on one
// NVLink switch.
func device(i, n int, id model.GPUID) model.Device {
	return model.Device{
		ID: id, Index: uint32(i), Model: Model, MemoryMB: MemoryMB, //nolint:gosec // at most 64
		PCI:  fmt.Sprintf("00000000:%02X:00.0", 0x10+i),
		NUMA: int32(2 * i / max(n, 2)), //nolint:gosec // 0 or 1
		Link: "nvswitch0", Health: model.HealthHealthy,
	}
}

func newID() model.GPUID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return model.GPUID(fmt.Sprintf("GPU-%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

func store(path string, ids []model.GPUID) error {
	data, err := json.MarshalIndent(ids, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // in the operator's data folder
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Changed never yields: simulated hardware does not change.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Inventory lists the GPUs.
func (s *Source) Inventory() []model.Device {
	out := slices.Clone(s.devices)
	users := s.scan(time.Now())
	for i := range out {
		out[i].Idle = !slices.ContainsFunc(users, func(u gpuUser) bool { return u.on(out[i].ID) })
	}
	return out
}

// Check looks who is on GPUs.
func (s *Source) Check(ids []model.GPUID) []gpu.Verdict {
	users := s.scan(time.Now())
	out := make([]gpu.Verdict, 0, len(ids))
	for _, id := range ids {
		v := gpu.Verdict{GPU: id}
		if i := slices.IndexFunc(s.devices, func(d model.Device) bool { return d.ID == id }); i >= 0 {
			v.Known, v.Index = true, s.devices[i].Index
		}
		for _, u := range users {
			if u.on(id) {
				v.Processes = append(v.Processes, u.process())
			}
		}
		out = append(out, v)
	}
	return out
}

// scan is a look at all processes that began after the call did. Callers that wait
// for each other share one.
func (s *Source) scan(called time.Time) []gpuUser {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.scanned.After(called) {
		s.scanned = time.Now()
		s.users = findUsers()
	}
	return s.users
}

// Samples measures each GPU since its last sample.
func (s *Source) Samples() []model.Sample {
	now := time.Now()
	users := s.scan(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]model.Sample, 0, len(s.devices))
	for _, d := range s.devices {
		next := reading{at: now, cpu: map[process]time.Duration{}}
		sample := model.Sample{GPU: d.ID}
		var used time.Duration
		for _, u := range users {
			if !u.on(d.ID) {
				continue
			}
			next.cpu[u.id] = u.cpu
			used += max(0, u.cpu-s.last[d.ID].cpu[u.id])
			sample.MemoryUsedMB += u.memoryMB
			sample.Processes = append(sample.Processes, u.process())
		}
		sample.MemoryUsedMB = min(sample.MemoryUsedMB, MemoryMB)
		sample.Utilization = percent(used, now.Sub(s.last[d.ID].at))
		sample.Temperature, sample.PowerWatts = warmth(sample.Utilization)
		s.last[d.ID] = next
		out = append(out, sample)
	}
	return out
}

// percent is used over passed, from 0 to 100.
func percent(used, passed time.Duration) uint8 {
	if passed <= 0 {
		return 0
	}
	return uint8(min(100, 100*used/passed)) //nolint:gosec // at most 100
}

// warmth is a card's temperature and power at a utilization; see the package's
// comment.
func warmth(utilization uint8) (celsius int16, watts uint32) {
	return 32 + 46*int16(utilization)/100, 70 + 600*uint32(utilization)/100
}
