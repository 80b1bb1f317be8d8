//go:build linux && cgo

package nvml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/berth-gpu/berth/fsm/model"
)

// found is a GPU: itself, or its parts if it is divided.
type found struct {
	devices []model.Device
	units   []*unit
	wires   wires
}

// List returns the GPUs in PCI order. A divided one is left out; its parts are in its place. One without a
// readable identity, as when it has fallen off the bus, is left out, too: a caller that knew it before has to
// look at it.
func (p *Probe) List() ([]model.Device, error) {
	if err := p.start(); err != nil {
		return nil, err
	}
	count, ret := p.lib.DeviceGetCount()
	if !good(ret) {
		return nil, fmt.Errorf("counting the GPUs: %w", ret)
	}
	var all []found
	for i := range count {
		handle, ret := p.lib.DeviceGetHandleByIndex(i)
		if !good(ret) {
			continue
		}
		if f, ok := p.find(handle, i); ok {
			all = append(all, f)
		}
	}
	var out []model.Device
	units := map[model.GPUID]*unit{}
	for i, word := range connect(all) {
		for j, d := range all[i].devices {
			if !all[i].units[j].part() { // parts reach no other GPU by NVLink, nor each other
				d.Link = word
			}
			out = append(out, d)
			units[d.ID] = all[i].units[j]
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.units = units
	return out, nil
}

// find describes a GPU.
func (p *Probe) find(handle nvml.Device, index int) (f found, ok bool) {
	d, ok := describe(handle)
	if !ok {
		return f, false
	}
	pci, ret := handle.GetPciInfo()
	if good(ret) {
		d.PCI = text(pci.BusId[:])
	}
	d.Index, d.NUMA = uint32(index), p.numa(d.PCI)
	u := &unit{id: d.ID, handle: handle, whole: handle, wholeID: d.ID, instance: whole, pci: d.PCI}
	f.wires = p.wires(handle, d.PCI)
	if p.divided(handle) {
		f.devices, f.units = p.parts(d, u)
	} else {
		f.devices, f.units = []model.Device{d}, []*unit{u}
	}
	return f, true
}

// describe reads the properties of a GPU, or of a part of one.
func describe(handle nvml.Device) (d model.Device, ok bool) {
	id, ret := handle.GetUUID()
	if !good(ret) || !model.Name(strings.ReplaceAll(id, "/", "-")) {
		return d, false
	}
	d.ID = model.GPUID(id)
	if name, ret := handle.GetName(); good(ret) && model.Text(name, model.MaxName) {
		d.Model = name
	}
	if memory, ret := handle.GetMemoryInfo(); good(ret) {
		d.MemoryMB = megabytes(memory.Total)
	}
	return d, true
}

// divided reports whether a GPU is used in parts only.
func (p *Probe) divided(handle nvml.Device) bool {
	if !p.has("nvmlDeviceGetMigMode") || !p.has("nvmlDeviceGetMaxMigDeviceCount") {
		return false
	}
	current, _, ret := handle.GetMigMode()
	return good(ret) && current == nvml.DEVICE_MIG_ENABLE
}

// parts returns the parts of a divided GPU. They are where the GPU is.
func (p *Probe) parts(d model.Device, u *unit) (devices []model.Device, units []*unit) {
	count, ret := u.handle.GetMaxMigDeviceCount()
	if !good(ret) {
		return nil, nil
	}
	for i := range count {
		handle, ret := u.handle.GetMigDeviceHandleByIndex(i)
		if !good(ret) {
			continue // there are gaps
		}
		part, ok := describe(handle)
		if !ok {
			continue
		}
		part.Index, part.PCI, part.NUMA = d.Index, d.PCI, d.NUMA
		v := *u
		v.id, v.handle, v.instance = part.ID, handle, unknownInstance
		if instance, ret := handle.GetGpuInstanceId(); good(ret) {
			v.instance = instance
		}
		devices, units = append(devices, part), append(units, &v)
	}
	return devices, units
}

// whose returns the GPUs that an event of a GPU concerns: one part of it, if the event names a known one,
// otherwise all of its parts in use.
func (p *Probe) whose(id model.GPUID, instance uint32) (out []model.GPUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.units {
		if u.wholeID != id {
			continue
		}
		if u.part() && u.instance >= 0 && uint32(u.instance) == instance {
			return []model.GPUID{u.id}
		}
		out = append(out, u.id)
	}
	slices.Sort(out)
	return out
}

// text returns a C string that may fill its array.
func text(chars []int8) string {
	var out []byte
	for _, c := range chars {
		if c == 0 {
			break
		}
		out = append(out, byte(c))
	}
	if !model.Text(string(out), model.MaxName) {
		return ""
	}
	return string(out)
}

// megabytes returns bytes in MiB; a card has less than 4 PB.
func megabytes(bytes uint64) uint32 { return uint32(min(bytes>>20, 1<<32-1)) }
