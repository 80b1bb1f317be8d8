package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	registry "github.com/google/go-containerregistry/pkg/name"
	inprocess "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/berth-gpu/berth/image/name"
)

const host = "registry.test"

// opened returns a store in a new folder. It has the file system of the folder, of which half is free, no logins, and no
// registry.
func opened(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "images"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.credentials = credentials{docker: "/nonexistent", enroot: "/nonexistent", getenv: func(string) string { return "" }}
	s.space = func(string) (free, total int64, err error) { return 1 << 40, 1 << 41, nil }
	s.sync = func(*os.File) error { return nil } // which would wait for the writes of all tests
	s.transport = inMemory{http.NotFoundHandler()}
	return s
}

// shelf is a registry in this process, without a network: its connections are pipes, which virtual time understands.
type shelf struct {
	registry http.Handler
	before   func(http.ResponseWriter, *http.Request) bool // true: the request was answered

	mu   sync.Mutex
	asks []string // method and path of each request after the last reset
}

func newShelf() *shelf {
	return &shelf{registry: inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0)))}
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asks = append(s.asks, r.Method+" "+r.URL.Path)
	before := s.before
	s.mu.Unlock()
	if before == nil || !before(w, r) {
		s.registry.ServeHTTP(w, r)
	}
}

func (s *shelf) reset(before func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks, s.before = nil, before
}

// asked returns how many requests had a text in them.
func (s *shelf) asked(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.asks), func(a string) bool { return !strings.Contains(a, text) }))
}

// put stores images or an index under a tag, and returns the name.
func (s *shelf) put(t *testing.T, tag string, what any) name.Name {
	t.Helper()
	repo, err := registry.NewRepository(host + "/team/image")
	if err != nil {
		t.Fatal(err)
	}
	options := []remote.Option{remote.WithTransport(inMemory{s.registry}), remote.WithContext(t.Context())}
	switch what := what.(type) {
	case v1.Image:
		err = remote.Write(repo.Tag(tag), what, options...)
	case v1.ImageIndex:
		err = remote.WriteIndex(repo.Tag(tag), what, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return named(t, host+"#team/image:"+tag)
}

func named(t *testing.T, text string) name.Name {
	t.Helper()
	n, err := name.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// inMemory sends requests to a handler through pipes.
type inMemory struct{ handler http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	from, to := io.Pipe()
	w := &pipeWriter{header: http.Header{}, to: to, ready: make(chan struct{})}
	stop := context.AfterFunc(r.Context(), func() { _ = from.CloseWithError(r.Context().Err()) })
	ask := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), r.Body)
	ask.Header, ask.ContentLength = r.Header, r.ContentLength
	go func() {
		defer func() {
			defer stop()
			if recover() != nil { // as http.ErrAbortHandler does
				_ = to.CloseWithError(io.ErrUnexpectedEOF)
			}
			w.WriteHeader(http.StatusOK)
			_ = to.Close()
		}()
		m.handler.ServeHTTP(w, ask)
	}()
	select {
	case <-w.ready:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	resp := &http.Response{
		StatusCode: w.code, Status: http.StatusText(w.code), Header: w.sent, Body: from, Request: r, ContentLength: -1,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if n := w.sent.Get("Content-Length"); n != "" {
		_, _ = fmt.Sscan(n, &resp.ContentLength)
	}
	if r.Method == http.MethodHead {
		resp.Body = io.NopCloser(strings.NewReader(""))
		_ = from.Close()
	}
	return resp, nil
}

type pipeWriter struct {
	header, sent http.Header
	to           *io.PipeWriter
	once         sync.Once
	ready        chan struct{}
	code         int
}

func (w *pipeWriter) Header() http.Header { return w.header }
func (w *pipeWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.code, w.sent = code, w.header.Clone()
		close(w.ready)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.to.Write(p)
}

// file is an entry of a layer. Without a kind it is a folder if the name ends with a slash, and a file otherwise.
type file struct {
	name string
	kind byte
	mode int64
	text string // the content, or where a link leads
}

// tarred returns files as a tar.
func tarred(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Typeflag: f.kind, Mode: f.mode, Uid: 12345, Gid: 54321, Devmajor: 1, Devminor: 3}
		switch {
		case f.kind == tar.TypeSymlink, f.kind == tar.TypeLink:
			h.Linkname = f.text
		case f.kind != 0:
		case strings.HasSuffix(f.name, "/"):
			h.Typeflag = tar.TypeDir
		default:
			h.Typeflag, h.Size = tar.TypeReg, int64(len(f.text))
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, f.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// image returns an image of layers, each of them a tar.
func image(t testing.TB, layers ...[]byte) v1.Image {
	t.Helper()
	var all []v1.Layer
	for _, text := range layers {
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	img, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), all...)
	if err != nil {
		t.Fatal(err)
	}
	return configured(t, img, runtime.GOARCH)
}

func configured(t testing.TB, img v1.Image, architecture string) v1.Image {
	t.Helper()
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture = "linux", architecture
	c.Config = v1.Config{Env: []string{"PATH=/bin", "A=b c"}, WorkingDir: "/w", Entrypoint: []string{"/e"}, Cmd: []string{"x", "y"}}
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	return img
}

// simple returns an image with one file.
func simple(t testing.TB) v1.Image { return image(t, tarred(t, file{name: "hello", text: "world"})) }

// tree returns the files of a folder as lines such as "d755 usr", "-644 usr/x=content" and "l usr/y>target".
func tree(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		at, _ := filepath.Rel(root, path)
		switch mode := info.Mode(); {
		case mode.IsDir():
			out = append(out, fmt.Sprintf("d%o %s", mode.Perm(), at))
		case mode.IsRegular():
			text, err := os.ReadFile(path) //nolint:gosec // no other process changes the tree
			if err != nil {
				return err
			}
			special := ""
			if mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				special = "s"
			}
			out = append(out, fmt.Sprintf("-%s%o %s=%s", special, mode.Perm(), at, text))
		case mode.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			out = append(out, fmt.Sprintf("l %s>%s", at, target))
		default:
			out = append(out, fmt.Sprintf("%v %s", mode.Type(), at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// kindOf returns the kind of an error, 0 if it is none of this package.
func kindOf(err error) Kind {
	if e, is := errors.AsType[*Error](err); is {
		return e.Kind
	}
	return 0
}

// left returns what is in the folders of pulls and removals.
func left(t *testing.T, s *Store) []string {
	t.Helper()
	var out []string
	for _, folder := range []string{pullFolder, goneFolder} {
		names, err := list(s.root, folder)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, names...)
	}
	return out
}

func zipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type blobKey struct{}

func withBlob(ctx context.Context, blob []byte) context.Context {
	return context.WithValue(ctx, blobKey{}, blob)
}

func blobOf(r *http.Request) []byte {
	blob, _ := r.Context().Value(blobKey{}).([]byte)
	return blob
}
