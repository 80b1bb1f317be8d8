package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/node"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/judge"
	"github.com/berth-gpu/berth/node/gpu/nvml"
	"github.com/berth-gpu/berth/node/gpu/simgpu"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner/devices"
	"github.com/berth-gpu/berth/node/runner/process"
)

// Where GPUs come from, beside "sim:N".
const (
	gpusAuto = "auto"
	gpusNVML = "nvml"
)

// gpuFlags say where an agent's GPUs come from, and when one is bad.
type gpuFlags struct {
	from     string
	simulate int // how many; 0: they are real
	hot      int16
	xids     map[string]string
}

func (g *gpuFlags) bind(to *pflag.FlagSet) {
	to.StringVar(&g.from, "gpus", gpusAuto, "where GPUs come from: nvml (the NVIDIA driver), sim:`N`, or auto: nvml, and an error without a driver")
	to.IntVar(&g.simulate, "simulate-gpus", 0, "`number` of GPUs to simulate, 1 to 64; the same as --gpus sim:N")
	to.Int16Var(&g.hot, "gpu-hot", judge.Defaults().Hot, "`°C` above which a GPU is degraded; 10 more quarantine it")
	to.StringToStringVar(&g.xids, "xid", nil, "what Xid codes mean, `CODE=CLASS,...`: ignore, application, reset, quarantine or restart")
}

// check reads the flags.
func (g *gpuFlags) check() error {
	if n, is := strings.CutPrefix(g.from, "sim:"); is {
		number, err := strconv.Atoi(n)
		if err != nil || number < 1 || number > simgpu.MaxGPUs {
			return usage("--gpus sim:N: N must be 1 to %d", simgpu.MaxGPUs)
		}
		g.simulate = number
	} else if g.from != gpusAuto && g.from != gpusNVML {
		return usage("--gpus must be auto, nvml or sim:N, not %q", g.from)
	}
	if g.simulate < 0 || g.simulate > simgpu.MaxGPUs {
		return usage("--simulate-gpus must be 1 to %d", simgpu.MaxGPUs)
	}
	if g.from == gpusNVML && g.simulate > 0 {
		return usage("--gpus nvml and --simulate-gpus contradict each other: give one of them")
	}
	_, err := g.judge()
	return err
}

// judge is how strict verdicts are.
func (g *gpuFlags) judge() (judge.Config, error) {
	c := judge.Defaults()
	c.Hot, c.Critical, c.Xids = g.hot, g.hot+10, map[uint64]judge.Class{}
	for code, name := range g.xids {
		n, err := strconv.ParseUint(code, 10, 64)
		class, known := judge.ClassOf(name)
		if err != nil || !known {
			return c, usage("--xid %s=%s: give a number and ignore, application, reset, quarantine or restart", code, name)
		}
		c.Xids[n] = class
	}
	if err := c.Check(); err != nil {
		return c, usage("--gpu-hot: %w", err)
	}
	return c, nil
}

// open finds the GPUs of a node.
func (g *gpuFlags) open(dir, boot string, log *slog.Logger) (*gpu.Monitor, error) {
	o := gpu.Options{Boot: boot, Log: log, File: filepath.Join(dir, "gpu-health.json")}
	var err error
	if o.Judge, err = g.judge(); err != nil {
		return nil, err
	}
	if g.simulate > 0 {
		o.Probe, err = simgpu.Find(filepath.Join(dir, "simulated-gpus.json"), g.simulate)
	} else {
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

// guard keeps jobs from the devices of GPUs that are not theirs; simulated GPUs have
// none.
func (g *gpuFlags) guard() process.Guard {
	if g.simulate > 0 {
		return nil
	}
	return devices.Guard{Kernel: devices.Host()}
}

// present says why there are no real GPUs here. A driver that is there and in trouble,
// or that does not answer, counts as one: it may get well.
func present(p *nvml.Probe) error {
	listed := make(chan error, 1)
	go func() {
		_, err := p.List()
		listed <- err
	}()
	select {
	case err := <-listed:
		if errors.Is(err, nvml.ErrMissing) {
			return fmt.Errorf("no GPUs: NVML: %w: give --gpus sim:8 to try Berth without any", err)
		}
	case <-time.After(10 * time.Second):
	}
	return nil
}

// machine is what names the hardware. That of simulated GPUs is their data folder:
// several of them may be on one host.
func (g *gpuFlags) machine(j *journal.Journal) (string, error) {
	if g.simulate > 0 {
		return "simulated-" + j.Lineage(), nil
	}
	return node.MachineID()
}
