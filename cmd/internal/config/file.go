package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a file, in bytes.
const maxFile = 1 << 20

// file is the state of reading a file.
type file struct {
	name     string
	table    *table
	given    []given
	problems []error
	unread   []string // settings whose values cannot be parsed, under the names in the file
}

// given is a value that a layer gives to a setting.
type given struct {
	name  string // the name under which it is given
	where string // "berth.yaml:3: server.http", "PORT", "--http"
	texts []string
	node  *yaml.Node // of a part of a file
}

// readFile parses the text of a file. Its problems contain the line.
func readFile(name string, text []byte, t *table) *file {
	f := &file{name: name, table: t}
	if len(text) > maxFile {
		f.problems = []error{fmt.Errorf("%s: is larger than %d bytes", name, maxFile)}
		return f
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return f // only comments
	}
	if err == nil {
		if more := d.Decode(new(yaml.Node)); !errors.Is(more, io.EOF) {
			err = errors.New("yaml: a second document follows the first; leave one")
		}
	}
	if err != nil {
		f.syntax(err)
		return f
	}
	f.section("", doc.Content[0])
	return f
}

// section reads the settings whose names begin with a prefix.
func (f *file) section(prefix string, n *yaml.Node) {
	switch {
	case n.Tag == "!!null": // the section holds only comments
		return
	case n.Kind != yaml.MappingNode:
		f.report(n, "%s must be a section: NAME: VALUE lines, indented", cmp.Or(strings.TrimSuffix(prefix, "."), "the file"))
		return
	}
	f.each(n, func(key string, at, value *yaml.Node) {
		name := prefix + key
		switch {
		case f.table.has(name):
			f.leaf(name, at, value)
		case f.table.sections[name]:
			f.section(name+".", value)
		default:
			f.report(at, "there is no setting %s%s", name, f.table.meant(name))
		}
	})
}

// leaf records the value of a setting.
func (f *file) leaf(name string, at, value *yaml.Node) {
	g := given{name: name, where: fmt.Sprintf("%s:%d: %s", f.name, at.Line, name), node: value}
	form := f.table.shapeOf(name)
	if form != isPart {
		if value.Tag == "!!null" {
			f.report(at, "%s has no value: give it one, or leave the line out", name)
			f.unread = append(f.unread, name)
			return
		}
		var err error
		if g.texts, err = textsOf(value, form); err != nil {
			f.report(value, "%s %v", name, err)
			f.unread = append(f.unread, name)
			return
		}
		if f.blank(name, value, form, g.texts) {
			f.report(value, "%s is empty: give it a value, or leave the line out", name)
			f.unread = append(f.unread, name)
			return
		}
	}
	f.given = append(f.given, g)
}

// blank reports whether a value holds nothing where something is needed: an item of a list, a
// name of a pair, or a text that is not empty by default.
func (f *file) blank(name string, value *yaml.Node, form shape, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		switch {
		case form == isPairs && value.Kind == yaml.MappingNode:
			return strings.HasPrefix(strings.TrimSpace(text), "=")
		case value.Kind == yaml.SequenceNode:
			return strings.TrimSpace(text) == ""
		}
		row := f.table.row(name)
		return strings.TrimSpace(text) == "" && row != nil && row.Value.Text() != ""
	})
}

// textsOf converts a value of a file to texts.
func textsOf(n *yaml.Node, form shape) (out []string, err error) {
	switch {
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}, nil
	case form == isScalar:
		return nil, errors.New("must be one value, not a list or a section")
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return nil, errors.New("must be a list of single values")
			}
			out = append(out, item.Value)
		}
		return out, nil
	case form == isList:
		return nil, errors.New("must be a list: [a, b]")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			return nil, errors.New("must be NAME: VALUE lines")
		}
		out = append(out, k.Value+"="+v.Value)
	}
	return out, nil
}

// each visits the entries of a mapping and refuses duplicates.
func (f *file) each(n *yaml.Node, visit func(key string, at, value *yaml.Node)) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		at, value := n.Content[i], n.Content[i+1]
		switch line, twice := lines[at.Value]; {
		case at.Kind != yaml.ScalarNode:
			f.report(at, "a name must be one word")
		case at.Tag == "!!merge" || at.Alias != nil || value.Kind == yaml.AliasNode:
			f.report(at, "%s: anchors are not supported: write the value itself", at.Value)
		case twice:
			f.report(at, "%s is a duplicate of line %d: leave one of them", at.Value, line)
		default:
			lines[at.Value] = at.Line
			visit(at.Value, at, value)
		}
	}
}

// report records a problem at a place.
func (f *file) report(n *yaml.Node, format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf("%s:%d: %s", f.name, n.Line, fmt.Sprintf(format, args...)))
}

// syntax records an error of the YAML library, which has its lines in its text.
func (f *file) syntax(err error) {
	lineOf := regexp.MustCompile(`^(?:yaml: )?line (\d+): `) // here, because a program that starts often has no such error
	texts := []string{err.Error()}
	if wrong, is := errors.AsType[*yaml.TypeError](err); is {
		texts = slices.Clone(wrong.Errors)
	}
	for _, text := range texts {
		if strings.HasSuffix(text, "found character that cannot start any token") {
			text += ": indent with spaces, not tabs"
		}
		if strings.HasPrefix(text, "yaml: found ") || strings.HasPrefix(text, "yaml: did not find ") { // the library leaves the first line out
			text = "line 1: " + strings.TrimPrefix(text, "yaml: ")
		}
		if at := lineOf.FindStringSubmatch(text); at != nil {
			f.problems = append(f.problems, fmt.Errorf("%s:%s: %s", f.name, at[1], text[len(at[0]):]))
			continue
		}
		f.problems = append(f.problems, fmt.Errorf("%s: %s", f.name, strings.TrimPrefix(text, "yaml: ")))
	}
}

// InOrder joins errors by the lines of the file that they contain; errors without a line come
// first.
func InOrder(errs ...error) error {
	type placed struct {
		error

		line int
	}
	each := Each(errors.Join(errs...))
	if len(each) == 0 {
		return nil
	}
	placeOf := regexp.MustCompile(`:(\d+): `) // the line in an error of this package
	var all []placed
	for _, err := range each {
		p := placed{error: err}
		if at := placeOf.FindStringSubmatch(err.Error()); at != nil {
			p.line, _ = strconv.Atoi(at[1]) // digits; too many sort first
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.line, b.line) })
	out := make([]error, len(all))
	for i := range all {
		out[i] = all[i].error
	}
	return errors.Join(out...)
}

// Each returns the errors that are joined in one.
func Each(err error) (all []error) {
	if err == nil {
		return nil
	}
	many, is := err.(interface{ Unwrap() []error })
	if !is {
		return []error{err}
	}
	for _, one := range many.Unwrap() {
		all = append(all, Each(one)...)
	}
	return all
}
