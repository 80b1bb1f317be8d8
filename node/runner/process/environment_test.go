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
