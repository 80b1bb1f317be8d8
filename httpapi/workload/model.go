package workload

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Bounds of a model's parameters.
const (
	minParameters = 1e5
	maxParameters = 1e13
)

// shape is the dimensions of a transformer.
type shape struct {
	parameters float64
	layers     float64
	hidden     float64
	said       string // its source, in words
}

// headWidth is the width of an attention head, as in all models of the table.
const headWidth = 128

// classes returns the sizes that have names: for models that read pages or make embeddings, those
// of BERT; else those of Llama 2 and, for small, of GPT-3 XL.
func classes(kind string) map[string]shape {
	if kind == Embedding || kind == OCR {
		return map[string]shape{
			"small":  {33e6, 12, 384, "MiniLM-L12"},
			"medium": {110e6, 12, 768, "BERT base"},
			"large":  {340e6, 24, 1024, "BERT large"},
			"xl":     {1.3e9, 24, 2048, "GPT-3 XL"},
		}
	}
	return map[string]shape{
		"small":  {1.3e9, 24, 2048, "GPT-3 XL"},
		"medium": {7e9, 32, 4096, "Llama 2 7B"},
		"large":  {13e9, 40, 5120, "Llama 2 13B"},
		"xl":     {70e9, 80, 8192, "Llama 2 70B"},
	}
}

var errSize = errors.New(`must be small, medium, large, xl, or a number of parameters such as "7B", "350M" or 7e9, from 1e5 to 1e13`)

// sized returns the shape of a model of a size: a name, a number, or a text such as "7B".
func sized(kind string, v any) (shape, error) {
	n := 0.0
	switch v := v.(type) {
	case float64:
		n = v
	case string:
		text := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(v)), "-", "_")
		switch text {
		case "xlarge", "x_large", "extra_large":
			text = "xl"
		}
		if s, found := classes(kind)[text]; found {
			return s, nil
		}
		var err error
		if n, err = count(text); err != nil {
			return shape{}, errSize
		}
	default:
		return shape{}, errSize
	}
	if !(n >= minParameters && n <= maxParameters) {
		return shape{}, errSize
	}
	// N = 12 layers hidden², with layers = hidden/128 as in the models above.
	hidden := math.Cbrt(n * headWidth / 12)
	return shape{parameters: n, hidden: hidden, layers: max(1, math.Round(hidden/headWidth)), said: "its number of parameters"}, nil
}

// count parses "7B", "350m", "1.5t", "7e9" and "7000000000".
func count(text string) (float64, error) {
	factor := 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12} {
		if head, found := strings.CutSuffix(text, suffix); found {
			text, factor = strings.TrimSpace(head), f
			break
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, errSize
	}
	return n * factor, nil
}
