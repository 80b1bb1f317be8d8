package config

import (
	"errors"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// part is a section of the file with a parser outside this package.
type part struct{ to *string }

// Part returns a value for a section of a file, which its reader gets as a document: each word
// stands in the same line as in the file, so that the reader's errors contain the file's lines. It
// can be given in a file only; an empty section counts as none.
func Part(to *string) Value { return part{to} }

func (v part) Kind() string       { return "section" }
func (v part) shape() shape       { return isPart }
func (v part) Set([]string) error { return errors.New("can be given in a file only") }

// Text returns the section in one line. Strings have no line breaks in it, see write.
func (v part) Text() string { return strings.ReplaceAll(*v.to, "\n", "") }

// read stores the section.
func (v part) read(f *file, n *yaml.Node) {
	if n.Tag == "!!null" || n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		*v.to = ""
		return
	}
	w := &partWriter{file: f, line: 1}
	if w.write(n); len(f.problems) == 0 {
		*v.to = w.text.String()
	}
}

// partWriter writes nodes in YAML's flow style, in which line breaks mean nothing.
type partWriter struct {
	file *file
	text strings.Builder
	line int
}

func (w *partWriter) write(n *yaml.Node) {
	for ; w.line < n.Line; w.line++ {
		w.text.WriteByte('\n')
	}
	switch n.Kind {
	case yaml.MappingNode:
		w.text.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			w.write(n.Content[i])
			w.text.WriteString(": ")
			w.write(n.Content[i+1])
			w.text.WriteString(", ")
		}
		w.text.WriteByte('}')
	case yaml.SequenceNode:
		w.text.WriteByte('[')
		for _, item := range n.Content {
			w.write(item)
			w.text.WriteString(", ")
		}
		w.text.WriteByte(']')
	case yaml.ScalarNode:
		w.text.WriteString(word(n))
	default:
		w.file.report(n, "anchors are not supported: write the value itself")
	}
}

// word formats a scalar with the same type and value. All but plain numbers and the like is quoted;
// Go's quotes are YAML's.
func word(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool":
		if n.Style == 0 {
			return n.Value
		}
	case "!!null":
		return "null"
	}
	return strconv.Quote(n.Value)
}
