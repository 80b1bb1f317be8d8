package workload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The types of workloads.
const (
	Training  = "training"
	Inference = "inference"
	Embedding = "embedding"
	OCR       = "ocr"
	Graph     = "graph_processing"
	Generic   = "generic"
)

// Types returns the types of workloads.
func Types() []string { return []string{Training, Inference, Embedding, OCR, Graph, Generic} }

// Default is the assumptions for a type of workload without further data.
type Default struct {
	MemoryMB int64 `yaml:"default_memory_mb"` // of each GPU; 1 to 16,777,216
	Priority int64 `yaml:"default_priority"`  // 1 to 10
	GPUs     int64 `yaml:"gpus"`              // the least that is proposed; 1 to 1,024

	given map[string]bool // which of these were given, by their names
}

// Given returns the values that were given; those that are only standard are 0.
func (v Default) Given() (out Default) {
	if v.given["default_memory_mb"] {
		out.MemoryMB = v.MemoryMB
	}
	if v.given["default_priority"] {
		out.Priority = v.Priority
	}
	if v.given["gpus"] {
		out.GPUs = v.GPUs
	}
	return out
}

// Defaults are those of all types.
type Defaults map[string]Default

// StandardDefaults returns the values in force without a file.
func StandardDefaults() Defaults {
	return Defaults{
		Training:  {MemoryMB: 16384, Priority: 5, GPUs: 1},
		Inference: {MemoryMB: 8192, Priority: 6, GPUs: 1},
		Embedding: {MemoryMB: 4096, Priority: 5, GPUs: 1},
		OCR:       {MemoryMB: 4096, Priority: 5, GPUs: 1},
		Graph:     {MemoryMB: 16384, Priority: 5, GPUs: 1},
		Generic:   {MemoryMB: 8192, Priority: 5, GPUs: 1},
	}
}

// ReadDefaults parses a YAML document with the differences from [StandardDefaults] for some types,
// perhaps below workload_defaults. Its error joins one for each fault, with the line.
func ReadDefaults(data []byte) (Defaults, error) {
	out := StandardDefaults()
	var root yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&root); errors.Is(err, io.EOF) {
		return out, nil
	} else if err != nil {
		return nil, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) { // also one that cannot be parsed
		return nil, errors.New("it holds more than one document: keep one")
	}
	top := root.Content[0]
	if top.Kind == yaml.MappingNode && len(top.Content) == 2 && top.Content[0].Value == "workload_defaults" {
		top = top.Content[1]
	}
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: must map types of workloads to their defaults", top.Line)
	}
	if err := out.read(top); err != nil {
		return nil, err
	}
	return out, nil
}

// read reads a mapping of types.
func (d Defaults) read(n *yaml.Node) error {
	var wrong []error
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name, known := TypeNamed(key.Value)
		switch {
		case !known:
			wrong = append(wrong, fmt.Errorf("line %d: there is no type of workload %q: use %s", key.Line, key.Value, strings.Join(Types(), ", ")))
			continue
		case seen[name]:
			wrong = append(wrong, fmt.Errorf("line %d: %s is given twice", key.Line, name))
			continue
		}
		seen[name] = true
		v := d[name]
		wrong = append(wrong, v.read(value))
		d[name] = v
	}
	return errors.Join(wrong...)
}

// read reads a mapping of a type's values.
func (v *Default) read(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: must map default_memory_mb, default_priority or gpus to numbers", n.Line)
	}
	var wrong []error
	v.given = map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		var to *int64
		var most int64
		switch key.Value {
		case "default_memory_mb":
			to, most = &v.MemoryMB, 1<<24
		case "default_priority":
			to, most = &v.Priority, 10
		case "gpus":
			to, most = &v.GPUs, 1024
		default:
			wrong = append(wrong, fmt.Errorf("line %d: there is no setting %q: use default_memory_mb, default_priority or gpus", key.Line, key.Value))
			continue
		}
		if value.Tag != "!!int" || value.Decode(to) != nil || *to < 1 || *to > most || v.given[key.Value] {
			wrong = append(wrong, fmt.Errorf("line %d: %s must be a whole number from 1 to %d, given once", key.Line, key.Value, most))
		}
		v.given[key.Value] = true
	}
	return errors.Join(wrong...)
}

// TypeNamed returns the type of a name, in which - stands for _; an empty name is generic. false:
// there is no such type.
func TypeNamed(name string) (string, bool) {
	if name == "" {
		return Generic, true
	}
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	return name, slices.Contains(Types(), name)
}
