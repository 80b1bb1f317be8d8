package apitest

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/httpapi/auth"
)

// Operation is what the API's description says of one route.
type Operation struct {
	Method, Path string

	OperationID string
	Parameters  []Parameter
	RequestBody struct {
		Content map[string]struct {
			Schema  Schema
			Example json.RawMessage
		}
	}
	Responses map[string]any
}

// Parameter is a value in the path, the query or a header.
type Parameter struct {
	Name, In string
	Schema   Schema
}

// Schema is as much of a JSON schema as the description uses.
type Schema struct {
	Type       any    // a name, or several
	Ref        string `json:"$ref"`
	Enum       []any
	OneOf      []Schema
	Items      *Schema
	Properties map[string]Schema
	More       json.RawMessage `json:"additionalProperties"`
}

// Takes reports whether the operation has a parameter of a name.
func (o *Operation) Takes(name string) bool {
	return slices.ContainsFunc(o.Parameters, func(p Parameter) bool { return p.Name == name })
}

// Operations returns what the API's description says of all routes, by path and method, and the named schemas.
func Operations(s *Site) (all []Operation, schemas map[string]Schema) {
	s.T.Helper()
	var doc struct {
		Paths      map[string]map[string]Operation
		Components struct{ Schemas map[string]Schema }
	}
	if err := json.Unmarshal(s.Do(http.MethodGet, "/openapi.json", "", As(Adam)...).Body, &doc); err != nil {
		s.T.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			o := doc.Paths[path][method]
			o.Method, o.Path = strings.ToUpper(method), path
			all = append(all, o)
		}
	}
	return all, doc.Components.Schemas
}

// Route is a rule with a path to request: one with a value in the place of each name, that does not stream.
type Route struct {
	auth.Rule
	Filled string
}

// Routes returns the rules of all routes.
func Routes(s *Site) (out []Route) {
	s.T.Helper()
	streams := map[string]bool{}
	all, _ := Operations(s)
	for i := range all {
		streams[all[i].Method+all[i].Path] = all[i].Takes("once")
	}
	for _, rule := range auth.Rules() {
		r := Route{rule, Filled(rule.Path)}
		if streams[r.Method+r.Path] {
			r.Filled += "?once=true"
		}
		out = append(out, r)
	}
	return out
}

// Filled returns a rule's path with a value in the place of each name: 1, or what fits names of another kind.
func Filled(path string) string {
	values := map[string]string{"node_id": "n1", "scope": "user", "name": "ann", "user": "ann", "webhook_id": "wh_1", "run_id": "run-1"}
	return regexp.MustCompile(`{[^}]+}`).ReplaceAllStringFunc(path, func(name string) string {
		if value, named := values[strings.Trim(name, "{}")]; named {
			return value
		}
		return "1"
	})
}
