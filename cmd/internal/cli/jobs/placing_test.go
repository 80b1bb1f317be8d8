package jobs

import (
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// A job that got fewer GPUs than it asked for says so.
func TestFewerGPUsAreShown(t *testing.T) {
	j := wire.Job{GPUs: 8, MinGPUs: 2}
	if gpusOf(&j) != "8" || wants(&j) != "8 (at least 2)" {
		t.Errorf("waiting it shows %q and %q", gpusOf(&j), wants(&j))
	}
	j.AllocatedGPUs = make([]wire.GPURef, 4)
	if gpusOf(&j) != "4 of 8" || wants(&j) != "4 of 8 (at least 2)" {
		t.Errorf("running it shows %q and %q", gpusOf(&j), wants(&j))
	}
	j.AllocatedGPUs = make([]wire.GPURef, 8)
	if gpusOf(&j) != "8" {
		t.Errorf("with all it shows %q", gpusOf(&j))
	}
}
