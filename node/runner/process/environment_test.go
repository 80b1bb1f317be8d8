package process

import (
	"slices"
	"testing"

	"github.com/berth-gpu/berth/node/runner"
)

// Parts of GPUs have no place of their own; CUDA takes them by name.
func TestPartsOfGPUsAreNamed(t *testing.T) {
	got := devices([]runner.GPU{{ID: "MIG-a", Index: 0}, {ID: "MIG-b", Index: 0}})
	if !slices.Contains(got, "CUDA_VISIBLE_DEVICES=MIG-a,MIG-b") {
		t.Errorf("the job finds %q", got)
	}
}

// A rank without GPUs sees none, whatever the host has: CUDA takes an unset list for all GPUs, and an empty one for none.
func TestNoGPUsInTheEnvironment(t *testing.T) {
	got := devices(nil)
	for _, want := range []string{"CUDA_VISIBLE_DEVICES=", "BERTH_GPU_UUIDS=", "NVIDIA_VISIBLE_DEVICES=void"} {
		if !slices.Contains(got, want) {
			t.Errorf("%v lacks %s", got, want)
		}
	}
	if with := devices([]runner.GPU{{ID: "GPU-a"}}); slices.Contains(with, "NVIDIA_VISIBLE_DEVICES=void") {
		t.Errorf("a rank with a GPU has %v", with)
	}
}
