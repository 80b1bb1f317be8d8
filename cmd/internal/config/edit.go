package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Edit returns the text of a file of settings with other values, and the names of the settings that change. The values are a document
// of lines NAME: VALUE, such as backup.dir: /var/backups/berth; null removes a setting. Comments and other settings stay.
func Edit(name string, text, values []byte) (out []byte, changed []string, err error) {
	doc, err := mapping(name, text)
	if err != nil {
		return nil, nil, err
	}
	given, err := mapping("the given settings", values)
	if err != nil {
		return nil, nil, err
	}
	known, reader := newTable(New().Settings()), &file{name: "the given settings"}
	reader.each(given.Content[0], func(key string, at, value *yaml.Node) {
		if !known.has(key) {
			reader.report(at, "there is no setting %s%s", key, known.meant(key))
			return
		}
		plain(value)
		was, err := put(doc.Content[0], strings.Split(key, "."), value)
		if err != nil {
			reader.report(at, "%s: %v", key, err)
		}
		if was {
			changed = append(changed, key)
		}
	})
	if err := errors.Join(reader.problems...); err != nil || len(changed) == 0 {
		return text, nil, err
	}
	var b bytes.Buffer
	to := yaml.NewEncoder(&b)
	to.SetIndent(2)
	err = errors.Join(to.Encode(doc), to.Close())
	return b.Bytes(), changed, err
}

// mapping returns a document that is a mapping, or empty.
func mapping(name string, text []byte) (*yaml.Node, error) {
	f := &file{name: name}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: is larger than %d bytes", name, maxFile)
	}
	doc := &yaml.Node{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(doc); {
	case errors.Is(err, io.EOF): // only comments, which the library does not return
		head := strings.TrimRight(string(text), "\n")
		return &yaml.Node{Kind: yaml.DocumentNode, HeadComment: head, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}, nil
	case err != nil:
		f.syntax(err)
		return nil, errors.Join(f.problems...)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: a second document follows the first; leave one", name)
	}
	root := doc.Content[0]
	if root.Tag == "!!null" {
		*root = yaml.Node{Kind: yaml.MappingNode, HeadComment: root.HeadComment, FootComment: root.FootComment}
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: must be NAME: VALUE lines", name)
	}
	return doc, nil
}

// put gives a value to the setting with a path in a section, and reports whether that changes something. null removes the setting.
func put(section *yaml.Node, path []string, value *yaml.Node) (changed bool, err error) {
	at := -1
	for i := 0; i+1 < len(section.Content); i += 2 {
		if section.Content[i].Value == path[0] {
			at = i
		}
	}
	gone := value.Tag == "!!null"
	switch {
	case at < 0 && gone:
		return false, nil
	case at < 0:
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: path[0]}
		section.Style = 0 // {} has room for no lines
		if len(path) == 1 {
			section.Content = append(section.Content, key, value)
			return true, nil
		}
		inner := &yaml.Node{Kind: yaml.MappingNode}
		section.Content = append(section.Content, key, inner)
		return put(inner, path[1:], value)
	}
	old := section.Content[at+1]
	switch {
	case len(path) > 1 && old.Tag == "!!null":
		if gone {
			return false, nil
		}
		old.Kind, old.Tag, old.Value = yaml.MappingNode, "", ""
		return put(old, path[1:], value)
	case len(path) > 1 && old.Kind != yaml.MappingNode:
		return false, fmt.Errorf("%s in line %d is no section", path[0], old.Line)
	case len(path) > 1:
		return put(old, path[1:], value)
	case gone:
		section.Content = slices.Delete(section.Content, at, at+2)
		return true, nil
	case alike(old, value):
		return false, nil
	}
	value.HeadComment, value.LineComment, value.FootComment = old.HeadComment, old.LineComment, old.FootComment
	section.Content[at+1] = value
	return true, nil
}

// alike reports whether two values mean the same: numbers and switches are compared as they are written, since settings are read so.
func alike(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, alike)
}

// plain removes the style of a value, which may come from JSON.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}
