// Package dashboard serves the page of a cluster at /ui/: an application that runs in browsers and uses the API as any other client. Its
// built files are part of the program (dist, made by "make page" from the folder page of the repository).
package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Root is the path of the page, and Assets the path of its files, below which there is a folder named by the digest of all.
const (
	Root   = "/ui/"
	Assets = Root + "_/"
)

//go:embed dist
var dist embed.FS

const (
	shell    = "index.html" // of the page: its only document
	manifest = "BUILD.json" // what was built from what; it is for tests and not served
)

// types are the media types of files, by extension. Those of the operating system may differ.
var types = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// file is one file as it is sent.
type file struct {
	media  string
	plain  []byte
	zipped func() []byte // compressed once the first browser asks: most peers show the page to none
}

func newFile(media string, plain []byte) file {
	return file{media, plain, sync.OnceValue(func() []byte { return zip(plain) })}
}

// page is all files of the page.
type page struct {
	digest string // of all files
	files  map[string]file
}

// built is the page of all peers of this process.
var built = sync.OnceValues(func() (*page, error) { return load(dist) })

// load reads the files of a page from the folder dist.
func load(from fs.FS) (*page, error) {
	p, sum := &page{files: map[string]file{}}, sha256.New()
	err := fs.WalkDir(from, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(name) == manifest {
			return err
		}
		media, known := types[path.Ext(name)]
		if !known {
			return fmt.Errorf("%s: files with the extension %q have no media type", name, path.Ext(name))
		}
		plain, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "dist/")
		fmt.Fprintf(sum, "%q %d\n", name, len(plain))
		_, _ = sum.Write(plain) // never fails
		p.files[name] = newFile(media, plain)
		return nil
	})
	if err == nil && p.files[shell].plain == nil {
		err = fmt.Errorf("dist/%s is missing", shell)
	}
	p.digest = hex.EncodeToString(sum.Sum(nil))[:16]
	return p, err
}

// zip compresses data by gzip. Writing to memory never fails.
func zip(plain []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = w.Write(plain)
	_ = w.Close()
	return out.Bytes()
}

// Handler returns the handler of all paths below [Root]. Version is this program's; peers returns the origins under which browsers reach
// the peers of the cluster, such as "https://gpu1.example.org": the page goes on at another peer when this one fails. An error means that
// the program was built without the page's files.
func Handler(version string, peers func() []string) (http.Handler, error) {
	p, err := built()
	if err != nil {
		return nil, err
	}
	return p.handler(version, peers), nil
}

func (p *page) handler(version string, peers func() []string) http.Handler {
	document := p.document(version)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		protect(h, peers())
		rest, asset := strings.CutPrefix(r.URL.Path, Assets)
		if !asset { // any other path is one of the page's own, which the application shows
			h.Set("Cache-Control", "no-cache")
			send(w, r, document)
			return
		}
		name, current := strings.CutPrefix(rest, p.digest+"/")
		f, found := p.files[name]
		if !current || !found {
			h.Set("Cache-Control", "no-store")
			http.Error(w, "this peer has another version of the page: load it again at "+Root, http.StatusNotFound)
			return
		}
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		send(w, r, f)
	})
}

// document returns the page's document, which refers to the files of its own version, and has the version of the program.
func (p *page) document(version string) file {
	f := p.files[shell]
	text := strings.NewReplacer(
		`"./`, `"`+Assets+p.digest+"/",
		"</head>", `<meta name="berth-version" content="`+html.EscapeString(version)+`"></head>`,
	).Replace(string(f.plain))
	return newFile(f.media, []byte(text))
}

// send writes a file, compressed if the client accepts that.
func send(w http.ResponseWriter, r *http.Request, f file) {
	h, data := w.Header(), f.plain
	h.Set("Content-Type", f.media)
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		data = f.zipped()
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(data) // a client that has left needs no answer
}

// acceptsGzip reports whether a client accepts gzip (RFC 9110, section 12.5.3).
func acceptsGzip(values []string) bool {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			name, quality, _ := strings.Cut(strings.TrimSpace(one), ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				_, text, _ := strings.Cut(quality, "=")
				q, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				return err != nil || q > 0
			}
		}
	}
	return false
}

// protect sets the headers that keep other sites, and text that is no part of the page, from acting in it. The page runs its own scripts
// only, calls the peers only, is shown in no frame, and can make no markup from text (https://www.w3.org/TR/CSP3,
// https://www.w3.org/TR/trusted-types).
func protect(h http.Header, peers []string) {
	connect := strings.Join(append([]string{"'self'"}, peers...), " ")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "+connect+"; worker-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html berth")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}
