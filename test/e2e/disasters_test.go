package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each row of the table of disasters names a test, and the test is there.
func TestEachDisasterHasATest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## Disasters\n")
	table, _, _ = strings.Cut(table, "\n## ")
	named := regexp.MustCompile("`([a-z/0-9]+)` `(Test[A-Za-z0-9]+)` \\|$")
	rows := 0
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| what happened") {
			continue
		}
		rows++
		m := named.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("no test is named: %s", line)
			continue
		}
		files, err := filepath.Glob(filepath.Join("../..", m[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		there := false
		for _, path := range files {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			there = there || strings.Contains(string(source), "\nfunc "+m[2]+"(t *testing.T)")
		}
		if !there {
			t.Errorf("there is no %s in %s", m[2], m[1])
		}
	}
	if !found || rows < 10 {
		t.Errorf("the table has %d rows", rows)
	}
}
