package advice

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// helper is an adviser that answers so.
func helper(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAdvisersAnswer(t *testing.T) {
	text := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	closed := httptest.NewServer(text(200, "{}"))
	closed.Close()
	asked := make(chan string, 9) // both are asked at once
	for name, v := range map[string]struct {
		url, failure, body string
		limit              time.Duration // 0: so long that only an answer ends the wait
	}{
		"well": {url: helper(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Method + " " + r.URL.Path
			text(200, `{"gpu_count": 3}`)(w, r)
		}), body: `{"gpu_count": 3}`},
		"an error":    {url: helper(t, text(500, "{}")), failure: "with status 500"},
		"no JSON":     {url: helper(t, text(200, "hello")), failure: "not a JSON object"},
		"a list":      {url: helper(t, text(200, "[]")), failure: "not a JSON object"},
		"without end": {url: helper(t, text(200, `{"a": "`+strings.Repeat("x", maxAdvice)+`"}`)), failure: "more than"},
		"a redirect": {url: helper(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}), failure: "302"},
		"nothing": {url: closed.URL, failure: "cannot be reached"},
		"too late": {url: helper(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client has gone
			<-r.Context().Done()
		}), failure: "no answer within", limit: 50 * time.Millisecond},
		"half of it": {url: helper(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = w.Write([]byte("{"))
		}), failure: "EOF"},
	} {
		got := New([]Adviser{{"a", v.url}, {"b", v.url + "/own/path"}}).askWithin(t.Context(), &wire.Workload{}, cmp.Or(v.limit, time.Minute))
		if len(got) != 2 || got[0].Name != "a" || !strings.Contains(got[0].Failure, v.failure) || (v.failure == "") != (got[0].Failure == "") ||
			v.body != "" && string(got[0].Body) != v.body {
			t.Errorf("%s: %+v", name, got)
		}
	}
	close(asked)
	var paths []string
	for path := range asked {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	if !slices.Equal(paths, []string{"POST /gpu/workload", "POST /own/path"}) {
		t.Errorf("asked %v", paths)
	}
}

// After three failures in a row an adviser is let be, then asked by one request again.
func TestAnAdviserIsLetBe(t *testing.T) {
	asked, well := 0, false
	a := New([]Adviser{{"a", helper(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; !well {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("{}"))
	})}})
	ask := func() bool { return a.Ask(context.Background(), &wire.Workload{})[0].Skipped }
	for i := range 5 {
		if skipped := ask(); skipped != (i >= failuresMost) {
			t.Errorf("question %d: skipped %t", i, skipped)
		}
	}
	a[0].until = time.Now() // its time is over
	if ask() || !ask() || asked != failuresMost+1 {
		t.Errorf("it was asked %d times", asked)
	}
	a[0].until, well = time.Now(), true
	for range 3 {
		if ask() {
			t.Error("it is well again and is not asked")
		}
	}
	if asked != failuresMost+4 {
		t.Errorf("it was asked %d times", asked)
	}
}
