package listing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
)

// member is a field of a JSON object.
type member struct {
	name  string
	index []int // see [reflect.Value.FieldByIndex]
	omit  func(reflect.Value) bool
}

// members returns the fields of the JSON object of a struct, in order, with those of the structs that it embeds.
func members(t reflect.Type) (out []member) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for _, m := range members(f.Type) {
				m.index = append(slices.Clone(f.Index), m.index...)
				out = append(out, m)
			}
			continue
		case !f.IsExported() || name == "-" || name == "":
			continue
		}
		m := member{name: name, index: f.Index, omit: func(reflect.Value) bool { return false }}
		switch {
		case strings.Contains(options, "omitzero"):
			m.omit = isZero
		case strings.Contains(options, "omitempty"):
			m.omit = isEmpty
		}
		out = append(out, m)
	}
	return out
}

// isZero reports whether a value is left out with omitzero.
func isZero(v reflect.Value) bool {
	if z, is := v.Interface().(interface{ IsZero() bool }); is {
		return z.IsZero()
	}
	return v.IsZero()
}

// isEmpty reports whether a value is left out with omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

// names returns the JSON names of the fields of a struct.
func names(t reflect.Type) (out []string) {
	for _, m := range members(t) {
		out = append(out, m.name)
	}
	return out
}

// checkFields returns an error if a list names a field that the entries do not have.
func checkFields(list string, known []string) error {
	if list == "" {
		return nil
	}
	all, err := items(list)
	if err != nil {
		return problem.Invalid(paramFields, err.Error())
	}
	for _, name := range all {
		if !slices.Contains(known, name) {
			return problem.Invalid(paramFields, strict.Unknown(name, "a field of the entries", known))
		}
	}
	return nil
}

// Project is a transformer of answers: of a list whose request names fields, it returns an answer whose entries have these only.
func Project(ctx huma.Context, status string, v any) (any, error) {
	entry, is := ctx.Operation().Metadata[entryType].(reflect.Type)
	text := ctx.Query(paramFields)
	if !is || text == "" || status != "200" {
		return v, nil
	}
	list, err := items(text)
	if err != nil {
		return v, nil //nolint:nilerr // the handler has refused it
	}
	return &projection{body: reflect.Indirect(reflect.ValueOf(v)), entry: entry, only: list}, nil
}

// projection is an answer whose entries have some fields only.
type projection struct {
	body  reflect.Value
	entry reflect.Type
	only  []string
}

// MarshalJSON returns the answer.
func (p *projection) MarshalJSON() ([]byte, error) {
	inner := slices.DeleteFunc(members(p.entry), func(m member) bool { return !slices.Contains(p.only, m.name) })
	var out bytes.Buffer
	err := object(&out, p.body, members(p.body.Type()), func(v reflect.Value) error {
		if v.Kind() != reflect.Slice || v.Type().Elem() != p.entry {
			return write(&out, v)
		}
		out.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := object(&out, v.Index(i), inner, func(v reflect.Value) error { return write(&out, v) }); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	})
	return out.Bytes(), err
}

// object writes some fields of a struct as a JSON object.
func object(out *bytes.Buffer, v reflect.Value, fields []member, value func(reflect.Value) error) error {
	out.WriteByte('{')
	first := true
	for _, m := range fields {
		one := v.FieldByIndex(m.index)
		if m.omit(one) {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		fmt.Fprintf(out, "%q:", m.name)
		if err := value(one); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// write writes a value as JSON, without the escapes for HTML pages.
func write(out *bytes.Buffer, v reflect.Value) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v.Interface()); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the newline of the encoder
	return nil
}
