package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/cli/daemon"
	"github.com/berth-gpu/berth/cmd/internal/cli/root"
)

// manualTo is where make release has the pages and completions written to. No program contains what writes them.
var manualTo = flag.String("manual", "", "`folder` to write manual pages and completions of shells to")

// whole returns the command berth as users see it: its own commands, and those that berthd carries out for it.
func whole() *cobra.Command {
	all := root.New(func() error { return nil })
	for _, full := range newRoot(daemon.Name).Commands() {
		own, _, err := all.Find([]string{full.Name()})
		switch {
		case err != nil || own == all:
			all.AddCommand(full)
		case !full.HasSubCommands():
			if full.Name() != "version" && full.Name() != "help" {
				full.GroupID = own.GroupID
				all.RemoveCommand(own)
				all.AddCommand(full)
			}
		default:
			merge(own, full)
		}
	}
	return all
}

// merge puts the commands of berthd below a command in the place of those that only have their names.
func merge(own, full *cobra.Command) {
	if own.Name() == "completion" {
		return
	}
	for _, sub := range full.Commands() {
		for _, stub := range own.Commands() {
			if stub.Name() == sub.Name() {
				own.RemoveCommand(stub)
			}
		}
		own.AddCommand(sub)
	}
}

// Every command has a manual page, with all of its flags, and each shell a completion.
func TestManual(t *testing.T) {
	dir := *manualTo
	if dir == "" {
		dir = t.TempDir()
	}
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := whole()
	all.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "Berth", Manual: "Berth"}
	if os.Getenv("SOURCE_DATE_EPOCH") == "" { // by it the library takes the time of the commit
		at := time.Now()
		header.Date = &at
	}
	eachCommand(all, func(cmd *cobra.Command) {
		if id := cmd.Flags().Lookup("id"); id != nil {
			id.DefValue = "" // the name of the machine on which the pages are made
		}
	})
	if err := doc.GenManTreeFromOpts(all, doc.GenManTreeOptions{Header: header, Path: man, CommandSeparator: "-"}); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string) error{
		"berth.bash": func(to string) error { return all.GenBashCompletionFileV2(to, true) },
		"_berth":     all.GenZshCompletionFile,
		"berth.fish": func(to string) error { return all.GenFishCompletionFile(to, true) },
	} {
		to := filepath.Join(completions, name)
		if err := write(to); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(to); err != nil || !strings.Contains(string(text), "__complete") {
			t.Errorf("%s does not ask berth what completes a line: %v", name, err)
		}
	}
	eachCommand(all, func(cmd *cobra.Command) { checkPage(t, man, cmd) })
}

// checkPage checks the page of a command.
func checkPage(t *testing.T, dir string, cmd *cobra.Command) {
	t.Helper()
	if !cmd.IsAvailableCommand() || cmd.IsAdditionalHelpTopicCommand() {
		return
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Errorf("there is no page for %s: %v", cmd.CommandPath(), err)
		return
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(strings.ReplaceAll(string(text), `\-`, "-"), "--"+f.Name) {
			t.Errorf("%s does not describe --%s", name, f.Name)
		}
	})
}
