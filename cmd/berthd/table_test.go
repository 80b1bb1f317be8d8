package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the tables of commands into docs/commands.md")

// generated is the part of docs/commands.md that is made of the commands of both programs.
var generated = regexp.MustCompile(`(?s)(<!-- made of the commands -->\n).*(<!-- end of the commands -->\n)`)

// The tables in docs/commands.md have every command, with its arguments and the line that the help has for it.
func TestGeneratedTablesOfCommandsAreFresh(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "commands.md")
	old, err := os.ReadFile(path)
	if err != nil || !generated.Match(old) {
		t.Fatalf("docs/commands.md has no room for the tables: %v", err)
	}
	want := generated.ReplaceAll(old, []byte("${1}"+strings.ReplaceAll(commandTables(), "$", "$$")+"${2}"))
	if bytes.Equal(old, want) {
		return
	}
	if !*update {
		t.Fatal("docs/commands.md is stale: go test ./cmd/berthd -run TestGenerated -update")
	}
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// commandTables returns one table for each group of the help.
func commandTables() string {
	var b strings.Builder
	all := whole()
	for _, group := range all.Groups() {
		fmt.Fprintf(&b, "\n### %s\n\n| command | arguments | what it does |\n|---|---|---|\n", strings.TrimSuffix(group.Title, ":"))
		for _, cmd := range all.Commands() {
			if cmd.GroupID == group.ID {
				writeRows(&b, cmd)
			}
		}
	}
	return b.String() + "\n"
}

// writeRows writes a row for a command and for each below it, but for hidden ones.
func writeRows(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden {
		return
	}
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	_, args, _ := strings.Cut(cmd.Use, " ")
	if args = strings.TrimSpace(strings.TrimPrefix(args, "[flags]")); args != "" {
		args = "`" + strings.ReplaceAll(args, "|", `\|`) + "`"
	}
	fmt.Fprintf(b, "| `berth %s` | %s | %s |\n", path, args, strings.ReplaceAll(cmd.Short, "|", `\|`))
	for _, sub := range cmd.Commands() {
		writeRows(b, sub)
	}
}
