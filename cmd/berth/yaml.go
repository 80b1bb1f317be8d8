package main

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && notOnlyText(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		blockStyle(child)
	}
}

// notOnlyText reports whether a reader of YAML 1.1 or 1.2 may take a text without quotes for
// something else: a truth value (no, on, y), nothing (~), a merge (<<), a number (0o17, 1_000, 1:30,
// .inf) or a date. What begins as a number does is quoted even where it is none.
func notOnlyText(text string) bool {
	words := []string{"", "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "=", "<<"}
	if slices.Contains(words, strings.ToLower(text)) {
		return true
	}
	digits := strings.TrimLeft(text, "+-.")
	return digits == "" || digits[0] >= '0' && digits[0] <= '9' ||
		len(digits) < len(text) && slices.Contains([]string{"inf", "nan"}, strings.ToLower(digits))
}
