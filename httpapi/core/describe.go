package core

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// describeBody adds to a schema of a parser's type what may not be empty, and the descriptions of the parser's table.
func describeBody[T any](s strict.Parser[T], to *huma.Schema) {
	if to == nil {
		return
	}
	one := 1
	for name, f := range s.Fields() { // order-free: each by itself
		p := to.Properties[name]
		if p.Description = f.Doc; f.Most > 0 {
			p.Minimum, p.Maximum = new(float64(f.Least)), new(float64(f.Most))
		}
	}
	for _, name := range s.Names() {
		p, tag := to.Properties[name], s.Empty(name)
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

// retell converts the library's own errors about parameters of a query or a path.
func retell(_ huma.Context, _ string, v any) (any, error) {
	theirs, is := v.(*huma.ErrorModel)
	if !is {
		return v, nil
	}
	f := problem.Refuse(wire.CodeInvalid, "a parameter is not allowed")
	switch {
	case theirs.Status >= http.StatusInternalServerError:
		f = problem.Usual(wire.CodeInternal)
	case theirs.Status == http.StatusBadRequest:
		f = problem.Refuse(wire.CodeMalformed, "the body is missing: send a JSON object")
	}
	f.Status = theirs.Status // it was already sent
	for _, e := range theirs.Errors {
		_, field, _ := strings.Cut(e.Location, ".") // after query, path or header
		f.Errors = append(f.Errors, wire.FieldDetail{Field: field, Message: e.Message})
	}
	return f.Problem, nil
}
