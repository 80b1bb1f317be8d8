package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
)

// inventor makes up requests from the description: most are sound in form, others are
// wrong in one place, and some are not even JSON.
type inventor struct {
	*rand.Rand

	routes  []apitest.Operation
	schemas map[string]apitest.Schema
	heard   map[string][]string // texts of answers, by their names
}

func newInventor(s *apitest.Site, random *rand.Rand) *inventor {
	v := &inventor{Rand: random, heard: map[string][]string{"token": {apitest.Ann}}}
	v.routes, v.schemas = apitest.Operations(s)
	return v
}

func (v *inventor) one(n int) bool { return v.IntN(n) == 0 }

func pick[T any](v *inventor, of ...T) T { return of[v.IntN(len(of))] }

// text is a string that means something somewhere, or nothing anywhere.
func (v *inventor) text() string {
	return pick(v, "", "1", "2", "1_0", "1.0", "n1", "n2", "ann", "vision", "user:ann", "h100", "0-3", "0-99%8", "afterok:1", "afterany:2", "2h", "-1s", "+1h",
		"2030-01-02T03:04:05Z", "SIGTERM", "/tmp", "../..", "a=b,!c", "training", "cordoned", "draining", "open", "none", "user", "project", "fcfs", "hybrid",
		"\x00", "\u202e", "💩", "a\nb", "%s%n", "1e999", "null", strings.Repeat("a", 300), strings.Repeat("(", 70), string([]byte{0xff, 0xfe}))
}

// hear keeps the texts of an answer by their names, such as the ids of what it lists.
func (v *inventor) hear(answer any) {
	switch of := answer.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if id, is := of[name].(string); is && id != "" {
				v.heard[name] = append(v.heard[name], id)
			}
			v.hear(of[name])
		}
	case []any:
		for _, one := range of {
			v.hear(one)
		}
	}
}

// known is often a text of this name that an answer had, else the other text. A token's id is just "id" in answers.
func (v *inventor) known(name, text string) string {
	of := v.heard[name]
	if name == "token_id" {
		of = v.heard["id"]
	}
	if len(of) > 0 && !v.one(3) {
		return pick(v, of...)
	}
	return text
}

func (v *inventor) number() any {
	return pick[any](v, 0, 1, 2, 3, 8, 60, 3600, 0.5, -1, 1<<20, 1<<31, math.MaxInt64, uint64(math.MaxUint64), 1e300, -1e300, 1e-300)
}

// value is something that a schema allows, or now and then something else.
func (v *inventor) value(s *apitest.Schema, deep int) any {
	if s.Ref != "" {
		ref := v.schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		s = &ref
	}
	if deep > 4 || v.one(40) {
		return pick[any](v, nil, true, "x", v.number(), []any{}, map[string]any{}, []any{[]any{nil}}, map[string]any{"a": map[string]any{"": 1}})
	}
	if len(s.Enum) > 0 && !v.one(20) {
		return pick(v, s.Enum...)
	}
	if len(s.OneOf) > 0 {
		return v.value(&s.OneOf[v.IntN(len(s.OneOf))], deep)
	}
	kind, _ := s.Type.(string)
	if list, several := s.Type.([]any); several {
		kind, _ = pick(v, list...).(string)
	}
	switch kind {
	case "string":
		return v.text()
	case "integer", "number":
		return v.number()
	case "boolean":
		return v.one(2)
	case "array":
		return v.list(s, deep)
	case "object":
		return v.object(s, deep)
	}
	return nil
}

func (v *inventor) list(s *apitest.Schema, deep int) any {
	out := []any{}
	for range pick(v, 0, 1, 1, 2, 3, 300) {
		out = append(out, v.value(s.Items, deep+1))
	}
	return out
}

func (v *inventor) object(s *apitest.Schema, deep int) any {
	out := map[string]any{}
	often := pick(v, 2, 4, 16, 64)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; v.one(often) {
			out[name] = v.value(&p, deep+1)
		}
	}
	var more apitest.Schema
	if json.Unmarshal(s.More, &more) == nil || v.one(40) {
		out[v.text()] = v.text()
	}
	return out
}

// body is a request's body as it is sent: the example, or one made up, or both. Texts of earlier answers take the place of those of the
// example.
func (v *inventor) body(example json.RawMessage, s *apitest.Schema) string {
	value := v.value(s, 0)
	all := map[string]any{}
	if len(example) > 0 && !v.one(3) && json.Unmarshal(example, &all) == nil {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if text, is := all[name].(string); is {
				all[name] = v.known(name, text)
			}
		}
		if made, is := value.(map[string]any); is && v.one(2) {
			maps.Copy(all, made)
		}
		value = all
	}
	data, err := json.Marshal(value)
	if err != nil {
		return "{"
	}
	switch v.IntN(30) {
	case 0:
		data = data[:v.IntN(len(data)+1)]
	case 1:
		data = append(data, data...)
	case 2:
		data = bytes.Repeat([]byte("["), 20_000)
	case 3:
		data[v.IntN(len(data))] = byte(v.IntN(256))
	}
	return string(data)
}

// route returns any route.
func (v *inventor) route() *apitest.Operation {
	d := &v.routes[v.IntN(len(v.routes))]
	for strings.HasSuffix(d.Path, "allocate") && !v.one(10) { // it waits for GPUs for a while
		d = &v.routes[v.IntN(len(v.routes))]
	}
	return d
}

// request makes up a request to a route.
func (v *inventor) request(t testing.TB, d *apitest.Operation) *http.Request {
	path, query, header := d.Path, url.Values{}, http.Header{}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		text := fmt.Sprint(v.value(&p.Schema, 0))
		switch {
		case p.In == "path" && p.Name == "scope":
			path = strings.ReplaceAll(path, "{scope}", url.PathEscape(pick(v, text, "project", "user", "user")))
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(v.known(p.Name, pick(v, text, "1", "2", "3", "99", "n1", "n3", "ann", "n1-1", "p1", "p2"))))
		case p.Name == "wait": // the test waits for moments only
			query.Set(p.Name, pick(v, "1ms", "1ns", "-1s", "x"))
		case p.Name == "once": // and does not follow what happens
			query.Set(p.Name, pick(v, "true", "true", "x"))
		case !v.one(max(2, len(d.Parameters)/3)): // a few of many, which would hardly all be valid
		case p.Name == "follow":
			query.Set(p.Name, pick(v, "false", "x"))
		case p.In == "query":
			query.Set(p.Name, text)
		case p.In == "header":
			header.Set(p.Name, text)
		}
	}
	if v.one(30) {
		query.Set(v.text(), v.text())
	}
	body := ""
	if c := d.RequestBody.Content["application/json"]; len(d.RequestBody.Content) > 0 {
		body = v.body(c.Example, &c.Schema)
	} else if v.one(20) {
		body = v.text()
	}
	target, err := url.Parse(path + "?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), d.Method, "/", strings.NewReader(body))
	r.URL, r.Header = target, header
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+pick(v, apitest.Adam, apitest.Adam, apitest.Adam, apitest.Adam, apitest.Operator, apitest.Ann, apitest.Bob, apitest.Viewer,
		apitest.AgentOf1, "berth_of_nobody"))
	return r
}
