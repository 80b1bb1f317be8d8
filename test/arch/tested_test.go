package arch

import (
	"os"
	"path/filepath"
	"testing"
)

// The list of packages without a test may only shrink: what is gone, small or tested leaves it.
func TestUntestedPackages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines          int
		tested, listed bool
		want           int
	}{
		"small":                {maxUntested, false, false, 0},
		"large":                {maxUntested + 1, false, false, 1},
		"large and tested":     {maxUntested + 1, true, false, 0},
		"large and listed":     {maxUntested + 1, false, true, 0},
		"small and listed":     {maxUntested, false, true, 1},
		"tested and listed":    {maxUntested + 1, true, true, 1},
		"tested, small, known": {1, true, true, 1},
	} {
		if got := judgeTested("a", c.lines, c.tested, c.listed); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for dir, why := range untested() { // order-free: each is looked at
		if _, err := os.Stat(filepath.Join("..", "..", dir)); err != nil || why == "" {
			t.Errorf("untested lists %s, for the reason %q: %v", dir, why, err)
		}
	}
}
