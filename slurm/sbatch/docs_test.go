package sbatch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// generated is the part of docs/slurm.md that the table of options is written to.
var generated = regexp.MustCompile(`(?s)(<!-- made of the table of options -->\n).*(<!-- end of the table -->)`)

// TestGeneratedChapterIsFresh compares docs/slurm.md with the table of options.
func TestGeneratedChapterIsFresh(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "slurm.md")
	old, err := os.ReadFile(path)
	if err != nil || !generated.Match(old) {
		t.Fatalf("docs/slurm.md has no room for the table: %v", err)
	}
	want := generated.ReplaceAll(old, []byte("${1}"+strings.ReplaceAll(chapter(), "$", "$$")+"${2}"))
	if bytes.Equal(old, want) {
		return
	}
	if !*update {
		t.Fatal("docs/slurm.md is stale: go test ./slurm/sbatch -run TestGenerated -update")
	}
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// chapter returns three tables: what is used, what has no effect, what is refused.
func chapter() string {
	var b strings.Builder
	for _, part := range []struct {
		effect              Effect
		title, third, forth string
	}{
		{Used, "Used", "what it does", ""},
		{NoEffect, "Without effect", "why", ""},
		{Refused, "Refused", "why", "what to do instead"},
	} {
		fmt.Fprintf(&b, "\n### %s\n\n| option | variable | %s |", part.title, part.third)
		if part.forth != "" {
			fmt.Fprintf(&b, " %s |", part.forth)
		}
		b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(part.forth)/max(len(part.forth), 1)) + "\n")
		for _, o := range Table() {
			if o.Effect != part.effect {
				continue
			}
			cells := []string{spellings(o), quoted(o.Env), cell(o.Text)}
			if o.Remedy != "" {
				cells = append(cells, cell(o.Remedy))
			}
			b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		}
	}
	b.WriteString("\n")
	return b.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func quoted(words []string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = "`" + cell(word) + "`"
	}
	return strings.Join(all, ", ")
}

// spellings returns all names of an option with the form of its value.
func spellings(o Option) string {
	var all []string
	if o.Short != 0 {
		all = append(all, "-"+string(o.Short))
	}
	for _, name := range o.names() {
		all = append(all, "--"+name)
	}
	switch last := len(all) - 1; o.Takes {
	case TakesValue:
		all[last] += "=" + o.Form
	case TakesOptional:
		all[last] += "[=" + strings.Trim(o.Form, "[]") + "]"
	case TakesNone:
	}
	return quoted(all)
}
