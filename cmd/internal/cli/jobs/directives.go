package jobs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// changedFlags returns the names of the flags that the command line has set.
func changedFlags(cmd *cobra.Command) map[string]bool {
	given := map[string]bool{}
	cmd.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = true })
	return given
}

// applyDirectives sets flags from the #BERTH lines at the head of a script, except those that the command line has set. #SBATCH
// lines of such a script are for another system.
func applyDirectives(cmd *cobra.Command, script string, given map[string]bool) error {
	for number, line := range headLines(script) {
		var err error
		if rest, ours := directive(line, "#BERTH"); ours {
			err = applyBerth(cmd, rest, given)
		}
		if err != nil {
			return cmdline.Usage("line %d of the script: %w", number+1, err)
		}
	}
	return nil
}

// headLines returns a script's lines up to the first command.
func headLines(script string) []string {
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "#") {
			return lines[:i]
		}
	}
	return lines
}

func directive(line, mark string) ([]string, bool) {
	rest, found := strings.CutPrefix(strings.TrimSpace(line), mark)
	if !found || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return nil, false
	}
	rest, _, _ = strings.Cut(rest, " #")
	return strings.Fields(rest), true
}

// scriptOptions parses "--name=value", "--name value", "-n value" and "-nvalue".
func scriptOptions(words []string) (out [][2]string, err error) {
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		switch {
		case strings.HasPrefix(name, "--"):
			name = name[2:]
		case strings.HasPrefix(name, "-") && len(name) >= 2:
			if len(name) > 2 {
				value, joined = strings.TrimPrefix(words[i][2:], "="), true
			}
			name = name[1:2]
		default:
			return nil, fmt.Errorf("%q is not an option", words[i])
		}
		if !joined && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			i++
			value = words[i]
		}
		out = append(out, [2]string{name, value})
	}
	return out, nil
}

func applyBerth(cmd *cobra.Command, words []string, given map[string]bool) error {
	list, err := scriptOptions(words)
	if err != nil {
		return err
	}
	for _, o := range list {
		f := cmd.Flags().Lookup(o[0])
		if len(o[0]) == 1 {
			f = cmd.Flags().ShorthandLookup(o[0])
		}
		if f == nil {
			return fmt.Errorf("there is no option %q; see berth submit --help", o[0])
		}
		if err := setFlag(cmd, f, o[1], given); err != nil {
			return err
		}
	}
	return nil
}

// setFlag sets a flag from a script, unless the command line has set it.
func setFlag(cmd *cobra.Command, f *pflag.Flag, value string, given map[string]bool) error {
	if given[f.Name] {
		return nil
	}
	if value == "" {
		if value = f.NoOptDefVal; value == "" {
			return fmt.Errorf("--%s needs a value", f.Name)
		}
	}
	if err := cmd.Flags().Set(f.Name, value); err != nil {
		return fmt.Errorf("--%s: %w", f.Name, err)
	}
	return cli.CheckFlag(f)
}
