// Package gpu says what a node must know of its GPUs: which there are, how they
// are, who is on them, what they measure.
//
// An agent asks a Source. The one there is, is a Monitor: it looks at every GPU once
// a second through a Probe, which is the driver's library (package nvml) or a
// simulation (package simgpu), has package judge say how each is, and remembers a
// quarter of an hour. A driver that hangs keeps nobody waiting for long: each look is
// a goroutine of its own with a deadline, one at a time for each GPU, so that one bad
// GPU leaves the others usable.
//
//	gpu.go      what an agent asks
//	probe.go    what a monitor looks through
//	monitor.go  the looks, once a second
//	list.go     which GPUs there are
//	card.go     one GPU under observation
//	answer.go   the answers
//	ring.go     the last quarter of an hour
//	keep.go     what outlives the agent: faults, and which GPUs there are
package gpu

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Source is where a node's GPUs are seen. Its methods may be called from any
// goroutine and may take as long as a driver does, but not for ever.
type Source interface {
	// Inventory lists the GPUs in PCI order, with the verdict on each and whether it
	// is idle.
	Inventory() []model.Device
	// Samples tells what each of them measured last.
	Samples() []model.Sample
	// Check looks who is on GPUs. What ended before the call is not seen any more.
	Check(gpus []model.GPUID) []Verdict
	// Changed yields whenever the inventory may have changed by itself.
	Changed() <-chan struct{}
	// Run looks at the GPUs until the context ends. It is called once; before, the
	// answers are as of the start.
	Run(ctx context.Context, owner Owner)
}

// Owner is for whom GPUs are watched: the agent. Its methods may be called from any
// goroutine.
type Owner interface {
	// Mine says that a process on a GPU belongs to one of Berth's ranks, or to the
	// service that has the GPU. Every other that computes there is a stranger.
	Mine(pid int, on model.GPUID) bool
	// Holder names the rank that was given the GPU and has not ended; empty: there is
	// none.
	Holder(gpu model.GPUID) string
}

// History is a source's memory.
type History interface {
	// History lists what each GPU has measured since an instant, in PCI order. It goes
	// back Remembered, or to the start of the source.
	History(since time.Time) []Track
	// Warnings are what is odd about GPUs and wrong with none.
	Warnings() []Warning
}

// Track is what a GPU has measured.
type Track struct {
	Device model.Device
	Points []Point // one a second, the oldest first
}

// Warning is something that the owner of a GPU may want to know.
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

// Clean says that nothing of an owner is left on the GPU.
func (v Verdict) Clean() bool { return v.Known && !v.Busy && len(v.Processes) == 0 }
