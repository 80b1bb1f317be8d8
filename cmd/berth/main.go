// Command berth runs every part of Berth: one program, one subcommand a part.
//
//	main.go            from the command line to an exit code
//	version.go         berth version
//	server.go          berth server: its flags
//	options.go         the settings of a server, and which of them contradict each other
//	advice.go          the settings of the analysis of workloads
//	rules.go           what jobs may run: the file of --command-rules
//	serve.go           a running server: what starts and ends in which order
//	faults.go          why a server cannot start, in one line for the operator
//	web.go             its HTTP side, on the peer by httpapi/plug
//	shadow.go          how the policy compares with the order of arrival, as metrics
//	log.go             a log that never blocks the program
//	members.go         certificates: a server's and an agent's own, and those that a server issues
//	gossip.go          what gossip says of the other members
//	recover.go         berth cluster recover
//	agent.go, gpus.go, supervise.go, supervisor.go    the programs of a GPU host
//	keys.go            the keys of a server's file
//	config.go, shared.go, reload.go                   settings of programs, and those of the whole cluster
//	dev.go, demo.go, bench.go                         whole clusters on one machine
//
// What commands have in common is in cmd/internal/cli, and the commands of one subject each are in packages below:
// cli/jobs, cli/fleet, cli/admin, cli/setup, cli/certs, cli/sim, cli/snapshot.
//
// A failure is one line on standard error: what, where and what to do. The exit code is 0 after an
// orderly end, 1 after a failure, 2 for a command line that is not valid, 3 for an object that does
// not exist, 4 for an action that is not allowed, 5 when no peer can be reached, and 6 for a peer that was
// removed from its cluster. A command that
// SIGINT or SIGTERM interrupts ends without an error message, with exit code 130 or 143.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/admin"
	"github.com/berth-gpu/berth/cmd/internal/cli/certs"
	"github.com/berth-gpu/berth/cmd/internal/cli/fleet"
	"github.com/berth-gpu/berth/cmd/internal/cli/jobs"
	"github.com/berth-gpu/berth/cmd/internal/cli/setup"
	"github.com/berth-gpu/berth/cmd/internal/cli/sim"
	"github.com/berth-gpu/berth/cmd/internal/cli/snapshot"
	"github.com/berth-gpu/berth/cmd/internal/terminal"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run carries out a command line and returns the exit code. The first SIGINT or SIGTERM requests an
// orderly end; the next one ends the process at once.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := cli.UntilSignal()
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	stdout, stderr = terminal.Wrap(stdout), terminal.Wrap(stderr)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if code := cli.Signaled(ctx); code != 0 {
		if err = cli.WithoutCancel(err); err == nil {
			err = code
		}
	}
	if _, silent := errors.AsType[cli.ExitError](err); !silent {
		fmt.Fprintf(stderr, "berth: %s\n", cli.OneLine(cli.Advise(err)))
	}
	return cli.ExitCode(err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "berth",
		Short:         "Berth queues jobs, allocates GPUs to them and runs them",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage("there is no command %q; see berth --help", args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if text, _, parsed := strings.Cut(err.Error(), ": strconv."); parsed {
			return cli.Usage("%s: it must be a number within bounds; see %s --help", text, cmd.CommandPath())
		}
		return cli.Usage("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: groupUse, Title: "Jobs and the cluster:"}, &cobra.Group{ID: groupRun, Title: "Running Berth:"})
	addGroup(root, groupUse, jobs.Commands()...)
	addGroup(root, groupUse, fleet.Commands(jobs.ShowQueue, newRecover(), certs.NewRotate())...)
	addGroup(root, groupUse, admin.ForUsers()...)
	addGroup(root, groupRun, setup.Commands()...)
	addGroup(root, groupRun, certs.Commands()...)
	addGroup(root, groupRun, newServer(), newAgent(), newDev(), newDemo(), newBench(), sim.New(), newConfig(), snapshot.New())
	addGroup(root, groupRun, admin.ForOperators()...)
	root.AddCommand(newSupervise(), newVersion())
	root.InitDefaultHelpCmd() // now, so that strictly also covers the library's own commands
	root.InitDefaultCompletionCmd()
	cli.Strictly(root)
	return root
}

// The groups of commands in the help.
const (
	groupUse = "use"
	groupRun = "run"
)

func addGroup(root *cobra.Command, id string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = id
		root.AddCommand(c)
	}
}
