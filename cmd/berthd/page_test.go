package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// docs/page.md says of every command where its work is done on the page for browsers, or that it is done by the command only.
func TestThePageKnowsEveryCommand(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "page.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed, want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `berth ([a-z -]+)` \\| (.+) \\|$").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, row[1])
	}
	for _, root := range both(t) {
		eachCommand(root, func(cmd *cobra.Command) {
			_, path, _ := strings.Cut(cmd.CommandPath(), " ")
			if cmd.Runnable() && path != "" && !aside(cmd) {
				want = append(want, path)
			}
		})
	}
	slices.Sort(want)
	want = slices.Compact(want)
	for _, path := range want {
		if !slices.Contains(listed, path) {
			t.Errorf("docs/page.md has no row for berth %s", path)
		}
	}
	for i, path := range listed {
		if !slices.Contains(want, path) || slices.Index(listed, path) != i {
			t.Errorf("docs/page.md has a row for berth %s, which is no command, or has two", path)
		}
	}
}

// aside reports whether a command is about the program itself, hidden, or one of Slurm's.
func aside(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		if c.Hidden || slices.Contains([]string{"completion", "help", "version", "slurm"}, c.Name()) {
			return true
		}
	}
	return false
}
