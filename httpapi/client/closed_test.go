package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

const closing = `{"title":"Unauthorized","status":401,"code":"unauthenticated","detail":"revoked"}`

// A follower whose token ends is given the reason, and asks no other peer.
func TestAFollowerIsToldWhyItEnds(t *testing.T) {
	t.Parallel()
	asked := 0
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/events" {
			fmt.Fprintf(w, "id: 1\ndata: {\"id\":\"1\",\"type\":\"job.failed\"}\n\nevent: closed\ndata: %s\n\n", closing)
			return
		}
		if r.Header.Get("Te") != "trailers" {
			t.Error("the client does not say that it takes trailers")
		}
		w.Header().Set("Trailer", wire.TrailerProblem)
		_, _ = io.WriteString(w, "some output")
		w.Header().Set(wire.TrailerProblem, closing)
	}))
	defer peer.Close()
	c, err := New(Options{Addresses: []string{strings.TrimPrefix(peer.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	came := 0
	err = c.Lists().Events(t.Context(), EventQuery{}, func(*wire.Notice) error { came++; return nil })
	if p, is := errors.AsType[*wire.Problem](err); !is || p.Status != http.StatusUnauthorized || p.Detail != "revoked" || came != 1 || asked != 1 {
		t.Errorf("events end with %v after %d of them and %d requests", err, came, asked)
	}
	body, err := c.Logs(t.Context(), "1", LogQuery{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(body)
	if p, is := errors.AsType[*wire.Problem](err); !is || p.Status != http.StatusUnauthorized || string(data) != "some output" {
		t.Errorf("the log ends with %v after %q", err, data)
	}
}
