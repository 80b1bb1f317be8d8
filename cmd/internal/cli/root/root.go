// Package root is the program berth: its commands, all of which send requests to a cluster, and the way to the commands of
// berthd (cmd/internal/cli/daemon).
//
// A failure is one line on standard error: what, where and what to do. The exit code is 0 after an
// orderly end, 1 after a failure, 2 for a command line that is not valid, 3 for an object that does
// not exist, 4 for an action that is not allowed, and 5 when no peer can be reached. A command that
// SIGINT or SIGTERM interrupts ends without an error message, with exit code 130 or 143.
package root

import (
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/admin"
	"github.com/berth-gpu/berth/cmd/internal/cli/bundle"
	"github.com/berth-gpu/berth/cmd/internal/cli/certs"
	"github.com/berth-gpu/berth/cmd/internal/cli/daemon"
	"github.com/berth-gpu/berth/cmd/internal/cli/examine"
	"github.com/berth-gpu/berth/cmd/internal/cli/fleet"
	"github.com/berth-gpu/berth/cmd/internal/cli/jobs"
	"github.com/berth-gpu/berth/cmd/internal/cli/setup"
	"github.com/berth-gpu/berth/cmd/internal/cli/slurm"
	"github.com/berth-gpu/berth/cmd/internal/cli/snapshot"
	"github.com/berth-gpu/berth/cmd/internal/cli/upgrade"
	"github.com/berth-gpu/berth/slurm/run/batch"
)

// RunAs carries out the command line of a program by its path: one of Slurm's if a link of its name leads here, else that of berth.
func RunAs(program string, args []string, stdout, stderr io.Writer) int {
	if found := slurm.Find(filepath.Base(program)); found != nil {
		return found(args, stdout, stderr)
	}
	return Run(args, stdout, stderr)
}

// Run carries out a command line of berth, without the name of the program, and returns the exit code.
func Run(args []string, stdout, stderr io.Writer) int {
	return run(args, stdout, stderr, daemon.Become)
}

// run is Run; become replaces this program with berthd.
func run(args []string, stdout, stderr io.Writer, become func(args []string) error) int {
	if len(args) > 1 && args[0] == slurm.Batch {
		return batch.Run(args[1])
	}
	words := args
	if len(words) > 0 && words[0] == slurm.Name {
		words = words[1:]
	}
	if len(words) > 0 {
		if program := slurm.Find(words[0]); program != nil {
			return program(words[1:], stdout, stderr)
		}
	}
	if daemon.Runs(args) {
		return cli.Fail(become(args), stderr)
	}
	passOn := func() error { return become(args) }
	root := only(args, passOn)
	if root == nil {
		root = New(passOn)
	}
	return cli.Execute(root, args, stdout, stderr)
}

// group is a group of the help, with its commands.
type group struct {
	id     string
	makers []cli.Maker
}

// groups returns all commands, in their groups. become replaces this program with berthd.
func groups(become func() error) []group {
	return []group{
		{cli.GroupUse, slices.Concat(jobs.Commands(), fleet.Commands(jobs.ShowQueue, ofCluster), admin.ForUsers(), slurm.Commands())},
		{cli.GroupRun, slices.Concat(setup.ForUsers(), certs.Commands(), []cli.Maker{{Name: "config", New: newConfig}}, snapshot.Commands(),
			admin.ForOperators(), forMachines(become))},
	}
}

// forMachines returns the commands about this machine. become carries them out where they need the code of peers and nodes.
func forMachines(become func() error) []cli.Maker {
	as := examine.Program{Become: become}
	return []cli.Maker{
		{Name: "doctor", New: func() *cobra.Command { return examine.New(as) }},
		{Name: "support-bundle", New: func() *cobra.Command { return bundle.New(bundle.Program{Program: as}) }},
	}
}

// ofCluster returns the commands of berth cluster that are not about its state.
func ofCluster() []*cobra.Command { return []*cobra.Command{certs.NewRotate(), upgrade.New()} }

// New returns the program with all commands, and with the names of those of berthd, which become carries out.
func New(become func() error) *cobra.Command {
	root := newRoot()
	for _, g := range groups(become) {
		cli.AddGroup(root, g.id, cli.Make(g.makers)...)
	}
	root.AddCommand(newVersion())
	root.InitDefaultHelpCmd() // now, so that strictly also covers the library's own commands
	root.InitDefaultCompletionCmd()
	cli.Strictly(root)
	daemon.AddTo(root, become)
	return root
}

// only returns the program with the one command that a command line begins with; nil: the command line begins with no name of
// a command. To make all commands would take most of the time of a short command.
func only(args []string, become func() error) *cobra.Command {
	if len(args) == 0 {
		return nil
	}
	var cmd *cobra.Command
	if args[0] == versionName {
		cmd = newVersion()
	}
	for _, g := range groups(become) {
		if at := slices.IndexFunc(g.makers, func(m cli.Maker) bool { return m.Name == args[0] }); at >= 0 {
			cmd = g.makers[at].New()
		}
	}
	if cmd == nil {
		return nil
	}
	root := newRoot()
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(cmd)
	cli.Strictly(root)
	daemon.AddTo(root, become)
	return root
}

const versionName = "version"

func newVersion() *cobra.Command { return cli.NewVersion(daemon.Name) }

func newRoot() *cobra.Command {
	return cli.NewRoot(daemon.Name, "Berth queues jobs, allocates GPUs to them and runs them")
}
