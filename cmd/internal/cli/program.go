package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/terminal"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// The groups of commands in the help of a program.
const (
	GroupUse = "use"
	GroupRun = "run"
)

// Maker makes one command of a program. A program of many commands makes only the one that is called: to make all takes
// longer than most commands.
type Maker struct {
	Name string // of the command that New returns
	New  func() *cobra.Command
}

// Make returns the commands of all makers.
func Make(makers []Maker) []*cobra.Command {
	out := make([]*cobra.Command, len(makers))
	for i, m := range makers {
		out[i] = m.New()
	}
	return out
}

// NewRoot returns the root of a program's commands. Without a command the program prints its help.
func NewRoot(name, short string) *cobra.Command {
	root := &cobra.Command{
		Use:           name,
		Short:         short,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cmdline.Usage("there is no command %q; see %s --help", args[0], name)
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if text, _, parsed := strings.Cut(err.Error(), ": strconv."); parsed {
			return cmdline.Usage("%s: it must be a number within bounds; see %s --help", text, cmd.CommandPath())
		}
		return cmdline.Usage("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: GroupUse, Title: "Jobs and the cluster:"}, &cobra.Group{ID: GroupRun, Title: "Running Berth:"})
	return root
}

// Parent returns a command that only has others below it: without one of them it prints its help.
func Parent(name, short, long string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(below...)
	return cmd
}

// AddGroup adds commands to a group of the root.
func AddGroup(root *cobra.Command, id string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// Execute carries out a command line and returns the exit code. The first SIGINT or SIGTERM requests an
// orderly end; the next one ends the process at once.
func Execute(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	ctx, stop := cmdline.UntilSignal()
	defer stop()
	root.SetArgs(args)
	stdout, stderr = terminal.Wrap(stdout), terminal.Wrap(stderr)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if code := cmdline.Signaled(ctx); code != 0 {
		if err = cmdline.WithoutCancel(err); err == nil {
			err = code
		}
	}
	return Fail(err, stderr)
}

// Fail prints the error of a command and returns the exit code of the program.
func Fail(err error, stderr io.Writer) int {
	if _, silent := errors.AsType[cmdline.ExitError](err); !silent {
		fmt.Fprintf(stderr, "berth: %s\n", cmdline.OneLine(cmdline.Advise(err)))
	}
	return cmdline.ExitCode(err)
}

// NoArgs refuses positional arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cmdline.Usage("%s takes no argument %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

// One returns a check that accepts exactly one argument, which is described by what.
func One(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return cmdline.Usage("%s takes %s; see %s --help", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// GoesOn returns the error of an interrupted wait, which says that the awaited job or allocation
// goes on, and how to end it.
func GoesOn(cmd *cobra.Command, what, remedy string, err error) error {
	if err != nil && cmd.Context().Err() != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s goes on; %s\n", what, remedy)
	}
	return err
}

// JobGoesOn is GoesOn for a job.
func JobGoesOn(cmd *cobra.Command, id string, err error) error {
	return GoesOn(cmd, "Job "+id, "to end it: berth cancel "+id, err)
}
