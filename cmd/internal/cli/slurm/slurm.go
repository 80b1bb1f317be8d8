// Package slurm is the program berth under the names of Slurm's programs: squeue, scancel and others. A link of such a name to berth, or
// berth slurm NAME, carries out the program; berth slurm install makes the links.
package slurm

import (
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/slurm/batch"
	"github.com/berth-gpu/berth/cmd/internal/cli/slurm/start"
	"github.com/berth-gpu/berth/cmd/internal/cli/slurm/watch"
)

// Program carries out a command line of a program, without its name, and returns the exit code.
type Program func(args []string, stdout, stderr io.Writer) int

// programs returns Slurm's programs by their names.
func programs() map[string]Program {
	return map[string]Program{
		"sbatch": start.Sbatch, "srun": start.Srun, "salloc": start.Salloc,
		"squeue": watch.Squeue, "sinfo": watch.Sinfo, "sacct": watch.Sacct, "scancel": watch.Scancel, "scontrol": watch.Scontrol,
		"sacctmgr": watch.Sacctmgr, "sshare": watch.Sshare,
	}
}

// Find returns Slurm's program of a name; nil: there is none.
func Find(name string) Program { return programs()[name] }

// Batch is the first argument of berth as the first process of a rank of a job in Slurm's language; the second is the file that
// describes the job. Agents start it.
const Batch = "slurm-batch"

// RunBatch is that process.
func RunBatch(path string) int { return batch.Run(path) }

// names returns the names of all programs, in order.
func names() []string { return slices.Sorted(maps.Keys(programs())) }

// Name is the command of berth.
const Name = "slurm"

// Commands returns the command of berth, and Slurm's programs by their own names, which the help does not list: berth sbatch is berth slurm
// sbatch.
func Commands() []cli.Maker {
	all := []cli.Maker{{Name: Name, New: newCommand}}
	for _, name := range names() {
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
	for _, name := range names() {
		all = append(all, newProgram(name))
	}
	return cli.Parent(Name, "Slurm's programs: squeue, sinfo, sacct, scancel, scontrol and others", long, all...)
}

// newProgram returns the command that carries out one of Slurm's programs.
func newProgram(name string) *cobra.Command {
	return &cobra.Command{
		Use: name + " [ARGUMENT...]", Short: "Carry out Slurm's " + name, DisableFlagParsing: true,
		Annotations: map[string]string{cli.Programs: "true"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := Find(name)(args, cmd.OutOrStdout(), cmd.ErrOrStderr()); code != 0 {
				return cli.ExitError(code)
			}
			return nil
		},
	}
}
