package main

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/node/gpu/judge"
	"github.com/berth-gpu/berth/node/gpu/nvml"
	"github.com/berth-gpu/berth/test/childtest"
)

// Without a driver an agent says what else can be done.
func TestAgentWithoutADriver(t *testing.T) {
	if _, err := nvml.New(nvml.Options{}).List(); !errors.Is(err, nvml.ErrMissing) {
		t.Skip("needs a host without an NVIDIA driver")
	}
	oneLineOf(t, childtest.Start(t, agentOf(t, "--simulate-gpus", "0")...), cmdline.ExitFailure, "NVML")
}

// GPUs can be asked for in two ways, and judged otherwise than by default.
func TestAgentSimulates(t *testing.T) {
	childtest.Start(t, agentOf(t, "--simulate-gpus", "0", "--gpus", "sim:3", "--xid", "63=reset", "--gpu-hot", "90")...).Line(t, "simulated_gpus=3")
}

// An agent that is to have no GPUs starts without a driver, and its node lists none.
func TestAnAgentWithoutGPUs(t *testing.T) {
	g := gpuSource{from: gpusNone, judge: judge.Defaults()}
	m, err := g.open(t.TempDir(), "boot", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if list := m.Inventory(); len(list) != 0 {
		t.Errorf("it lists %v", list)
	}
	if id, err := g.machine(m); err != nil || id == "" {
		t.Errorf("the machine is %q: %v", id, err)
	}
}
