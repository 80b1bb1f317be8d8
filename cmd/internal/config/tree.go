package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree is a value that is a part of a file of its own form.
type tree struct {
	to    any
	check func() error
}

// Tree is a part of a file that is read into what to points at, a type with yaml
// tags; check, if there is one, then says what of it is not allowed. It can be given
// in a file only.
func Tree(to any, check func() error) Value { return tree{to, check} }

func (v tree) Kind() string       { return "section" }
func (v tree) shape() shape       { return isTree }
func (v tree) Set([]string) error { return fmt.Errorf("can be given in a file only") }

func (v tree) Text() string {
	if reflect.ValueOf(v.to).Elem().IsZero() {
		return ""
	}
	var n yaml.Node
	if n.Encode(v.to) != nil {
		return ""
	}
	n.Style = yaml.FlowStyle
	out, err := yaml.Marshal(&n)
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// decode reads the part. Its errors tell their lines.
func (v tree) decode(f *file, n *yaml.Node) {
	before := len(f.problems)
	f.strict(n, reflect.TypeOf(v.to).Elem())
	if len(f.problems) > before {
		return
	}
	fresh := reflect.New(reflect.TypeOf(v.to).Elem())
	if err := n.Decode(fresh.Interface()); err != nil {
		f.syntax(err)
		return
	}
	reflect.ValueOf(v.to).Elem().Set(fresh.Elem())
	if v.check == nil {
		return
	}
	if err := v.check(); err != nil {
		f.report(n, "%v", err)
	}
}

// strict refuses names that a type does not have.
func (f *file) strict(n *yaml.Node, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.AliasNode:
		f.report(n, "anchors are not followed: write the value itself")
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, item := range n.Content {
			f.strict(item, t.Elem())
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Map:
		f.each(n, func(_ string, _, value *yaml.Node) { f.strict(value, t.Elem()) })
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		fields := fieldsOf(t)
		f.each(n, func(key string, at, value *yaml.Node) {
			i := slices.IndexFunc(fields, func(s reflect.StructField) bool { return nameOf(s) == key })
			if i >= 0 {
				f.strict(value, fields[i].Type)
				return
			}
			var known []string
			for _, s := range fields {
				known = append(known, nameOf(s))
			}
			f.report(at, "there is no %s here%s", key, meant(key, known))
		})
	}
}

func fieldsOf(t reflect.Type) (out []reflect.StructField) {
	for i := range t.NumField() {
		if s := t.Field(i); s.IsExported() {
			out = append(out, s)
		}
	}
	return out
}

func nameOf(s reflect.StructField) string {
	name, _, _ := strings.Cut(s.Tag.Get("yaml"), ",")
	if name == "" {
		name = strings.ToLower(s.Name)
	}
	return name
}
