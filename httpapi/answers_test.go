package httpapi

import (
	"encoding/json"
	"net/http"
	"testing"
)

func object(t *testing.T, r *reply) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal(r.body, &out); err != nil || r.status != http.StatusOK {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return out
}

func within(t *testing.T, o map[string]any, name string) map[string]any {
	t.Helper()
	v, is := o[name].(map[string]any)
	if !is {
		t.Fatalf("%s is no object in %v", name, o)
	}
	return v
}

func list(t *testing.T, v any) []any {
	t.Helper()
	l, is := v.([]any)
	if !is {
		t.Fatalf("%v is no list", v)
	}
	return l
}
