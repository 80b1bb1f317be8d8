package front

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// TestWrap checks which answers are compressed, and that all have the time and the version.
func TestWrap(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", least/10+1)
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("X-Type"))
		w.Header().Set("Etag", `W/"7"`)
		_, _ = io.WriteString(w, r.Header.Get("X-Body"))
	})
	server := httptest.NewServer(Wrap(next, "1.2.3", func() time.Time { return time.UnixMilli(1_764_000_000_123) }))
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		media, body, accept string
		want                bool
	}{
		"a list":                 {"application/json", long, "gzip", true},
		"with other encodings":   {"application/json; charset=utf-8", long, "br, gzip;q=0.8", true},
		"a problem":              {wire.ProblemType, long, "gzip", true},
		"a short one":            {"application/json", "{}", "gzip", false},
		"a client without it":    {"application/json", long, "", false},
		"a client that refuses":  {"application/json", long, "gzip;q=0", false},
		"output of a job":        {"text/plain; charset=utf-8", long, "gzip", false},
		"a stream of events":     {"text/event-stream", long, "gzip", false},
		"a state file":           {"application/octet-stream", long, "gzip", false},
		"zstd is not understood": {"application/json", long, "zstd", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept-Encoding", c.accept) // also if empty, so that the client does not decode by itself
			r.Header.Set("X-Type", c.media)
			r.Header.Set("X-Body", c.body)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			body := io.Reader(answer.Body)
			if is := answer.Header.Get("Content-Encoding") == "gzip"; is != c.want {
				t.Errorf("compressed: %t, want %t", is, c.want)
			} else if is {
				if body, err = gzip.NewReader(answer.Body); err != nil {
					t.Fatal(err)
				}
			}
			if text, err := io.ReadAll(body); err != nil || string(text) != c.body {
				t.Errorf("%d bytes, %v", len(text), err)
			}
			h := answer.Header
			if h.Get(wire.HeaderTime) != "1764000000123" || h.Get(wire.HeaderVersion) != "1.2.3" || h.Get("Etag") != `W/"7"` || h.Get("Content-Type") != c.media {
				t.Errorf("headers %v", h)
			}
			if c.body == long && strings.HasPrefix(c.media, "application/json") && h.Get("Vary") != "Accept-Encoding" {
				t.Errorf("caches are not told that the answer varies: %v", h)
			}
		})
	}
}
