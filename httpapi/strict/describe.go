package strict

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Field describes a field of a body.
type Field struct {
	Doc         string
	Least, Most int64 // bounds of a number; Most 0: it has none
}

// With returns the parser of a body whose fields a table describes, by name.
func (s Parser[T]) With(table map[string]Field) Parser[T] {
	s.table = table
	return s
}

// Describe adds to a schema of the type what may not be empty, and the descriptions of a table.
func (s Parser[T]) Describe(to *huma.Schema) {
	if to == nil {
		return
	}
	one := 1
	for name, f := range s.table { // order-free: each by itself
		p := to.Properties[name]
		if p.Description = f.Doc; f.Most > 0 {
			p.Minimum, p.Maximum = new(float64(f.Least)), new(float64(f.Most))
		}
	}
	for _, name := range s.names {
		p, tag := to.Properties[name], s.empty[name]
		switch {
		case p == nil:
		case p.Type == huma.TypeString && p.Format == "" && tag != "text":
			p.MinLength = &one
		case p.Type == huma.TypeArray && p.Items != nil:
			if tag == "never" {
				p.MinItems = &one
			}
			if p.Items.Type == huma.TypeString && tag != "items" {
				p.Items.MinLength = &one
			}
		}
	}
}

// boundsOf returns ", 1 to 10" for a field that is described with its bounds, else nothing: 1e9 is
// a whole number for the writer of the request.
func (s Parser[T]) boundsOf(name string) string {
	if f := s.table[name]; f.Most > 0 {
		return fmt.Sprintf(", %d to %d", f.Least, f.Most)
	}
	for f := range reflect.TypeFor[T]().Fields() {
		if of, _, _ := strings.Cut(f.Tag.Get("json"), ","); of != name {
			continue
		}
		if low, high := f.Tag.Get("minimum"), f.Tag.Get("maximum"); low != "" && high != "" {
			return ", " + low + " to " + high
		}
	}
	return ""
}
