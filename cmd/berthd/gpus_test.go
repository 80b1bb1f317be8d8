package main

import (
	"errors"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/node/gpu/nvml"
	"github.com/berth-gpu/berth/test/childtest"
)

// Without a driver an agent says what else can be done.
func TestAgentWithoutADriver(t *testing.T) {
	if _, err := nvml.New(nvml.Options{}).List(); !errors.Is(err, nvml.ErrMissing) {
		t.Skip("needs a host without an NVIDIA driver")
	}
	oneLineOf(t, childtest.Start(t, agentOf(t, "--simulate-gpus", "0")...), cli.ExitFailure, "NVML")
}

// GPUs can be asked for in two ways, and judged otherwise than by default.
func TestAgentSimulates(t *testing.T) {
	childtest.Start(t, agentOf(t, "--simulate-gpus", "0", "--gpus", "sim:3", "--xid", "63=reset", "--gpu-hot", "90")...).Line(t, "simulated_gpus=3")
}
