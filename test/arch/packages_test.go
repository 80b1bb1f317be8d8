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
	listed := map[string]int{"a": 10_000, "b": 2_000}
	for name, c := range map[string]struct {
		dir  string
		n    int
		want int
	}{
		"at the entry":              {"a", 10_000, 0},
		"above the entry":           {"a", 10_001, 1},
		"a little below the entry":  {"a", 9_600, 0},
		"far below the entry":       {"a", 9_500, 1},
		"within the limit":          {"a", 1_900, 1},
		"an entry within the limit": {"b", 2_000, 1},
		"not listed":                {"c", 2_001, 1},
		"at the limit":              {"c", maxCycle, 0},
	} {
		if got := judgeCycle(c.dir, c.n, listed); len(got) != c.want {
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
