package arch

import (
	"path/filepath"
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
	t.Run("sizes", func(t *testing.T) {
		if found := reportSizes(tree); len(found) > 0 {
			t.Log(Law{Name: "sizes", Why: "what is larger than usual; no fault"}.Report(found))
		}
	})
	t.Run("odd words", func(t *testing.T) {
		law := Law{Name: "odd words", Why: "an international reader must understand each sentence at once"}
		if found := checkPlainWords(tree, oddWords()); len(found) > 0 {
			t.Error(law.Report(found))
		}
	})
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
