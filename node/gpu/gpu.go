// Package gpu monitors a node's GPUs: the inventory, the health, the processes and the measurements of each.
//
// An agent uses a Source. The only implementation is Monitor: it looks at every GPU once a second through a
// Probe, which is the driver's library (package nvml) or a simulation (package simgpu), lets package judge
// decide the health of each, and remembers a quarter of an hour. A driver that hangs blocks no caller for
// long: each look is a goroutine of its own with a deadline, one at a time for each GPU, so that one bad GPU
// leaves the others usable.
package gpu

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Source monitors a node's GPUs. Its methods may be called from any goroutine and may take as long as a
// driver does, but always return.
type Source interface {
	// Inventory returns the GPUs in PCI order, with the verdict on each and whether it is idle.
	Inventory() []model.Device
	// Samples returns the last measurements of each GPU.
	Samples() []model.Sample
	// Check finds the processes on GPUs. Processes that ended before the call are not included.
	Check(gpus []model.GPUID) []Verdict
	// Changed yields whenever the inventory may have changed by itself.
	Changed() <-chan struct{}
	// Run looks at the GPUs until the context ends. It is called once; earlier answers are as of the start.
	Run(ctx context.Context, owner Owner)
}

// Owner is the agent as seen by a Source. Its methods may be called from any goroutine.
type Owner interface {
	// Mine reports whether a process on a GPU belongs to one of Berth's ranks, or to the service that has the
	// GPU. Any other process that computes there is foreign.
	Mine(pid int, on model.GPUID) bool
	// Holder returns the name of the rank that was given the GPU and has not ended; empty: none.
	Holder(gpu model.GPUID) string
}

// History is a source's memory.
type History interface {
	// History returns the measurements of each GPU since an instant, in PCI order. The history reaches back
	// Remembered, or to the start of the source.
	History(since time.Time) []Track
	// Warnings returns conditions of GPUs that are unusual without being faults.
	Warnings() []Warning
}

// Track is the history of one GPU's measurements.
type Track struct {
	Device model.Device
	Points []Point // one a second, the oldest first
}

// Warning is a condition that may interest the owner of a GPU.
type Warning struct {
	GPU  model.GPUID
	Text string
}

// Verdict is what was found on one GPU.
type Verdict struct {
	GPU       model.GPUID
	Index     uint32 // in PCI order
	Known     bool   // the GPU is there, and answers
	Gone      bool   // the driver answers, and the GPU is not there any more
	Busy      bool   // memory is in use that no process accounts for
	Processes []model.Process
	Health    model.Health // of a GPU that is there
	Why       string
}

// Clean reports whether nothing of an owner is left on the GPU.
func (v Verdict) Clean() bool { return v.Known && !v.Busy && len(v.Processes) == 0 }
