package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The limits of what browsers load, compressed: with the first page, and in all.
const (
	firstLoad = 60 << 10
	wholeLoad = 200 << 10
)

const remedy = "; run make page, and commit both folders"

// hashes returns the SHA-256 of each file below a folder that counts, by its path from there.
func hashes(t *testing.T, root string, counts func(string) bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	files := os.DirFS(root)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !counts(name) {
			return err
		}
		data, err := fs.ReadFile(files, name)
		sum := sha256.Sum256(data)
		out[name] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// isInput reports whether what is built follows from a file of the folder page; page/vite.config.ts has the same rule.
func isInput(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	if top == "src" || top == "public" {
		return !strings.HasSuffix(name, ".test.ts") && !strings.HasSuffix(name, ".d.ts")
	}
	return slices.Contains([]string{"index.html", "package-lock.json", "package.json", "svelte.config.js", "tsconfig.json", "vite.config.ts"}, name)
}

// What is committed in dist was built from the sources that are committed, and was not changed by hand.
func TestBuiltFromTheseSources(t *testing.T) {
	t.Parallel()
	var built struct{ Inputs, Outputs map[string]string }
	data, err := dist.ReadFile("dist/" + manifest)
	if err != nil || json.Unmarshal(data, &built) != nil {
		t.Fatalf("%v: %s", err, data)
	}
	differs(t, "page", built.Inputs, hashes(t, filepath.Join("..", "..", "page"), isInput))
	differs(t, "httpapi/dashboard/dist", built.Outputs, hashes(t, "dist", func(name string) bool { return name != manifest }))
}

func differs(t *testing.T, folder string, want, got map[string]string) {
	t.Helper()
	both := maps.Clone(want)
	maps.Copy(both, got)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if want[name] != got[name] {
			t.Errorf("%s/%s is not the one of the last build%s", folder, name, remedy)
		}
	}
}

// imported finds the other files that a built file needs before it runs.
var imported = regexp.MustCompile(`from"\./([\w.-]+)"|import"\./([\w.-]+)"`)

// firstFiles returns what is loaded before Overview shows: the document, its style and its scripts.
func firstFiles(t *testing.T) map[string]bool {
	begin := map[string]bool{}
	for todo := []string{"index.html", "style.css", "index.js", "Overview.js"}; len(todo) > 0; todo = todo[1:] {
		if begin[todo[0]] {
			continue
		}
		begin[todo[0]] = true
		data, err := dist.ReadFile("dist/" + todo[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range imported.FindAllSubmatch(data, -1) {
			todo = append(todo, string(m[1])+string(m[2]))
		}
	}
	return begin
}

// licences is the file with the terms of what the page contains, which packages repeat.
const licences = "licenses.txt"

// The build lists the terms of the libraries that are part of the page.
func TestLicencesOfThePage(t *testing.T) {
	t.Parallel()
	text, err := dist.ReadFile("dist/" + licences)
	if err != nil || !bytes.Contains(text, []byte("\n## svelte - ")) || !bytes.Contains(text, []byte("Permission is hereby granted")) {
		t.Errorf("%s is %q (%v)", licences, text, err)
	}
}

func TestSizeOfThePage(t *testing.T) {
	t.Parallel()
	p, err := built()
	if err != nil {
		t.Fatal(err)
	}
	first, whole := 0, 0
	begin := firstFiles(t)
	for name, f := range p.files { // order-free: a sum
		if name == licences { // no part of the page refers to the file
			continue
		}
		whole += len(f.zipped())
		if begin[name] {
			first += len(f.zipped())
		}
	}
	if first > firstLoad || whole > wholeLoad {
		t.Errorf("compressed, the first load has %d bytes (limit %d) and the whole page %d (limit %d)", first, firstLoad, whole, wholeLoad)
	}
}

// get asks a handler.
func get(h http.Handler, target, accepts string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header.Set("Accept-Encoding", accepts)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestHandler(t *testing.T) {
	t.Parallel()
	const script = "console.log(1)"
	p, err := load(fstest.MapFS{
		"dist/index.html": {Data: []byte(`<html><head><script src="./app.js"></script></head></html>`)},
		"dist/app.js":     {Data: []byte(script)},
		"dist/BUILD.json": {Data: []byte(`{}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := p.handler(`1.2"<`, func() []string { return []string{"https://b.example"} })
	asset := Assets + p.digest + "/app.js"
	for _, target := range []string{Root, "/ui/jobs/17"} {
		r := get(h, target, "")
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != 200 || r.Header.Get("Cache-Control") != "no-cache" || !strings.Contains(string(body), `src="`+asset+`"`) || !strings.Contains(string(body), `content="1.2&#34;&lt;"`) {
			t.Errorf("%s is %d %v %s", target, r.StatusCode, r.Header, body)
		}
		if csp := r.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "connect-src 'self' https://b.example;") || !strings.Contains(csp, "default-src 'none'") {
			t.Errorf("the policy is %s", csp)
		}
	}
	for accepts, zipped := range map[string]bool{"gzip, br": true, "br;q=1, GZIP ; q=0.5": true, "": false, "gzip;q=0": false, "br": false} {
		r := get(h, asset, accepts)
		var body io.Reader = r.Body
		if zipped {
			if body, err = gzip.NewReader(r.Body); err != nil {
				t.Fatalf("%q: %v", accepts, err)
			}
		}
		data, err := io.ReadAll(body)
		if err != nil || string(data) != script || (r.Header.Get("Content-Encoding") == "gzip") != zipped || !strings.Contains(r.Header.Get("Cache-Control"), "immutable") ||
			r.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q gets %v %q (%v)", accepts, r.Header, data, err)
		}
	}
	for _, target := range []string{Assets, Assets + "app.js", Assets + "0000/app.js", Assets + p.digest + "/none.js", Assets + p.digest + "/BUILD.json", Assets + p.digest + "/../app.js"} {
		if r := get(h, target, ""); r.StatusCode != http.StatusNotFound || strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s is answered %d %v", target, r.StatusCode, r.Header)
		}
	}
}

// A program with half a page serves none.
func TestFilesThatAreMissing(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fstest.MapFS{
		"no document":     {"dist/app.js": {}},
		"no media type":   {"dist/index.html": {Data: []byte("x")}, "dist/a.exe": {}},
		"nothing built":   {},
		"no file at all":  {path.Join("dist", "BUILD.json"): {}},
		"only the record": {"dist/BUILD.json": {Data: []byte("{}")}},
	} {
		if _, err := load(files); err == nil {
			t.Errorf("%s: it was loaded", name)
		}
	}
}
