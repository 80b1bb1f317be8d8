package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestExamples runs each law on the small trees in testdata/<law>*.txtar. A
// tree's comment lists the findings wanted, one a line, as
//
//	want fsm/state/bad.go:7 part of what is found
//
// and nothing else may be found: the rest of the tree shows what is allowed.
func TestExamples(t *testing.T) {
	for _, law := range Laws() {
		names, err := filepath.Glob(filepath.Join("testdata", law.Name+"*.txtar"))
		if err != nil || len(names) == 0 {
			t.Errorf("the law %q has no example in testdata that breaks it (%v)", law.Name, err)
		}
		for _, name := range names {
			t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
				t.Parallel()
				archive, err := txtar.ParseFile(name)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, wants(t, archive), law.Check(unpack(t, archive)))
			})
		}
	}
}

// TestBrokenExample checks that an unwanted finding and a missing one both fail
// an example; without it, TestExamples could pass by comparing nothing.
func TestBrokenExample(t *testing.T) {
	found := []Finding{{File: "a.go", Line: 3, What: "a panic"}}
	want := []string{"a.go:3 a panic"}
	for name, got := range map[string][]string{
		"equal":   differences(want, found),
		"missing": differences(want, nil),
		"extra":   differences(nil, found),
		"line":    differences([]string{"a.go:4 a panic"}, found),
		"text":    differences([]string{"a.go:3 an exit"}, found),
	} {
		if (name == "equal") != (len(got) == 0) {
			t.Errorf("%s: differences are %q", name, got)
		}
	}
}

// unpack writes an example to a folder of its own and loads it.
func unpack(t *testing.T, archive *txtar.Archive) *Tree {
	t.Helper()
	root := t.TempDir()
	files := append(archive.Files, txtar.File{Name: "go.mod", Data: []byte("module " + Module + "\n\ngo 1.26\n")})
	for _, f := range files {
		name := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// wants lists the findings that an example's comment asks for.
func wants(t *testing.T, archive *txtar.Archive) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(string(archive.Comment)) {
		if want, ok := strings.CutPrefix(strings.TrimSpace(line), "want "); ok {
			list = append(list, want)
		}
	}
	if len(list) == 0 {
		t.Fatal("the example wants nothing found: it shows no law at work")
	}
	return list
}

func compare(t *testing.T, want []string, found []Finding) {
	t.Helper()
	for _, d := range differences(want, found) {
		t.Error(d)
	}
	for _, f := range found {
		if f.Do == "" {
			t.Errorf("%s: %s: nothing is said about what to do", f.File, f.What)
		}
	}
}

// differences matches findings with wants one to one, by place and part of text.
func differences(want []string, found []Finding) []string {
	var out []string
	left := slices.Clone(found)
	for _, w := range want {
		place, text, _ := strings.Cut(w, " ")
		i := slices.IndexFunc(left, func(f Finding) bool {
			return fmt.Sprintf("%s:%d", f.File, f.Line) == place && strings.Contains(f.What, text)
		})
		if i < 0 {
			out = append(out, "not found: "+w)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, f := range left {
		out = append(out, fmt.Sprintf("found in addition: %s:%d %s", f.File, f.Line, f.What))
	}
	return out
}
