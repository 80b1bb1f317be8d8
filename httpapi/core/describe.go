package core

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Op starts the description of a route.
func Op(id, method, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary}
}

// jsonType is the media type of bodies.
const jsonType = "application/json"

// Example returns an operation with an example of its body, in JSON. The description shows it, and tests send it.
func Example(o huma.Operation, body string) huma.Operation {
	o.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{jsonType: {Example: json.RawMessage(body)}}}
	return o
}

// Raw is a body as it was sent. The inputs of operations with a body embed it.
type Raw struct{ RawBody []byte }

func (r *Raw) raw() []byte { return r.RawBody }

// withRaw is a pointer to an input that embeds Raw.
type withRaw[I any] interface {
	*I
	raw() []byte
}

// writeJSON writes an answer as JSON. It does not escape HTML: answers are not pages.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// AnsweredHere marks operations that change nothing although their method is not GET: any peer
// answers them itself.
const AnsweredHere = "answered here"

// LogOutput is an answer that writes itself.
type LogOutput struct{ Body func(huma.Context) }

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
func retell(ctx huma.Context, _ string, v any) (any, error) {
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
		if e.Message == unknownParameter {
			e.Message = strict.Unknown(field, "a parameter of this path", parametersOf(ctx.Operation()))
			field = strict.Clip(field)
		}
		f.Errors = append(f.Errors, wire.FieldDetail{Field: field, Message: e.Message})
	}
	return f.Problem, nil
}

// unknownParameter is the library's message about a parameter that an operation does not have.
const unknownParameter = "unknown query parameter"

// parametersOf returns the names of the parameters of an operation's query.
func parametersOf(o *huma.Operation) (out []string) {
	for _, p := range o.Parameters {
		if p.In == "query" {
			out = append(out, p.Name)
		}
	}
	slices.Sort(out)
	return out
}
