package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Error is the error of one field of a request.
type Error struct{ Field, Message string }

// Error returns both in one line.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

// data is the fields that are read of a service's own data. 0 stands for a missing value.
type data struct {
	shape
	batch, sequence float64
	precision       string
	optimizer       string
	checkpointing   bool // activations are computed again when they are needed
	tokens          float64
	epochs, steps   float64
	graph
	ignored []string
}

// graph is how large a graph is.
type graph struct{ vertices, edges, features float64 }

// Bounds of given values.
const (
	maxBatch    = 1e6
	maxSequence = 1e8
	maxTokens   = 1e18
	maxElements = 1e14
)

// readData reads the known fields of a service's data and lists the others.
func readData(kind string, in map[string]any) (*data, error) {
	d := &data{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if in[name] == nil {
			continue
		}
		known, err := d.take(kind, name, in[name])
		if err != nil {
			return nil, &Error{"workload_data." + name, err.Error()}
		}
		if !known {
			d.ignored = append(d.ignored, clip(name))
		}
	}
	if len(d.ignored) > 20 {
		d.ignored = append(d.ignored[:20], "…")
	}
	return d, nil
}

// take reads one field; false: it is not used here.
func (d *data) take(kind, name string, v any) (known bool, err error) {
	if to, most := d.number(name); to != nil {
		n, is := v.(float64)
		if !is || !(n >= 1 && n <= most) {
			return true, fmt.Errorf("must be a number from 1 to %g", most)
		}
		*to = math.Round(n)
		return true, nil
	}
	switch name {
	case "model_size", "parameters", "parameter_count":
		s, err := sized(kind, v)
		if err == nil && d.parameters > 0 && d.parameters != s.parameters {
			return true, fmt.Errorf("differs from another field with the model's size: give one of them")
		}
		d.shape = s
		return true, err
	case "precision", "dtype":
		d.precision, err = oneOf(v, map[string]string{
			"float32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float8": "fp8",
		}, "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int4")
		return true, err
	case "optimizer":
		d.optimizer, err = oneOf(v, map[string]string{"adamw_8bit": "adamw8bit", "adam_8bit": "adam8bit", "sgd_momentum": "momentum"},
			"adam", "adamw", "adam8bit", "adamw8bit", "momentum", "sgd", "adafactor")
		return true, err
	case "activation_checkpointing", "gradient_checkpointing":
		is, ok := v.(bool)
		if !ok {
			return true, fmt.Errorf("must be true or false")
		}
		d.checkpointing = is
		return true, nil
	}
	return false, nil
}

// number returns where a number is stored, and its highest value; nil: the field is no number.
func (d *data) number(name string) (to *float64, most float64) {
	switch name {
	case "batch_size":
		return &d.batch, maxBatch
	case "sequence_length":
		return &d.sequence, maxSequence
	case "tokens", "dataset_tokens":
		return &d.tokens, maxTokens
	case "epochs":
		return &d.epochs, maxBatch
	case "steps":
		return &d.steps, maxElements
	case "nodes", "vertices":
		return &d.vertices, maxElements
	case "edges":
		return &d.edges, maxElements
	case "feature_dim":
		return &d.features, maxBatch
	}
	return nil, 0
}

// oneOf parses a name, which may have aliases.
func oneOf(v any, aliases map[string]string, names ...string) (string, error) {
	text, is := v.(string)
	text = strings.ReplaceAll(strings.ToLower(text), "-", "_")
	if also, found := aliases[text]; found {
		text = also
	}
	if !is || !slices.Contains(names, text) {
		return "", fmt.Errorf("must be one of %s", strings.Join(names, ", "))
	}
	return text, nil
}

// clip shortens a name of a client to a length for errors.
func clip(name string) string {
	const most = 64
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}
