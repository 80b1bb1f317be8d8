package workload

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// rate is the peak rate of a GPU, in units of 10¹² operations a second, by its maker's data sheet
// without sparsity.
type rate struct {
	name              string // words of the model's name
	half, full, eight float64
}

// rates returns the rates of GPUs, of two names that contain one another the longer first.
func rates() []rate {
	return []rate{
		{"B200", 2250, 1125, 4500},
		{"GB200", 2500, 1250, 5000},
		{"GH200", 989, 494, 1979},
		{"H200", 989, 494, 1979},
		{"H100 PCIe", 756, 378, 1513},
		{"H100", 989, 494, 1979},
		{"A100", 312, 156, 624},
		{"L40S", 362, 183, 733},
		{"L40", 181, 90, 362},
		{"A40", 150, 75, 299},
		{"A10G", 70, 35, 140},
		{"A10", 125, 62, 250},
		{"L4", 121, 60, 242},
		{"V100S", 130, 16.4, 130},
		{"V100", 125, 15.7, 125},
		{"T4", 65, 8.1, 130},
		{"RTX 4090", 165, 83, 330},
		{"RTX 3090", 71, 36, 142},
	}
}

const (
	// reached is the part of the peak rate that is assumed to be reached.
	reached = 0.3
	// MaxDuration bounds the estimate.
	MaxDuration = 366 * 24 * time.Hour
	// Unknown is the estimate without any data.
	Unknown = time.Hour
)

// rateOf returns the peak rate of a GPU; false: it is not known, and that of an A100 is used.
func rateOf(gpu, precision string) (float64, bool) {
	found, known := rate{half: 312, full: 156, eight: 624}, false
	for _, r := range rates() {
		if gpu != "" && model.OfModel(r.name, gpu) {
			found, known = r, true
			break
		}
	}
	switch precision {
	case "fp32", "tf32":
		return found.full, known
	case "fp8", "int8":
		return found.eight, known
	}
	return found.half, known
}

// lasts returns how long a workload of known size takes: 6 operations a parameter and token for
// training, 2 for inference. 0: the amount of work is not known.
func lasts(kind string, d *data, gpu string, gpus float64) (time.Duration, string) {
	tokens := d.tokens * max(d.epochs, 1)
	if tokens == 0 {
		tokens = d.steps * d.batch * d.sequence
	}
	if tokens == 0 || d.parameters == 0 {
		return 0, ""
	}
	each := 2.0
	if kind == Training {
		each = 6
	}
	best, known := rateOf(gpu, d.precision)
	seconds := each * d.parameters * tokens / (gpus * best * 1e12 * reached)
	took := time.Duration(min(max(seconds, 1), MaxDuration.Seconds())) * time.Second
	as := gpu
	if !known {
		as = "an A100, since the speed of " + gpu + " is not known"
		if gpu == "" {
			as = "an A100"
		}
	}
	return took, fmt.Sprintf("%g operations for each of %s parameters and %s tokens, on %.0f GPUs at %.0f %% of %.0f·10¹² a second (as %s), take %s.",
		each, amount(d.parameters), amount(tokens), gpus, 100*reached, best, as, took)
}
