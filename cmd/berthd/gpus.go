package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/node"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/judge"
	"github.com/berth-gpu/berth/node/gpu/nvml"
	"github.com/berth-gpu/berth/node/gpu/simgpu"
	"github.com/berth-gpu/berth/node/runner/devices"
	"github.com/berth-gpu/berth/node/runner/process"
)

// Values of the setting gpus other than "sim:N".
const (
	gpusAuto = "auto"
	gpusNVML = "nvml"
	gpusNone = "none"
)

// gpuSource is where an agent's GPUs come from, and the limits beyond which one is faulty.
type gpuSource struct {
	from     string
	simulate int // how many simulated GPUs; 0: the GPUs are real
	judge    judge.Config
}

// gpus reads the settings of an agent's GPUs.
func (h *holding) gpus() gpuSource {
	s := &h.Agent.GPUs
	g := gpuSource{from: s.From, simulate: s.Simulate, judge: judge.Defaults()}
	if n, is := strings.CutPrefix(g.from, "sim:"); is {
		number, err := strconv.Atoi(n)
		if err != nil || number < 1 || number > simgpu.MaxGPUs {
			h.refuse("%s sim:N: N must be 1 to %d", h.At("agent.gpus"), simgpu.MaxGPUs)
		}
		if g.simulate != 0 && g.simulate != number {
			h.refuse("%s sim:%s and %s contradict each other: give one of them", h.At("agent.gpus"), n, h.At("agent.simulate_gpus"))
		}
		g.simulate = number
	} else if g.from != gpusAuto && g.from != gpusNVML && g.from != gpusNone {
		h.refuse("%s must be auto, nvml, none or sim:N, not %q", h.At("agent.gpus"), g.from)
	}
	if (g.from == gpusNVML || g.from == gpusNone) && g.simulate > 0 {
		h.refuse("%s %s and %s contradict each other: give one of them", h.At("agent.gpus"), g.from, h.At("agent.simulate_gpus"))
	}
	g.judge.Hot, g.judge.Critical, g.judge.Xids = s.Hot, s.Hot+10, map[uint64]judge.Class{}
	for _, code := range slices.Sorted(maps.Keys(s.Xids)) {
		n, err := strconv.ParseUint(code, 10, 64)
		class, known := judge.ClassOf(s.Xids[code])
		if err != nil || !known {
			h.refuse("%s %s=%s: give a number and ignore, application, reset, quarantine or restart", h.At("agent.xids"), code, s.Xids[code])
			continue
		}
		g.judge.Xids[n] = class
	}
	if err := g.judge.Check(); err != nil {
		h.refuse("%s: %w", h.At("agent.gpu_hot"), err)
	}
	return g
}

// open finds the GPUs of a node.
func (g *gpuSource) open(dir, boot string, log *slog.Logger) (*gpu.Monitor, error) {
	o := gpu.Options{Boot: boot, Log: log, File: filepath.Join(dir, "gpu-health.json"), Judge: g.judge}
	var err error
	switch {
	case g.simulate > 0:
		o.Probe, err = simgpu.Find(filepath.Join(dir, "simulated-gpus.json"), g.simulate)
	case g.from == gpusNone:
		o.Probe = gpu.None{}
	default:
		probe := nvml.New(nvml.Options{})
		if g.from == gpusAuto {
			err = present(probe)
		}
		o.Probe = probe
	}
	if err != nil {
		return nil, err
	}
	return gpu.NewMonitor(o)
}

// guard returns what keeps jobs from the devices of GPUs of other jobs; simulated GPUs have no
// devices.
func (g *gpuSource) guard() process.Guard {
	if g.simulate > 0 {
		return nil
	}
	return devices.Guard{Kernel: devices.Host()}
}

// present returns why there are no real GPUs here. A driver that fails or does not answer counts as
// present: it may recover.
func present(p *nvml.Probe) error {
	listed := make(chan error, 1)
	go func() {
		_, err := p.List()
		listed <- err
	}()
	select {
	case err := <-listed:
		if errors.Is(err, nvml.ErrMissing) {
			return fmt.Errorf("no GPUs: NVML: %w: set agent.gpus: none for a node that runs jobs without GPUs, or agent.gpus: sim:4 to try Berth (--gpus)", err)
		}
	case <-time.After(10 * time.Second):
	}
	return nil
}

// machine returns the hardware's id. For simulated GPUs that is the UUID of the first one, because
// several nodes may be on one host.
func (g *gpuSource) machine(gpus *gpu.Monitor) (string, error) {
	if list := gpus.Inventory(); g.simulate > 0 && len(list) > 0 {
		return "simulated-" + string(list[0].ID), nil
	}
	return node.MachineID()
}
