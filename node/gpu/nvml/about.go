//go:build linux && cgo

package nvml

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
)

// About describes the driver and the GPUs, for the search for a fault on a host.
func (p *Probe) About() (*About, error) {
	devices, err := p.List()
	if err != nil {
		return nil, err
	}
	out := &About{}
	if version, ret := p.lib.SystemGetDriverVersion(); good(ret) && model.Text(version, model.MaxName) {
		out.Driver = version
	}
	p.mu.Lock()
	units := make([]*unit, len(devices))
	for i, d := range devices {
		units[i] = p.units[d.ID]
	}
	p.mu.Unlock()
	for i, d := range devices {
		out.Cards = append(out.Cards, p.card(d, units[i]))
	}
	return out, nil
}

// card describes one GPU, or a part of one.
func (p *Probe) card(d model.Device, u *unit) Card {
	c := Card{ID: string(d.ID), Model: d.Model, PCI: d.PCI, MemoryMB: d.MemoryMB}
	if state, ret := u.whole.GetPersistenceMode(); good(ret) {
		c.Persistence = modeOf(state)
	}
	if state, _, ret := u.whole.GetEccMode(); good(ret) {
		c.ECC = modeOf(state)
	}
	list, ret := u.handle.GetComputeRunningProcesses()
	if !good(ret) {
		c.Err = fmt.Errorf("its processes cannot be listed: %w", ret)
		return c
	}
	r := &reader{look: &gpu.Look{}}
	for _, v := range list {
		r.add(v)
	}
	c.Processes = r.look.Processes
	return c
}

func modeOf(state nvml.EnableState) string {
	if state == nvml.FEATURE_ENABLED {
		return "on"
	}
	return "off"
}
