package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/daemon"
	"github.com/berth-gpu/berth/cmd/internal/cli/root"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// What berth knows of the commands of this program is what they are, and complete.
func TestTheListOfBerthIsThatOfBerthd(t *testing.T) {
	t.Parallel()
	known := map[string]daemon.Command{}
	for _, c := range daemon.Commands() {
		known[c.Path] = c
	}
	ofUsers := root.New(func() error { return nil })
	var visit func(cmd *cobra.Command, path string)
	visit = func(cmd *cobra.Command, path string) {
		c, listed := known[path]
		delete(known, path)
		switch {
		case listed && (c.Short != cmd.Short || c.Hidden != cmd.Hidden):
			t.Errorf("%s is known as %+v, and is %q, hidden: %t", path, c, cmd.Short, cmd.Hidden)
		case listed:
		case cmd.HasSubCommands():
			for _, sub := range cmd.Commands() {
				visit(sub, strings.TrimSpace(path+" "+sub.Name()))
			}
		case path == "doctor" || path == "support-bundle": // of both programs, since users' machines have berth alone
			own, _, err := ofUsers.Find([]string{path})
			if err != nil || own.Short != cmd.Short || own.Long != cmd.Long || own.Flags().FlagUsages() != cmd.Flags().FlagUsages() {
				t.Errorf("%s is another command in berth: %v", path, err)
			}
		case path != "help" && path != "version":
			t.Errorf("berth does not know the command %q of berthd", path)
		}
	}
	for _, sub := range newRoot("berth").Commands() {
		if sub.Name() != "completion" {
			visit(sub, sub.Name())
		}
	}
	for path := range known {
		t.Errorf("berthd has no command %q, which berth passes on", path)
	}
}

// Both programs have the same words for the same kind of mistakes.
func TestWhatNoCommandTakes(t *testing.T) {
	for line, says := range map[string]string{
		"simulate":             "berth simulate needs --trace or --history; see berth simulate --help",
		"simulate x --trace y": "berth simulate takes no argument \"x\"; see berth simulate --help",
		"simulate --trace x --cluster c.yaml --nodes 3": "--cluster and --nodes exclude each other: leave one out; see berth simulate --help",
		"simulate --trace x --history":                  "--history and --trace exclude each other",
		"simulate --trace x --compare sjf --policy sjf": "--compare and --policy exclude each other",
		"server --http \xe9":                            "--http is not valid UTF-8",
		"server --http ":                                "--http is empty: leave it out",
		"submit":                                        "there is no command \"submit\"; see berth --help",
		"cluster rotate":                                "berth cluster takes no argument \"rotate\"",
	} {
		code, out, errs := called(strings.Split(line, " ")...)
		if code != cmdline.ExitUsage || out != "" || !strings.Contains(errs, says) {
			t.Errorf("berth %s: exit code %d, %s%s\nwant %s", line, code, out, errs, says)
		}
	}
}

// No command of the tree ends otherwise over arguments that it does not take, and no flag takes an empty value.
func TestEveryCommandIsStrict(t *testing.T) {
	eachCommand(newRoot("berth"), func(cmd *cobra.Command) {
		for _, args := range [][]string{{}, {"x"}, {"x", "x", "x", "x", "x", "x"}, {""}} {
			if err := cmd.ValidateArgs(args); err != nil && cmdline.ExitCode(err) != cmdline.ExitUsage {
				t.Errorf("%s %q: %v", cmd.CommandPath(), args, err)
			}
		}
		if cmd.ValidateArgs([]string{""}) == nil {
			t.Errorf("%s takes an empty argument", cmd.CommandPath())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "bool" && f.Value.Set("") == nil && cli.CheckFlag(f) == nil {
				t.Errorf("%s --%s '' is taken", cmd.CommandPath(), f.Name)
			}
		})
	})
}

// A berthd that a berth of another version calls ends before anything else, and names both versions.
func TestBerthOfAnotherVersion(t *testing.T) {
	t.Setenv("BERTH_CALLER", "v0.0.1-other")
	var out, errs bytes.Buffer
	if code := run("berth", []string{"version"}, &out, &errs); code != cmdline.ExitFailure || out.Len() > 0 ||
		!strings.Contains(errs.String(), `berth: berth is of version "v0.0.1-other" and `) || !strings.Contains(errs.String(), "install both programs of one version") {
		t.Errorf("exit code %d, %s%s", code, out.String(), errs.String())
	}
}
