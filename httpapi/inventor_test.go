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

// described is what the API's description says of one route.
type described struct {
	Method, Path string

	Parameters []struct {
		Name, In string
		Schema   schema
	}
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
}

// schema is as much of a JSON schema as the description uses.
type schema struct {
	Type       any    // a name, or several
	Ref        string `json:"$ref"`
	Enum       []any
	OneOf      []schema
	Items      *schema
	Properties map[string]schema
	More       json.RawMessage `json:"additionalProperties"`
}

// inventor makes up requests from the description: most are sound in form, others are
// wrong in one place, and some are not even JSON.
type inventor struct {
	*rand.Rand

	routes  []described
	schemas map[string]schema
	heard   map[string][]string // ids of answers, by what they are called
}

func newInventor(t testing.TB, s *apitest.Site, random *rand.Rand) *inventor {
	var doc struct {
		Paths      map[string]map[string]described
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(s.Do(http.MethodGet, "/openapi.json", "", apitest.As(apitest.Adam)...).Body, &doc); err != nil {
		t.Fatal(err)
	}
	v := &inventor{Rand: random, schemas: doc.Components.Schemas, heard: map[string][]string{}}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			d := doc.Paths[path][method]
			d.Method, d.Path = strings.ToUpper(method), path
			v.routes = append(v.routes, d)
		}
	}
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

// hear keeps the ids that an answer tells.
func (v *inventor) hear(body []byte) {
	var told struct {
		Allocation string `json:"allocation_id"`
		Token      string `json:"id"`
		Webhook    struct {
			ID string `json:"webhook_id"`
		}
		Reservation struct {
			ID string `json:"reservation_id"`
		}
	}
	if json.Unmarshal(body, &told) != nil {
		return
	}
	for kind, id := range map[string]string{"allocation_id": told.Allocation, "token_id": told.Token, "webhook_id": told.Webhook.ID, "reservation_id": told.Reservation.ID} {
		if id != "" {
			v.heard[kind] = append(v.heard[kind], id)
		}
	}
}

// known is often an id of a kind that an answer told, else the text.
func (v *inventor) known(kind, text string) string {
	if of := v.heard[kind]; len(of) > 0 && !v.one(3) {
		return pick(v, of...)
	}
	return text
}

func (v *inventor) number() any {
	return pick[any](v, 0, 1, 2, 3, 8, 60, 3600, 0.5, -1, 1<<20, 1<<31, math.MaxInt64, uint64(math.MaxUint64), 1e300, -1e300, 1e-300)
}

// value is something that a schema allows, or now and then something else.
func (v *inventor) value(s *schema, deep int) any {
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

func (v *inventor) list(s *schema, deep int) any {
	out := []any{}
	for range pick(v, 0, 1, 1, 2, 3, 300) {
		out = append(out, v.value(s.Items, deep+1))
	}
	return out
}

func (v *inventor) object(s *schema, deep int) any {
	out := map[string]any{}
	often := pick(v, 2, 4, 16, 64)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; v.one(often) {
			out[name] = v.value(&p, deep+1)
		}
	}
	var more schema
	if json.Unmarshal(s.More, &more) == nil || v.one(40) {
		out[v.text()] = v.text()
	}
	return out
}

// sound are bodies that are accepted, of those routes that chance hardly finds one for.
func sound() map[string]string {
	return map[string]string{ //nolint:gosec // no secrets
		"/queue/submit":            `{"command":"true","user":"ann","run_id":"1","attached":"1h","dependencies":["afterany:2"]}`,
		"/queue/bulk":              `{"action":"hold","ids":["2"]}`,
		"/queue/{job_id}/priority": `{"priority":3}`,
		"/gpu/allocate":            `{"service_name":"web","user":"ann"}`,
		"/gpu/release":             `{}`,
		"/cluster/gpu-allocate":    `{"job_id":"550e8400"}`,
		"/cluster/gpu-release":     `{"job_id":"550e8400"}`,
		"/reservations":            `{"user":"ann","gpu_count":1,"start":"+2h","duration":"1h"}`,
		"/users/{user}":            `{"role":"user"}`,
		"/tokens":                  `{"user":"ann","name":"laptop"}`,
		"/session":                 `{"token":"berth_user_ann"}`,
		"/gpus/{uuid}/mode":        `{"mode":"open"}`,
		"/orchestrator/allocation": `{"mode":"hybrid"}`,
		"/webhooks":                `{"url":"https://93.184.215.14/told"}`,
		"/webhooks/{webhook_id}":   `{"url":"https://93.184.215.15/told"}`,
		"/cluster/settings":        `{"settings":{"retries":"7"}}`,
		"/nodes/{node_id}/labels":  `{"set":{"rack":"a"}}`,

		"/cluster/probe": `{"role":"node","name":"n1"}`,

		"/cluster/upgrade/lock":   `{"peer":"p1","key":"x"}`,
		"/cluster/upgrade/unlock": `{"peer":"p1","key":"x"}`,

		"/nodes/{node_id}/confirm-dead": `{"epoch":1,"reason":"burnt"}`,
	}
}

// body is a request's body as it is sent: a sound one, or one made up, or both.
func (v *inventor) body(path string, s *schema) string {
	value := v.value(s, 0)
	if good, known := sound()[path]; known && !v.one(3) {
		from := map[string]any{}
		if v.one(2) {
			from, _ = value.(map[string]any)
		}
		all := map[string]any{}
		if json.Unmarshal([]byte(good), &all) == nil {
			maps.Copy(all, from)
			if path == "/gpu/release" {
				all["allocation_id"] = v.known("allocation_id", v.text())
			}
			value = all
		}
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
func (v *inventor) route() *described {
	d := &v.routes[v.IntN(len(v.routes))]
	for strings.HasSuffix(d.Path, "allocate") && !v.one(10) { // it waits for GPUs for a while
		d = &v.routes[v.IntN(len(v.routes))]
	}
	return d
}

// request makes up a request to a route.
func (v *inventor) request(t testing.TB, d *described) *http.Request {
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
		s := c.Schema
		body = v.body(d.Path, &s)
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
