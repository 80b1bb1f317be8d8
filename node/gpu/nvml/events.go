//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

const (
	listenFor = time.Second // in one call: how late the end of Watch may be
	maxXids   = 64          // kept of a GPU without looks
)

// Watch collects the Xids that GPUs report, and the processes that the kernel's log blames for them.
func (p *Probe) Watch(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.follow(ctx)
	}()
	for ctx.Err() == nil {
		if p.started() {
			p.listen(ctx)
		}
		select { // before the library is there, or after it has failed
		case <-ctx.Done():
		case <-time.After(listenFor):
		}
	}
	<-done
}

// listen receives events until the context ends or the library fails; it does when a GPU is lost, and a new
// listener then covers the others only.
func (p *Probe) listen(ctx context.Context) {
	set, ret := p.lib.EventSetCreate()
	if !good(ret) {
		return
	}
	defer func() { _ = set.Free() }() // what is left goes with the process
	heard := map[model.GPUID]bool{}
	for ctx.Err() == nil {
		p.register(set, heard)
		event, ret := set.Wait(uint32(listenFor / time.Millisecond))
		switch {
		case good(ret):
			p.note(event)
		case errors.Is(ret, nvml.ERROR_TIMEOUT):
		default:
			return
		}
	}
}

// register adds the GPUs without a registration.
func (p *Probe) register(set nvml.EventSet, heard map[model.GPUID]bool) {
	for id, handle := range p.wholes() {
		if heard[id] {
			continue
		}
		heard[id] = true
		_ = handle.RegisterEvents(nvml.EventTypeXidCriticalError, set) // one that has no events is read all the same
	}
}

func (p *Probe) wholes() map[model.GPUID]nvml.Device {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[model.GPUID]nvml.Device{}
	for _, u := range p.units {
		out[u.wholeID] = u.whole
	}
	return out
}

// note keeps an event for the next look at its GPU. A program may cause the same error over and over: it is
// reported once for each look.
func (p *Probe) note(e nvml.EventData) {
	if e.EventType != nvml.EventTypeXidCriticalError || e.Device == nil {
		return
	}
	id, ret := e.Device.GetUUID()
	if !good(ret) {
		return // the GPU is lost: its looks report that
	}
	ids := p.whose(model.GPUID(id), e.GpuInstanceId)
	p.mu.Lock()
	defer p.mu.Unlock()
	xid := judge.Xid{Code: e.EventData}
	for _, id := range ids {
		if len(p.xids[id]) < maxXids && !slices.Contains(p.xids[id], xid) {
			p.xids[id] = append(p.xids[id], xid)
		}
	}
}
