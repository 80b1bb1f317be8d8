package forward

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/berth-gpu/berth/cluster/call"
)

// A handler gets a passed-on request whole; headers make no client's request one of these.
func TestServe(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("x")+" "+r.RemoteAddr+" "+r.Header.Get("A"))
		if p := PassedOn(r.Context()); p == nil || p.From != "p2" {
			t.Errorf("passed on: %+v", p)
		}
		switch string(body) {
		case "cut":
			w.WriteHeader(http.StatusOK)
			_, _, _ = http.NewResponseController(w).Hijack()
		case "empty":
		default:
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write(body)
		}
	})
	do := serve(h)
	q := &Request{Method: http.MethodPut, Target: "/a/b?x=%20y", Header: map[string][]string{"A": {"1"}}, Body: []byte("this"), Client: "2001:db8::1"}
	a, err := do(t.Context(), "p2", q)
	if err != nil || a.Status != http.StatusConflict || string(a.Body) != "this" ||
		http.Header(a.Header).Get("X-Seen") != "PUT /a/b  y [2001:db8::1]:0 1" {
		t.Errorf("answered %+v, %v", a, err)
	}
	q.Body = []byte("empty")
	if a, err := do(t.Context(), "p2", q); err != nil || a.Status != http.StatusOK || len(a.Body) != 0 {
		t.Errorf("without a body: %+v, %v", a, err)
	}
	q.Body = []byte("cut")
	if a, err := do(t.Context(), "p2", q); err == nil || call.Undone(err) {
		t.Errorf("an answer that was cut off: %+v, %v", a, err)
	}
	q.Body, q.Client = nil, "a text\nfor the trail"
	if a, err := do(t.Context(), "p2", q); err != nil || http.Header(a.Header).Get("X-Seen") != "PUT /a/b  y :0 1" {
		t.Errorf("a client whose address is none: %+v, %v", a, err)
	}
	q.Target = "no path"
	if _, err := do(t.Context(), "p2", q); call.KindOf(err) != call.KindMalformed {
		t.Errorf("without a target: %v", err)
	}
	if p := PassedOn(httptest.NewRequest(http.MethodGet, "/", nil).Context()); p != nil {
		t.Errorf("a client's request was passed on by %+v", p)
	}
}
