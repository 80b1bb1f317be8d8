// Package slurm is the program berth under the names of Slurm's programs: squeue, scancel and others. A link of such a name to berth, or
// berth slurm NAME, carries out the program; berth slurm install makes the links.
package slurm

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/jobs"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/cli/programs"
)

// Batch is the first argument of berth as the first process of a rank of a job in Slurm's language; the second is the file that
// describes the job. Agents start it.
const Batch = "slurm-batch"

// Program carries out a command line of a program, without its name, and returns the exit code.
type Program func(args []string, stdout, stderr io.Writer) int

// Find returns Slurm's program of a name; nil: there is none.
func Find(name string) Program {
	program := programs.Find(name)
	if program == nil {
		return nil
	}
	return func(args []string, stdout, stderr io.Writer) int { return program(newHost(), args, stdout, stderr) }
}

// newHost returns what Slurm's programs are given.
func newHost() *host.Host {
	return &host.Host{
		Version: build.Version(), OwnName: cli.OwnName, Me: cli.Me, Shell: jobs.ShellVariables, Local: jobs.Local, Stdin: jobs.ReadStdin,
		Dial: func(stderr io.Writer) (*client.Client, error) { return cli.NewConnection(stderr).Dial() },
		Run: func(ctx context.Context, api *client.Client, r *wire.Submit, stdout, stderr io.Writer) error {
			cmd := &cobra.Command{}
			cmd.SetContext(ctx)
			cmd.SetOut(stdout)
			cmd.SetErr(stderr)
			return jobs.RunAttached(cmd, api, r)
		},
	}
}

// Name is the command of berth.
const Name = "slurm"

// Commands returns the command of berth, and Slurm's programs by their own names, which the help does not list: berth sbatch is berth slurm
// sbatch.
func Commands() []cli.Maker {
	all := []cli.Maker{{Name: Name, New: newCommand}}
	for _, name := range programs.Names() {
		all = append(all, cli.Maker{Name: name, New: func() *cobra.Command {
			cmd := newProgram(name)
			cmd.Hidden = true
			return cmd
		}})
	}
	return all
}

const long = `Slurm's programs, for scripts and programs that call them.

  berth slurm install FOLDER   makes links with the names of the programs; put the folder first in PATH
  berth slurm squeue -u ann    carries out one of them; berth squeue -u ann is the same

docs/slurm.md says which options they have and what differs.`

func newCommand() *cobra.Command {
	all := []*cobra.Command{newInstall()}
	for _, name := range programs.Names() {
		all = append(all, newProgram(name))
	}
	return cli.Parent(Name, "Slurm's programs: squeue, sinfo, sacct, scancel, scontrol and others", long, all...)
}

func newInstall() *cobra.Command {
	return &cobra.Command{
		Use:     "install FOLDER",
		Short:   "Make links with the names of Slurm's programs to this program",
		Long:    "Make links with the names of Slurm's programs to this program, in a folder that is made if it is missing. A file that is no such link stays, and is an error.",
		Example: "  berth slurm install ~/slurm-bin && export PATH=~/slurm-bin:$PATH",
		Args:    cli.One("one argument, a folder"),
		RunE:    func(cmd *cobra.Command, args []string) error { return programs.Install(cmd.OutOrStdout(), args[0]) },
	}
}

// newProgram returns the command that carries out one of Slurm's programs.
func newProgram(name string) *cobra.Command {
	return &cobra.Command{
		Use: name + " [ARGUMENT...]", Short: "Carry out Slurm's " + name, DisableFlagParsing: true,
		Annotations: map[string]string{cli.Programs: "true"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := Find(name)(args, cmd.OutOrStdout(), cmd.ErrOrStderr()); code != 0 {
				return cmdline.ExitError(code)
			}
			return nil
		},
	}
}
