package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// Programs marks commands whose arguments belong to another program and may be empty.
const Programs = "arguments of programs"

// emptyMeans marks flags for which an empty value has a meaning.
const emptyMeans = "an empty value has a meaning"

// AllowEmpty exempts a flag from the rule that a value is not empty.
func AllowEmpty(f *pflag.FlagSet, name string) {
	_ = f.SetAnnotation(name, emptyMeans, []string{"true"}) // fails only for a flag that does not exist
}

// Strictly makes every command of a tree refuse invalid command lines with exit code 2: arguments
// that are too many or empty, flags without a value, text that is not UTF-8, and flags that exclude
// each other.
func Strictly(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd, args); err != nil {
				return refusedArgs(cmd, check, args, err)
			}
		}
		if i := slices.IndexFunc(args, Blank); i >= 0 && cmd.Annotations[Programs] == "" {
			return cmdline.Usage("%s: argument %d is empty: leave it out, or check whether a shell variable is unset", cmd.CommandPath(), i+1)
		}
		for i, text := range args {
			if err := cmdline.UTF8Text(text); err != nil {
				return cmdline.Usage("%s: argument %d %w", cmd.CommandPath(), i+1, err)
			}
		}
		if err := checkFlags(cmd.Flags()); err != nil {
			return cmdline.Usage("%w", err)
		}
		if err := cmd.ValidateFlagGroups(); err != nil {
			return refusedFlags(cmd, err)
		}
		return nil
	}
	for _, sub := range cmd.Commands() {
		Strictly(sub)
	}
}

// Blank reports whether a text has nothing but white space.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

// checkFlags checks the values of all flags that were given.
func checkFlags(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if err == nil {
			err = CheckFlag(f)
		}
	})
	return err
}

// CheckFlag refuses an empty value, which would widen a request if a shell variable is unset, and
// text that no request can carry.
func CheckFlag(f *pflag.Flag) error {
	texts := []string{f.Value.String()}
	if list, is := f.Value.(interface{ GetSlice() []string }); is {
		texts = list.GetSlice()
	}
	for _, text := range texts {
		if err := cmdline.UTF8Text(text); err != nil {
			return fmt.Errorf("--%s %w", f.Name, err)
		}
	}
	if f.Annotations[emptyMeans] == nil && (len(texts) == 0 || slices.ContainsFunc(texts, Blank)) {
		return fmt.Errorf("--%s is empty: leave it out, or check whether a shell variable is unset", f.Name)
	}
	return nil
}

// refusedArgs returns an error that names the first argument with which the check fails.
func refusedArgs(cmd *cobra.Command, check cobra.PositionalArgs, args []string, err error) error {
	path := cmd.CommandPath()
	if cmdline.ExitCode(err) == cmdline.ExitUsage || check(cmd, nil) != nil { // the command's own error, or too few arguments
		return cmdline.Usage("%w", err)
	}
	n := 0
	for n < len(args) && check(cmd, args[:n+1]) == nil {
		n++
	}
	if n == 0 {
		return cmdline.Usage("%s takes no argument %q; see %s --help", path, args[0], path)
	}
	return cmdline.Usage("%s takes no argument %q after %q; see %s --help", path, args[n], args[n-1], path)
}

// refusedFlags returns the error of flags of which one is needed, or that exclude each other.
func refusedFlags(cmd *cobra.Command, err error) error {
	flagGroup := regexp.MustCompile(`\[([^\]]*)\]`) // the flags that an error of the library names; the last list has those that are at fault
	path, groups := cmd.CommandPath(), flagGroup.FindAllStringSubmatch(err.Error(), -1)
	if len(groups) == 0 {
		return cmdline.Usage("%w; see %s --help", err, path)
	}
	names := strings.Fields(groups[len(groups)-1][1])
	for i := range names {
		names[i] = "--" + names[i]
	}
	if len(groups) == 1 {
		return cmdline.Usage("%s needs %s; see %s --help", path, strings.Join(names, " or "), path)
	}
	return cmdline.Usage("%s exclude each other: leave one out; see %s --help", strings.Join(names, " and "), path)
}
