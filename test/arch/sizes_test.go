package arch

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestLimits puts each size at its limit and one above it.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		make  func(n int) string
		limit int
		want  string
	}{
		"file":    {lines, usualFileLines, "the file has 401 lines, usual are up to 400"},
		"func":    {function, usualFuncLines, "long has 61 lines, usual are up to 60"},
		"literal": {literal, usualFuncLines, "a function literal has 61 lines, usual are up to 60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found := measure(t, c.make(c.limit)); len(found) != 0 {
				t.Errorf("at the limit of %d: found %v", c.limit, found)
			}
			found := measure(t, c.make(c.limit+1))
			if len(found) != 1 || found[0].What != c.want {
				t.Errorf("above the limit of %d: found %v, want %q", c.limit, found, c.want)
			}
		})
	}
}

// measure reports the sizes of one file.
func measure(t *testing.T, src string) []Finding {
	t.Helper()
	return reportSizes(unpack(t, &txtar.Archive{Files: []txtar.File{
		{Name: "cluster/a_test.go", Data: []byte(src)},
	}}))
}

func lines(n int) string {
	return "package cluster\n" + strings.Repeat("//\n", n-1)
}

func function(n int) string {
	return "package cluster\n\n// long is long.\nfunc long() {\n" + strings.Repeat("\tlong()\n", n-2) + "}\n"
}

func literal(n int) string {
	return "package cluster\n\nvar long = func() {\n" + strings.Repeat("\t_ = 1\n", n-2) + "}\n"
}
