package root

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// What the library finds wrong with a command line is said in plain words, and ends as
// every other command line does that makes no sense.
func TestWhatNoCommandTakes(t *testing.T) {
	t.Setenv("BERTH_ADDRESS", "127.0.0.1:1")
	for line, says := range map[string]string{
		"audit --refusals --verify": "--refusals and --verify exclude each other: leave one out; see berth audit --help",
		"policy a b":                "berth policy takes no argument \"b\" after \"a\"; see berth policy --help",
		"quota pool a b c":          "berth quota pool takes no argument \"b\" after \"a\"",
		"allocations a b":           "berth allocations takes no argument \"b\" after \"a\"",
		"analyze a b":               "berth analyze takes no argument \"b\" after \"a\"",
		"completion bash x":         "berth completion bash takes no argument \"x\"",
		"explain ''":                "berth explain: argument 1 is empty",
		"cancel 17 ''":              "berth cancel: argument 2 is empty",
		"node show ' '":             "berth node show: argument 1 is empty",
		"explain .3":                "\".3\" is not a job",
		"submit --after '' -- x":    "--after is empty",
	} {
		args := strings.Split(strings.ReplaceAll(line, "' '", "\t"), " ")
		for i := range args {
			args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "''", ""), "\t", " ")
		}
		code, out, errs := called(args...)
		if code != cmdline.ExitUsage || out != "" || !strings.Contains(errs, says) {
			t.Errorf("berth %s: exit code %d, %s%s\nwant %s", line, code, out, errs, says)
		}
	}
}

// Arguments of a job's program are that program's: they may be empty, and many.
func TestArgumentsOfPrograms(t *testing.T) {
	f := newFakeAPI(t)
	program := []string{"grep", "", "a", "b", "c"}
	if code, out, errs := f.berth(t, append([]string{"submit", "--"}, program...)...); code != 0 || !slices.Equal(f.got.Args, program) {
		t.Errorf("exit code %d, %s%s, sent %q", code, out, errs, f.got.Args)
	}
}

// No command of the tree ends otherwise over arguments that it does not take.
func TestEveryCommandIsStrict(t *testing.T) {
	eachCommand(whole(t), func(cmd *cobra.Command) {
		for _, args := range [][]string{{}, {"x"}, {"x", "x", "x", "x", "x", "x"}, {""}} {
			if err := cmd.ValidateArgs(args); err != nil && cmdline.ExitCode(err) != cmdline.ExitUsage {
				t.Errorf("%s %q: %v", cmd.CommandPath(), args, err)
			}
		}
		if cmd.Annotations[cli.Programs] == "" && cmd.ValidateArgs([]string{""}) == nil {
			t.Errorf("%s takes an empty argument", cmd.CommandPath())
		}
	})
}
