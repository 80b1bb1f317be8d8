package arch

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// A package that is listed as oversized may not grow, and its entry follows when it shrinks.
func TestOversizedPackages(t *testing.T) {
	t.Parallel()
	listed := map[string]packageSize{"a": {lines: 10_000}, "b": {files: 20}}
	for name, c := range map[string]struct {
		dir  string
		size packageSize
		want int
	}{
		"at the entry":               {"a", packageSize{lines: 10_000}, 0},
		"above the entry":            {"a", packageSize{lines: 10_001}, 1},
		"a little below the entry":   {"a", packageSize{lines: 9_600}, 0},
		"far below the entry":        {"a", packageSize{lines: 9_500}, 1},
		"within the limit":           {"a", packageSize{lines: 3_000}, 1},
		"an entry within the limit":  {"b", packageSize{files: 20}, 1},
		"another size is not listed": {"a", packageSize{lines: 10_000, cycle: 2_001}, 1},
		"not listed":                 {"c", packageSize{lines: 4_001, names: 201}, 2},
		"at the limit":               {"c", packageLimit(), 0},
	} {
		if got := judgeSize(c.dir, c.size, listed); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for dir := range oversized() { // order-free: each is looked at
		if _, err := os.Stat(filepath.Join("..", "..", dir)); err != nil {
			t.Errorf("oversized lists %s, which is gone", dir)
		}
	}
}

// A cycle holds the files that reach one another, not those that only lead into it or out of it.
func TestCycles(t *testing.T) {
	t.Parallel()
	edges := func(names ...string) map[string]bool {
		out := map[string]bool{}
		for _, n := range names {
			out[n] = true
		}
		return out
	}
	graph := map[string]map[string]bool{
		"in": edges("a"), "a": edges("b"), "b": edges("c"), "c": edges("a", "out"), "out": edges(), "d": edges("e"), "e": edges("d"), "f": edges("f"),
	}
	want := [][]string{{"a", "b", "c"}, {"d", "e"}}
	if got := cycles(graph); !reflect.DeepEqual(got, want) {
		t.Errorf("cycles are %v, want %v", got, want)
	}
}
