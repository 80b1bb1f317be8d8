package gpu

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// Probe reads GPUs for a monitor. Its methods may be called from any goroutine, and may hang; for one GPU
// there is never more than one call of Look.
type Probe interface {
	// List finds the GPUs in PCI order. The monitor adds verdicts and idleness.
	List() ([]model.Device, error)
	// Look reads one GPU. Processes that ended before the instant are not included.
	Look(gpu model.GPUID, after time.Time) Look
	// Watch collects what GPUs report by themselves, for the next look at each, until the context ends.
	Watch(ctx context.Context)
}

// Look is a probe's reading of a GPU.
type Look struct {
	judge.Reading // but for Strangers and Idle, which the monitor adds

	Point     Point
	Processes []Process

	holder string // the owner's rank that was given the GPU; empty: none
}

// Process is a process that computes on a GPU.
type Process struct {
	model.Process

	Name string // what it calls itself; for display
}

// Point is a GPU's measurements at an instant.
type Point struct {
	At           time.Time
	Utilization  uint8 // percent of the last moments in which a kernel ran
	MemoryBusy   uint8 // percent of them in which memory was read or written
	Unmeasured   bool  // the two are not known: a part of a GPU does not measure them
	Temperature  int16 // °C
	MemoryUsedMB uint32
	PowerWatts   uint32
	ClockMHz     uint32 // of the processors
	MemoryMHz    uint32
	Corrected    uint64 // memory errors since the driver was loaded
	Uncorrected  uint64
}
