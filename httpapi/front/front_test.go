package front

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// echo answers as the headers of a request say.
func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("X-Type"))
		if tag := r.Header.Get("X-Tag"); tag != "" {
			w.Header().Set("Etag", tag)
		}
		if status := r.Header.Get("X-Status"); status != "" {
			n, _ := strconv.Atoi(status)
			w.WriteHeader(n)
		}
		if r.Header.Get("X-Flush") != "" {
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, r.Header.Get("X-Body")) //nolint:gosec // no browser asks this server
	})
}

// TestWrap checks which answers are compressed, and that all have the time and the version.
func TestWrap(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", least/10+1)
	server := httptest.NewServer(Wrap(echo(), "1.2.3", func() time.Time { return time.UnixMilli(1_764_000_000_123) }))
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		media, body, accept string
		want                bool
	}{
		"a list":                 {"application/json", long, "gzip", true},
		"with other encodings":   {"application/json; charset=utf-8", long, "br, gzip;q=0.8", true},
		"a problem":              {wire.ProblemType, long, "gzip", true},
		"the description":        {"application/openapi+json", long, "gzip", true},
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
			r.Header.Set("X-Tag", `W/"7"`)
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

// TestTags checks which answers get a tag, and that an answer that the client has is not sent again.
func TestTags(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(Wrap(echo(), "", time.Now))
	t.Cleanup(server.Close)
	long := `["` + strings.Repeat("x", 2*least) + `"]`
	ask := func(method string, headers ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if want := r.Header.Get("X-Body"); err != nil || answer.StatusCode != http.StatusNotModified && string(text) != want ||
			answer.StatusCode == http.StatusNotModified && len(text) > 0 {
			t.Errorf("%q: the body is %q, %v", headers, text, err)
		}
		_ = answer.Body.Close()
		return answer
	}
	list := []string{"X-Type", "application/json", "X-Body", long}
	first := ask(http.MethodGet, list...)
	tag := first.Header.Get("Etag")
	if !strings.HasPrefix(tag, `W/"`) || first.StatusCode != http.StatusOK {
		t.Fatalf("%d, tag %q", first.StatusCode, tag)
	}
	for known, status := range map[string]int{tag: 304, `W/"1", ` + tag: 304, `W/"1"`: 200, strings.TrimPrefix(tag, "W/"): 200} {
		if got := ask(http.MethodGet, append([]string{"If-None-Match", known}, list...)...); got.StatusCode != status || got.Header.Get("Etag") != tag {
			t.Errorf("known %s: %d %v", known, got.StatusCode, got.Header)
		}
	}
	if other := ask(http.MethodGet, "X-Type", "application/json", "X-Body", `[]`, "If-None-Match", tag); other.StatusCode != 200 || other.Header.Get("Etag") == tag {
		t.Errorf("another answer: %d %v", other.StatusCode, other.Header)
	}
	for name, c := range map[string]struct {
		method  string
		headers []string
		status  int
		tag     string
	}{
		"a change":        {http.MethodPost, list, 200, ""},
		"its own tag":     {http.MethodGet, append([]string{"X-Tag", `W/"7"`}, list...), 200, `W/"7"`},
		"an error":        {http.MethodGet, append([]string{"X-Status", "503"}, list...), 503, ""},
		"sent in parts":   {http.MethodGet, append([]string{"X-Flush", "yes"}, list...), 200, ""},
		"output of a job": {http.MethodGet, []string{"X-Type", "text/plain", "X-Body", "x"}, 200, ""},
	} {
		if got := ask(c.method, append([]string{"If-None-Match", tag}, c.headers...)...); got.StatusCode != c.status || got.Header.Get("Etag") != c.tag {
			t.Errorf("%s: %d %v", name, got.StatusCode, got.Header)
		}
	}
}

// HEAD has the headers of GET and no body, and does not wait for the end of a stream.
func TestHead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch {
		case r.Method != http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.URL.Path == "/kept":
			w.Header().Set("Cache-Control", "public")
			_, _ = io.WriteString(w, "{}")
		case r.URL.Path == "/events":
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case r.URL.Path == "/large":
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1<<16))
			}
		default:
			_, _ = io.WriteString(w, "{}")
		}
	}), "1", time.Now))
	t.Cleanup(server.Close)
	for path, cache := range map[string]string{"/": "private, no-store", "/kept": "public", "/events": "private, no-store", "/large": "private, no-store"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, err := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusOK || len(body) > 0 || err != nil || answer.Header.Get("Cache-Control") != cache || answer.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%s: %d %v %q %v", path, answer.StatusCode, answer.Header, body, err)
		}
		_ = answer.Body.Close()
	}
}
