package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What runs the commands of a page for a reader sets no variable of Berth that the page does not set: the reader would not have it, and the
// page would be wrong without anybody noticing.
func TestNothingIsSetBehindTheReader(t *testing.T) {
	t.Parallel()
	pages := ""
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md", "../../README.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			pages += read(t, file)
		}
	}
	set := regexp.MustCompile(`\b(BERTH_[A-Z_]+)=`)
	all := map[string]string{"an example that breaks the rule": "BERTH_AGENT_SHARED_ACCOUNT=true berthd agent"}
	for _, pattern := range []string{"*.go", "../packages/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			all[file] = read(t, file)
		}
	}
	delete(all, "given_test.go")
	broken := 0
	for file, text := range all {
		for _, found := range set.FindAllStringSubmatch(text, -1) {
			// The image's name is compose's own setting, and its socket stands in each command of the page's.
			if name := found[1]; strings.Contains(pages, name+"=") || strings.Contains(read(t, "../../deploy/compose/compose.yaml"), name+"=") || name == "BERTH_ADDRESS" || strings.HasPrefix(name, "BERTH_LOG_") {
				continue
			}
			if broken++; file != "an example that breaks the rule" {
				t.Errorf("%s sets %s, which no page has: write it into the page, or set what the page says", file, found[1])
			}
		}
	}
	if broken == 0 {
		t.Error("the example that breaks the rule was not found")
	}
}
