// Package gpu says what a node must know of its GPUs: which there are, how they
// are, who is on them. Where that comes from is a Source: the driver's library, or
// the simulation in package simgpu.
package gpu

import "github.com/berth-gpu/berth/fsm/model"

// Source is where a node's GPUs are seen. Its methods may be called from any
// goroutine and may take as long as a driver does.
type Source interface {
	// Inventory lists the GPUs in PCI order, with their health as the hardware has
	// it, and whether each is idle.
	Inventory() []model.Device
	// Samples measures each of them.
	Samples() []model.Sample
	// Check looks who is on GPUs. What ended before the call is not seen any more.
	Check(gpus []model.GPUID) []Verdict
	// Changed yields whenever the inventory may have changed by itself.
	Changed() <-chan struct{}
}

// Verdict is what was found on one GPU.
type Verdict struct {
	GPU       model.GPUID
	Index     uint32 // in PCI order
	Known     bool   // the GPU is there
	Busy      bool   // memory is in use that no process accounts for
	Processes []model.Process
}

// Clean says that nothing of an owner is left on the GPU.
func (v Verdict) Clean() bool { return v.Known && !v.Busy && len(v.Processes) == 0 }
