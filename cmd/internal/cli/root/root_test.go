package root

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli/daemon"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// whole returns the program with its own commands only.
func whole(t *testing.T) *cobra.Command {
	t.Helper()
	root := New(func() error { return nil })
	for _, c := range daemon.Commands() {
		if stub, _, err := root.Find(strings.Fields(c.Path)); err == nil && stub != root {
			stub.Parent().RemoveCommand(stub)
		}
	}
	return root
}

// eachCommand visits a command and all those below it.
func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, visit)
	}
}

// called runs a command in this process.
func called(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = Run(args, &o, &e)
	return code, o.String(), e.String()
}

// writeFile makes a file of its own for a test.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "berth.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every maker makes the command of its name, so that the command of a line is found without making all.
func TestMakersAreNamedAfterTheirCommands(t *testing.T) {
	t.Parallel()
	for _, g := range groups(nil) {
		for _, m := range g.makers {
			if cmd := m.New(); cmd.Name() != m.Name {
				t.Errorf("the maker %s makes the command %s", m.Name, cmd.Name())
			}
		}
	}
}

// The help of a command is the same whether it was made alone or with all others.
func TestOneCommandIsAsWithAllOthers(t *testing.T) {
	t.Parallel()
	for _, c := range New(func() error { return nil }).Commands() {
		if c.Name() == "help" || c.Name() == "completion" || daemon.Runs([]string{c.Name()}) {
			continue
		}
		var alone, all bytes.Buffer
		one := only([]string{c.Name()}, func() error { return nil })
		if one == nil {
			t.Errorf("%s is not made alone", c.Name())
			continue
		}
		other := New(func() error { return nil })
		for out, program := range map[*bytes.Buffer]*cobra.Command{&alone: one, &all: other} {
			program.SetOut(out)
			program.SetArgs([]string{c.Name(), "--help"})
			if err := program.Execute(); err != nil {
				t.Errorf("%s: %v", c.Name(), err)
			}
		}
		if !slices.Equal(strings.Fields(alone.String()), strings.Fields(all.String())) {
			t.Errorf("%s alone:\n%s\nwith all others:\n%s", c.Name(), alone.String(), all.String())
		}
	}
}

// Command lines of berthd are passed on as they are: its commands, the help on them and the completion of their arguments.
func TestCommandLinesOfBerthd(t *testing.T) {
	t.Parallel()
	failed := errors.New("berthd is not there")
	for line, passed := range map[string]bool{
		"server": true, "server --help": true, "help server": true, "__complete server --l": true, "__completeNoDesc cluster recover ": true,
		"cluster recover --yes": true, "help cluster recover": true, "snapshot verify /x": true, "supervise f": true,
		"cluster": false, "cluster recove": false, "help": false, "help cluster": false, "__complete serv": false, "__complete server": false,
		"__complete cluster recover": false, "servers": false, "": false, "version": false,
	} {
		args := strings.Split(line, " ")
		if line == "" {
			args = nil
		}
		var out, errs bytes.Buffer
		var got []string
		code := run(args, &out, &errs, func(args []string) error { got = args; return failed })
		switch {
		case passed && (code != cmdline.ExitFailure || !slices.Equal(got, args) || errs.String() != "berth: berthd is not there\n"):
			t.Errorf("%q: exit code %d, passed on are %q: %s", line, code, got, errs.String())
		case !passed && got != nil:
			t.Errorf("%q is passed on as %q", line, got)
		}
	}
}

// The help lists the commands of both programs, each with its line, and completion finds them.
func TestTheHelpListsBothPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range daemon.Commands() {
		words := strings.Fields(c.Path)
		last := words[len(words)-1]
		line := append(slices.Clone(words[:len(words)-1]), "--help")
		_, out, _ := called(line...)
		listed := strings.Contains(strings.Join(strings.Fields(out), " "), " "+last+" "+c.Short)
		if listed == c.Hidden {
			t.Errorf("berth %s lists %q: %t\n%s", strings.Join(line, " "), c.Path, listed, out)
		}
		_, out, _ = called(append(append([]string{"__complete"}, words[:len(words)-1]...), last[:2])...)
		if strings.Contains(out, last+"\t"+c.Short+"\n") == c.Hidden {
			t.Errorf("completion of %s: %s", c.Path, out)
		}
	}
}

// Settings are shown, explained and changed; files of settings are checked by berthd.
func TestConfigCommands(t *testing.T) {
	t.Setenv("BERTH_CONFIG", writeFile(t, "cluster:\n  name: c1\n"))
	t.Setenv("PORT", "8086")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"config", "show", "--given"}, 0, "berth.yaml:2: cluster.name"},
		{[]string{"config", "show"}, 0, "PORT"},
		{[]string{"config", "show"}, 0, "127.0.0.1:8086"},
		{[]string{"config", "show", "-o", "json"}, 0, `"where": "PORT"`},
		{[]string{"config", "explain"}, cmdline.ExitUsage, "one argument"},
		{[]string{"config", "explain", "--"}, cmdline.ExitUsage, "one argument"},
		{[]string{"config", "explain", "--http"}, 0, "server.http"},
		{[]string{"config", "explain", "--", "--http"}, 0, "server.http"},
		{[]string{"config", "explain", "--help"}, 0, "Explain a setting"},
		{[]string{"config", "explain", "--htp"}, cmdline.ExitNotFound, "berth config show"},
		{[]string{"config", "explain", "PORT"}, 0, "server.http"},
		{[]string{"config", "explain", "CONFIG_PATH"}, 0, "names the file with settings"},
		{[]string{"config", "explain", "RESEARCH_AGENT_USER_AUTH_TOKEN"}, 0, "token"},
		{[]string{"config", "explain", "server.htp"}, cmdline.ExitNotFound, "did you mean server.http?"},
		{[]string{"config", "example"}, 0, "#http: \"127.0.0.1:10000\""},
		{[]string{"config", "set"}, cmdline.ExitUsage, "at least one"},
		{[]string{"config", "set", "x"}, cmdline.ExitUsage, "NAME=VALUE"},
	} {
		code, out, errs := called(c.args...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("berth %s: exit code %d\n%s%s", strings.Join(c.args, " "), code, out, errs)
		}
	}
}

// The interval of a live view is bounded.
func TestTheIntervalOfTop(t *testing.T) {
	t.Parallel()
	if code, _, errs := called("top", "--interval", "1:00:01"); code != cmdline.ExitUsage || !strings.Contains(errs, "--interval must be 1s to 1h") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}
