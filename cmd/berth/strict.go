package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// programs marks commands whose arguments are another program's, which may be empty.
const programs = "arguments of programs"

// strictly has every command of a tree refuse in this program's words what it does not take,
// so that what makes no sense ends with exit code 2 whoever finds it: arguments that are too
// many or empty, and flags that do not go together.
func strictly(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd, args); err != nil {
				return refusedArgs(cmd, check, args, err)
			}
		}
		if i := slices.IndexFunc(args, blank); i >= 0 && cmd.Annotations[programs] == "" {
			return usage("%s: argument %d is empty: leave it out, or look whether a shell variable is unset", cmd.CommandPath(), i+1)
		}
		if err := cmd.ValidateFlagGroups(); err != nil {
			return refusedFlags(cmd, err)
		}
		return nil
	}
	for _, sub := range cmd.Commands() {
		strictly(sub)
	}
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// refusedArgs names the first argument with which the check fails.
func refusedArgs(cmd *cobra.Command, check cobra.PositionalArgs, args []string, err error) error {
	path := cmd.CommandPath()
	if exitCode(err) == exitUsage || check(cmd, nil) != nil { // the command's own words, or too few
		return usage("%w", err)
	}
	n := 0
	for n < len(args) && check(cmd, args[:n+1]) == nil {
		n++
	}
	if n == 0 {
		return usage("%s takes no argument %q; see %s --help", path, args[0], path)
	}
	return usage("%s takes no argument %q after %q; see %s --help", path, args[n], args[n-1], path)
}

// flagGroup finds the flags that an error of the library names, the last list being of those
// that it is about.
var flagGroup = regexp.MustCompile(`\[([^\]]*)\]`)

// refusedFlags says what is wrong with flags of which one is needed, or that exclude each other.
func refusedFlags(cmd *cobra.Command, err error) error {
	path, groups := cmd.CommandPath(), flagGroup.FindAllStringSubmatch(err.Error(), -1)
	if len(groups) == 0 {
		return usage("%w; see %s --help", err, path)
	}
	names := strings.Fields(groups[len(groups)-1][1])
	for i := range names {
		names[i] = "--" + names[i]
	}
	if len(groups) == 1 {
		return usage("%s needs %s; see %s --help", path, strings.Join(names, " or "), path)
	}
	return usage("%s exclude each other: leave one out; see %s --help", strings.Join(names, " and "), path)
}
