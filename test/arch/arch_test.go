package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTree holds this repository to its laws.
func TestTree(t *testing.T) {
	tree, err := Load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) == 0 || len(tree.Typed) == 0 {
		t.Fatalf("found %d Go files and %d packages in %s: the laws would hold of nothing",
			len(tree.Files), len(tree.Typed), tree.Root)
	}
	for _, law := range Laws() {
		t.Run(law.Name, func(t *testing.T) {
			if found := law.Check(tree); len(found) > 0 {
				t.Error(law.Report(found))
			}
		})
	}
	t.Run("odd words", func(t *testing.T) {
		law := Law{Name: "odd words", Why: "an international reader must understand each sentence at once"}
		if found := checkPlainWords(tree, oddWords()); len(found) > 0 {
			t.Error(law.Report(found))
		}
	})
}

// TestRoomsRunDownwards checks the table itself: a room that may import one of
// its own level or above would make the law "imports" contradict itself.
func TestRoomsRunDownwards(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range Rooms() {
		if seen[r.Path] {
			t.Errorf("%s has two rooms", r.Path)
		}
		seen[r.Path] = true
		for _, m := range r.May {
			target, ok := roomOf(m)
			if !ok {
				t.Errorf("%s may import %s, which has no room", r.Path, m)
			}
			if target.Level >= r.Level {
				t.Errorf("%s at level %d may import %s at level %d", r.Path, r.Level, m, target.Level)
			}
		}
	}
}

// TestReport checks that a failing law says where, what, why and what to do.
func TestReport(t *testing.T) {
	law := Law{Name: "purity", Why: "peers disagree"}
	got := law.Report([]Finding{
		{File: "a.go", Line: 3, What: "a clock", Do: "take now"},
		{File: "b.go", What: "a file", Do: "take bytes"},
		{File: "c.go", Line: 9, What: "a timer", Do: "take now"},
	})
	want := `the law "purity" is broken: peers disagree
a.go:3: a clock
c.go:9: a timer
    do: take now
b.go: a file
    do: take bytes`
	if got != want {
		t.Errorf("the report is\n%s\nwant\n%s", got, want)
	}
}

// TestNoGoroutinesWithoutRaceDetector checks that the packages of which make test runs the tests
// without the race detector start no goroutine.
func TestNoGoroutinesWithoutRaceDetector(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(strings.ReplaceAll(string(makefile), "\\\n", " "), "\nPURE := ")
	list, _, _ = strings.Cut(list, "\n")
	if len(strings.Fields(list)) < 10 {
		t.Fatalf("the list PURE of the Makefile was not found: %q", list)
	}
	for dir := range strings.FieldsSeq(list) {
		dir = strings.TrimSuffix(dir, "/...")
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %d files: %v", dir, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				sel, is := n.(*ast.SelectorExpr)
				_, starts := n.(*ast.GoStmt)
				if starts || is && sel.Sel.Name == "Go" {
					t.Errorf("%s starts a goroutine: take %s out of PURE", file, dir)
				}
				return true
			})
		}
	}
}
