package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// A stream that breaks goes on at another peer, after the last event that came.
func TestEventsGoOnElsewhere(t *testing.T) {
	var asked atomic.Int32
	peer := func(first int) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/events" || r.URL.Query().Get("types") != "failed,node.*" || r.URL.Query().Get("actor") != "ann" || r.URL.Query().Get("target") != "job 1" {
				t.Errorf("asked for %s", r.URL)
			}
			if n := asked.Add(1); n > 1 && r.URL.Query().Get("after") == "" {
				t.Errorf("request %d begins again: %s", n, r.URL)
			}
			fmt.Fprintf(w, ": hello\n\nid: %d\ndata: {\"id\":\"%d\",\"type\":\"job.failed\"}\n\n", first, first)
		}))
	}
	a, b := peer(1), peer(2)
	defer a.Close()
	defer b.Close()
	c, err := New(Options{Addresses: []string{strings.TrimPrefix(a.URL, "http://"), strings.TrimPrefix(b.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	var ids []string
	err = c.Lists().Events(t.Context(), EventQuery{Types: []string{"failed", "node.*"}, Actor: "ann", Target: "job 1"}, func(e *wire.Notice) error {
		if ids = append(ids, e.ID); len(ids) == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || len(ids) != 3 {
		t.Errorf("followed %v: %v", ids, err)
	}
}

// What the API refuses ends it; so does the context.
func TestEventsEnd(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"code":"invalid"}`)
	}))
	defer refuses.Close()
	c, err := New(Options{Addresses: []string{strings.TrimPrefix(refuses.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	none := func(*wire.Notice) error { return nil }
	if p, is := errors.AsType[*wire.Problem](c.Lists().Events(t.Context(), EventQuery{}, none)); !is || p.Code != "invalid" {
		t.Errorf("it ends with %v", p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Lists().Events(ctx, EventQuery{}, none); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}
