package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what is made of the table of settings")

var root = filepath.Join("..", "..", "..")

// generated stands in docs/configuration.md between what is written by hand.
var generated = regexp.MustCompile(`(?s)(<!-- made of the table of settings -->\n).*(<!-- end -->\n)`)

// What is made of the table says what the table says.
func TestGeneratedFilesAreFresh(t *testing.T) {
	for path, text := range map[string]func(old string) string{
		"deploy/berth.example.yaml": func(string) string { return Example() },
		"docs/configuration.md": func(old string) string {
			return generated.ReplaceAllString(old, "${1}"+strings.ReplaceAll(Reference(), "$", "$$")+"\n${2}")
		},
	} {
		path = filepath.Join(root, filepath.FromSlash(path))
		old, err := os.ReadFile(path)
		if err != nil && !*update {
			t.Fatal(err)
		}
		want := []byte(text(string(old)))
		if bytes.Equal(old, want) {
			continue
		}
		if !*update {
			t.Errorf("%s is stale: go test ./cmd/internal/config -run TestGenerated -update", path)
			continue
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	if err != nil || !generated.Match(page) {
		t.Errorf("docs/configuration.md has no room for the table: %v", err)
	}
}

// Every line of the example is right once its # is taken away, and says what is so
// anyway.
func TestTheExampleIsRight(t *testing.T) {
	text := regexp.MustCompile(`(?m)^  #(\w)`).ReplaceAllString(Example(), "  $1")
	got, err := loadText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	plain := New().Settings()
	for i, row := range got.Rows() {
		if row.Value.Text() != plain[i].Value.Text() {
			t.Errorf("%s is %q, by default %q", row.Name, row.Value.Text(), plain[i].Value.Text())
		}
		if got.Origin(row.Name).Layer != FromFile {
			t.Errorf("%s is not in the example", row.Name)
		}
	}
	if _, err := loadText(t, Example()); err != nil {
		t.Errorf("as it is: %v", err)
	}
}

// loadText loads a file with this text, as a peer.
func loadText(t testing.TB, text string, environ ...string) (*Loaded, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "berth.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Source{Program: OfServer, File: path, Environ: environ})
}

// A value that a reader of YAML 1.1 takes for something else than text stands in quotes, also in
// lists and pairs; numbers, switches and times stand as they are.
func TestWrittenIsTextToReadersOfYAML11(t *testing.T) {
	t.Parallel()
	text, list, pairs, on, span := "", []string{}, map[string]string{}, true, 90*time.Second
	for _, v := range []string{"no", "on", "1:30", "0x1f", "1_000", "2026-01-31", "~", "12", "null", ""} {
		text = v
		if got := Written(Text(&text, "name")); got != strconv.Quote(v) {
			t.Errorf("%q is written as %s", v, got)
		}
		if v == "" {
			continue
		}
		list, pairs = []string{"a", v}, map[string]string{v: v}
		if got := Written(List(&list, "names")); got != `[a, "`+v+`"]` {
			t.Errorf("a list with %q is written as %s", v, got)
		}
		if got := Written(Pairs(&pairs, "pairs")); got != `{"`+v+`": "`+v+`"}` {
			t.Errorf("a pair of %q is written as %s", v, got)
		}
	}
	text = "lab"
	for want, v := range map[string]Value{"lab": Text(&text, "name"), "true": Switch(&on), "1m30s": Span(&span, 0, time.Hour, true)} {
		if got := Written(v); got != want {
			t.Errorf("%q is written as %s", want, got)
		}
	}
}
