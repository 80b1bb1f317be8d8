package workload

import (
	"fmt"
	"math"
)

const (
	mib = 1 << 20
	// fixed is the memory of a process on each GPU before its work: the driver's context, and
	// workspaces of libraries.
	fixed = 1024 * mib
	// slack is the factor for the waste of allocators.
	slack = 1.1
	// vocabulary is the default number of a model's tokens.
	vocabulary = 32000
	// gnnLayers is how many layers' results of a graph are kept, in addition to its features.
	gnnLayers = 3
)

// need is the memory of a workload, in bytes.
type need struct {
	split float64 // spread over the GPUs
	each  float64 // of each GPU, for one sample of the batch
	batch float64 // samples a step; those that do not fit at once are processed in several turns
}

// perGPU returns what each of a number of GPUs must have, in MiB, for a number of samples at once.
func (n *need) perGPU(gpus, samples float64) float64 {
	return math.Ceil(((n.split/gpus+samples*n.each)*slack + fixed) / mib)
}

// bytesOf returns the bytes of a weight.
func bytesOf(precision string) float64 {
	switch precision {
	case "fp32", "tf32":
		return 4
	case "fp8", "int8":
		return 1
	case "int4":
		return 0.5625 // with a scale of 16 bits for 32 weights and more for layers that are not quantized
	}
	return 2
}

// stateBytes returns the bytes a parameter that training keeps: the weight, its gradient, the
// optimizer's state, and in mixed precision the weight again in 32 bits.
func stateBytes(precision, optimizer string) float64 {
	weights, gradients, master := 2.0, 2.0, 4.0
	if precision == "fp32" || precision == "tf32" {
		weights, gradients, master = 4, 4, 0
	}
	memory := 8.0 // Adam's two moments
	switch optimizer {
	case "adam8bit", "adamw8bit":
		memory = 2
	case "momentum":
		memory = 4
	case "sgd", "adafactor":
		memory = 0
	}
	return weights + gradients + master + memory
}

// trainingNeed returns the memory of training, and the reasons in words.
func trainingNeed(d *data) (need, []string) {
	states := stateBytes(d.precision, d.optimizer)
	wide := max(bytesOf(d.precision)/2, 1) // the formulas are of 16 bits
	activation, how := 34*d.layers*d.hidden*wide, "34·h bytes a token and layer"
	if d.checkpointing {
		activation, how = (2*d.layers+34)*d.hidden*wide, "2·h bytes a token and layer, because the rest is recomputed, and 34·h of one layer"
	}
	each := d.sequence*activation + 4*d.sequence*vocabulary*wide
	out := need{split: d.parameters * states, each: each, batch: d.batch}
	return out, []string{
		fmt.Sprintf("Training %s parameters in %s with %s keeps %g bytes a parameter (weights, gradients, optimizer): %s in all, spread over the GPUs.",
			amount(d.parameters), d.precision, d.optimizer, states, size(out.split)),
		fmt.Sprintf("One sequence of %s tokens through %g layers of width %.0f keeps %s of activations (%s).", amount(d.sequence), d.layers, d.hidden, size(each), how),
	}
}

// servingNeed returns the memory of inference: weights, the cache of attention for each sequence
// where text is generated, and the activations of one layer.
func servingNeed(kind string, d *data) (need, []string) {
	weights := d.parameters * bytesOf(d.precision)
	out := need{split: weights, batch: d.batch}
	why := []string{fmt.Sprintf("The weights of %s parameters in %s take %s.", amount(d.parameters), d.precision, size(weights))}
	if kind == Inference {
		wide := max(bytesOf(d.precision), 1)
		if d.precision == "int8" || d.precision == "int4" {
			wide = 2
		}
		cache := 2 * d.layers * d.hidden * d.sequence * d.batch * wide
		out.split += cache
		why = append(why, fmt.Sprintf("Keys and values of %s sequences of %s tokens take %s (2·layers·h bytes times %g a token, every head with its own).",
			amount(d.batch), amount(d.sequence), size(cache), wide))
	}
	working := 34 * d.sequence * d.hidden * d.batch
	out.split += working
	return out, append(why, fmt.Sprintf("The activations of one layer for the batch of %s take %s.", amount(d.batch), size(working)))
}

// graphNeed returns the memory of a graph of which vertices or edges are known.
func graphNeed(d *data) (need, []string) {
	edges := d.edges * 16
	features := d.vertices * d.features * bytesOf(d.precision) * (1 + 2*gnnLayers)
	return need{split: edges + features, batch: 1}, []string{
		fmt.Sprintf("%s edges of two 64-bit ids take %s; %s vertices with %g features, with the results and gradients of %d layers, %s.",
			amount(d.edges), size(edges), amount(d.vertices), d.features, gnnLayers, size(features)),
	}
}

// amount formats a number with a unit.
func amount(n float64) string {
	for _, u := range []struct {
		of   float64
		unit string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}} {
		if n >= u.of {
			return fmt.Sprintf("%.3g%s", n/u.of, u.unit)
		}
	}
	return fmt.Sprintf("%.0f", n)
}

// size formats a number of bytes in MB or GB of 1,024.
func size(bytes float64) string {
	if bytes < 1024*mib {
		return fmt.Sprintf("%.0f MB", math.Ceil(bytes/mib))
	}
	return fmt.Sprintf("%.1f GB", bytes/(1024*mib))
}
