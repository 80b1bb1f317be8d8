package cli

import (
	"encoding/json"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/cmd/internal/config"
)

// printYAML writes the same names in the same order as JSON.
func printYAML(w io.Writer, answer any) error {
	data, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	var tree yaml.Node // JSON is YAML; read as a node it keeps the order of the names
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

// blockStyle removes the brackets and quotes of JSON where YAML does not need them.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && config.NeedsQuotes(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		blockStyle(child)
	}
}
