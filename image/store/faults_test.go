package store

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// answers fails requests whose path has a text in it: the first n of them, or all if n is less than 0.
func answers(text string, n int, with func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request) bool {
	left := atomic.Int64{}
	left.Store(int64(n))
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, text) || n >= 0 && left.Add(-1) < 0 {
			return false
		}
		with(w, r)
		return true
	}
}

func status(code int, text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

// wrong is what a registry does wrong, and what follows.
type wrong struct {
	text   string // in the path of the requests; LAYER is the digest of the layer
	n      int
	with   func(w http.ResponseWriter, r *http.Request)
	kind   Kind // 0: the image is fetched
	asks   int  // requests with the text
	within time.Duration
	says   string
}

func wrongs() map[string]wrong {
	const manifests = "/manifests/"
	refusal := `{"errors":[{"code":"DENIED","message":"not for you"}]}`
	return map[string]wrong{
		"no such tag":          {manifests, -1, status(404, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"unknown"}]}`), NotFound, 1, 0, "MANIFEST_UNKNOWN"},
		"login needed":         {manifests, -1, status(401, refusal), Denied, 1, 0, "DENIED not for you"},
		"no right":             {manifests, -1, status(403, refusal), Denied, 1, 0, ".credentials"},
		"busy, then not":       {manifests, 1, status(429, ""), 0, 2, 2 * time.Second, ""},
		"busy":                 {manifests, -1, status(429, ""), Busy, 3, 12 * time.Second, "after 3 tries"},
		"fault, then none":     {manifests, 2, status(503, ""), 0, 3, 12 * time.Second, ""},
		"fault":                {manifests, -1, status(500, ""), Unreachable, 3, 12 * time.Second, "500"},
		"nonsense":             {manifests, -1, status(200, "<html>"), BadImage, 1, 0, "no image"},
		"not served, ping":     {"/v2/", -1, status(404, "no registry here"), NotFound, 1, 0, "404"},
		"layer is gone":        {"LAYER", -1, status(404, ""), NotFound, 1, 0, "404"},
		"layer fails at first": {"LAYER", 2, status(502, ""), 0, 3, 12 * time.Second, ""},
		"cut in the middle":    {"LAYER", 1, cut, 0, 2, 2 * time.Second, ""},
		"always cut":           {"LAYER", -1, cut, Unreachable, 3, 12 * time.Second, "EOF"},
		"damaged once":         {"LAYER", 1, damaged, 0, 2, 2 * time.Second, ""},
		"damaged":              {"LAYER", -1, damaged, Damaged, 2, 2 * time.Second, "arrived damaged"},
		"silent once":          {"LAYER", 1, silent, 0, 2, patience + 2*time.Second, ""},
		"silent":               {manifests, -1, silent, Unreachable, 3, 3*patience + 12*time.Second, "nothing for 2 minutes"},
		"slow":                 {"LAYER", 1, slow, 0, 1, 10 * (patience - time.Second), ""},
	}
}

// What a registry does wrong is tried again if that may help, and no longer than it may help.
func TestFaults(t *testing.T) {
	t.Parallel()
	for what, test := range wrongs() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test.run(t) })
		})
	}
}

func (test wrong) run(t *testing.T) {
	s, shelf := opened(t), newShelf()
	s.transport = inMemory{shelf}
	img := image(t, tarred(t, file{name: "f", text: strings.Repeat("text", 1000)}))
	n := shelf.put(t, "v1", img)
	digest, blob := firstLayer(t, img)
	text := strings.ReplaceAll(test.text, "LAYER", digest)
	shelf.reset(answers(text, test.n, func(w http.ResponseWriter, r *http.Request) {
		test.with(w, r.WithContext(withBlob(r.Context(), blob)))
	}))
	start := time.Now()
	got, err := s.Fetch(t.Context(), n, nil)
	if took := time.Since(start); kindOf(err) != test.kind || took < test.within || took > test.within+test.within/10+3*time.Second {
		t.Errorf("%v after %v, want kind %d after %v", err, took, test.kind, test.within)
	}
	if asks := shelf.asked(text); asks != test.asks {
		t.Errorf("%d requests: %q", asks, shelf.asks)
	}
	if test.kind == 0 {
		if files := tree(t, got.Root); len(files) != 1 {
			t.Errorf("%q", files)
		}
		return
	}
	if !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "registry.test#team/image:v1") {
		t.Errorf("%v, want %q", err, test.says)
	}
	if later := test.kind > BadImage; Later(err) != later {
		t.Errorf("%v: later %t", err, Later(err))
	}
	if all, err := s.List(); len(all) > 0 || err != nil || len(left(t, s)) > 0 {
		t.Errorf("%v, %v, %q", all, err, left(t, s))
	}
}

// firstLayer returns the digest and the content of an image's first layer, as a registry has it.
func firstLayer(t *testing.T, img v1.Image) (digest string, blob []byte) {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	h, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	if blob, err = io.ReadAll(content); err != nil {
		t.Fatal(err)
	}
	return h.String(), blob
}

func cut(w http.ResponseWriter, r *http.Request) {
	blob := blobOf(r)
	_, _ = w.Write(blob[:len(blob)/2])
	panic(http.ErrAbortHandler)
}

func damaged(w http.ResponseWriter, r *http.Request) {
	blob := bytes.Clone(blobOf(r))
	blob[len(blob)/2] ^= 1
	_, _ = w.Write(blob)
}

func silent(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// A registry that is not this machine is never asked without TLS, whatever it answers.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, shelf := opened(t), newShelf()
		s.transport = inMemory{shelf}
		n := shelf.put(t, "v1", simple(t))
		shelf.reset(answers("/manifests/", -1, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.test/x", http.StatusFound)
		}))
		if _, err := s.Fetch(t.Context(), n, nil); kindOf(err) != BadImage || !strings.Contains(err.Error(), "https") {
			t.Error(err)
		}
		if shelf.asked("GET /x") > 0 {
			t.Errorf("%q", shelf.asks)
		}
		shelf.reset(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Scheme == "http" {
				t.Errorf("asked by plain HTTP: %v", r.URL)
			}
			http.Error(w, "", http.StatusBadGateway)
			return true
		})
		if _, err := s.Fetch(t.Context(), named(t, "10.1.2.3:5000#a/b"), nil); kindOf(err) != Unreachable {
			t.Error(err)
		}
		err := &url.Error{Op: "Get", URL: "https://10.1.2.3:5000/v2/", Err: http.ErrSchemeMismatch}
		if f := judge(errors.Join(err, &plainHTTP{host: "10.1.2.3:5000", first: true})); f.kind != BadImage {
			t.Errorf("a registry without TLS: %+v", f)
		}
	})
}

// Over real connections: a registry on this machine, without TLS.
func TestLoopback(t *testing.T) {
	t.Parallel()
	shelf := newShelf()
	shelf.put(t, "v1", simple(t))
	server := httptest.NewServer(shelf)
	t.Cleanup(server.Close)
	s := opened(t)
	s.transport, s.sync = newTransport(), syncAll
	at := strings.TrimPrefix(server.URL, "http://")
	got, err := s.Fetch(t.Context(), named(t, at+"#team/image:v1"), nil)
	if err != nil || len(tree(t, got.Root)) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	server.Close()
	s.transport = newTransport()
	synctest.Test(t, func(t *testing.T) { // the refused connection does not wait for the network
		if _, err := s.Fetch(t.Context(), named(t, at+"#team/image:v2"), nil); kindOf(err) != Unreachable {
			t.Error(err)
		}
	})
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"localhost": true, "localhost:5000": true, "127.0.0.1": true, "127.9.9.9:1": true, "[::1]:5000": true, "[::1]": true, "::1": true,
		"localhost.example.org": false, "10.0.0.1:5000": false, "127.0.0.1.example.org": false, "nvcr.io": false, "": false,
	} {
		if got := isLoopback(address); got != want {
			t.Errorf("%q: %t", address, got)
		}
	}
}

// Signatures in URLs do not get into messages.
func TestNoSecretInErrors(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "https://storage.test/blob?signature=SECRET", nil)
	e := &transport.Error{StatusCode: 403, Request: r}
	if text := judge(e).reason; strings.Contains(text, "SECRET") {
		t.Error(text)
	}
}
