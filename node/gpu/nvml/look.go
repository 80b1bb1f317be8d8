//go:build linux && cgo

package nvml

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// Look measures a GPU. A value whose call fails is unknown, and no trouble as long as the GPU is there:
// models and drivers differ in what they report. Only memory and processes are required.
func (p *Probe) Look(id model.GPUID, _ time.Time) gpu.Look {
	var l gpu.Look
	if err := p.start(); err != nil {
		l.Trouble, l.Detail = judge.TroubleError, err.Error()
		return l
	}
	p.mu.Lock()
	u := p.units[id]
	l.Xids = p.xids[id]
	delete(p.xids, id)
	if u != nil {
		p.blame.fill(u.pci, l.Xids)
	}
	p.mu.Unlock()
	if u == nil {
		l.Trouble, l.Detail = judge.TroubleLost, "the driver does not list it"
		return l
	}
	r := reader{Probe: p, unit: u, look: &l}
	r.measure()
	r.health()
	r.users()
	return l
}

// reader fills a look in.
type reader struct {
	*Probe
	*unit

	look *gpu.Look
}

// ok reports whether a call succeeded, and notes when the GPU is in trouble.
func (r *reader) ok(ret nvml.Return) bool {
	trouble := judge.TroubleNone
	switch {
	case good(ret):
		return true
	case errors.Is(ret, nvml.ERROR_GPU_IS_LOST), errors.Is(ret, nvml.ERROR_GPU_NOT_FOUND):
		trouble = judge.TroubleLost
	case errors.Is(ret, nvml.ERROR_RESET_REQUIRED):
		trouble = judge.TroubleReset
	}
	r.trouble(trouble, ret)
	return false
}

// must is ok for a required call, whose failure is trouble.
func (r *reader) must(ret nvml.Return) bool {
	if !r.ok(ret) {
		r.trouble(judge.TroubleError, ret)
		return false
	}
	return true
}

func (r *reader) trouble(t judge.Trouble, ret nvml.Return) {
	if t > r.look.Trouble {
		r.look.Trouble, r.look.Detail = t, ret.Error()
	}
}

// measure reads what changes all the time. A part has a memory of its own; the rest is the whole GPU's, and
// the utilization of a part is not measured.
func (r *reader) measure() {
	at := &r.look.Point
	at.Unmeasured = true
	if !r.part() {
		if rates, ret := r.whole.GetUtilizationRates(); r.ok(ret) {
			at.Utilization, at.MemoryBusy, at.Unmeasured = percent(rates.Gpu), percent(rates.Memory), false
		}
	}
	if celsius, ret := r.whole.GetTemperature(nvml.TEMPERATURE_GPU); r.ok(ret) {
		at.Temperature = int16(min(celsius, 1000))
		r.look.Temperature = at.Temperature
	}
	if milliwatts, ret := r.whole.GetPowerUsage(); r.ok(ret) {
		at.PowerWatts = milliwatts / 1000
	}
	if mhz, ret := r.whole.GetClockInfo(nvml.CLOCK_SM); r.ok(ret) {
		at.ClockMHz = mhz
	}
	if mhz, ret := r.whole.GetClockInfo(nvml.CLOCK_MEM); r.ok(ret) {
		at.MemoryMHz = mhz
	}
}

func percent(n uint32) uint8 { return uint8(min(n, 100)) }

// health reads the faults of the GPU.
func (r *reader) health() {
	at := &r.look.Point
	if n, ret := r.whole.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC); r.ok(ret) {
		at.Corrected = n
	}
	if n, ret := r.whole.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); r.ok(ret) {
		at.Uncorrected = n
		r.look.Uncorrected = n
	}
	if r.has("nvmlDeviceGetRemappedRows") {
		if _, _, pending, failed, ret := r.whole.GetRemappedRows(); r.ok(ret) {
			r.look.Remap = judge.Remap{Pending: pending, Failed: failed}
		}
	}
	if r.has("nvmlDeviceGetFieldValues") {
		values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
		if ret := r.whole.GetFieldValues(values); r.ok(ret) {
			r.look.Recovery = recovery(values[0])
		}
	}
}

// recovery returns the driver's recommendation for a GPU.
func recovery(v nvml.FieldValue) judge.Recovery {
	if v.NvmlReturn != uint32(nvml.SUCCESS) || v.ValueType != uint32(nvml.VALUE_TYPE_UNSIGNED_INT) {
		return judge.RecoveryUnknown
	}
	switch nvml.DeviceGpuRecoveryAction(binary.NativeEndian.Uint32(v.Value[:])) {
	case nvml.GPU_RECOVERY_ACTION_NONE:
		return judge.RecoveryNone
	case nvml.GPU_RECOVERY_ACTION_GPU_RESET:
		return judge.RecoveryReset
	case nvml.GPU_RECOVERY_ACTION_NODE_REBOOT:
		return judge.RecoveryRestart
	case nvml.GPU_RECOVERY_ACTION_DRAIN_P2P:
		return judge.RecoveryDrainPeers
	case nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET:
		return judge.RecoveryDrain
	}
	return judge.RecoveryOther
}
