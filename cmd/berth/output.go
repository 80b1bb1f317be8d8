package main

import (
	"encoding/json"
	"io"

	"go.yaml.in/yaml/v3"
)

// checkOutput refuses a form that is not known before anything is asked.
func (c *connection) checkOutput() error {
	switch c.output {
	case "", "table", "json", "yaml":
		return nil
	}
	return usage("--output must be table, json or yaml, not %q", c.output)
}

// print writes an answer in the form that was asked for.
func (c *connection) print(w io.Writer, answer any, asTable func(io.Writer) error) error {
	switch c.output {
	case "json":
		e := json.NewEncoder(w)
		if !c.repeated {
			e.SetIndent("", "  ")
		}
		e.SetEscapeHTML(false)
		return e.Encode(answer)
	case "yaml":
		return printYAML(w, answer)
	}
	return asTable(w)
}

// printYAML writes the same names in the same order as JSON has them.
func printYAML(w io.Writer, answer any) error {
	data, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	var tree yaml.Node // JSON is YAML; reading it as such keeps the order of the names
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return err
	}
	blockStyle(&tree)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(&tree); err != nil {
		return err
	}
	return e.Close()
}

// blockStyle undoes the brackets and quotes that came from JSON, where YAML does
// not need them.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		blockStyle(child)
	}
}
