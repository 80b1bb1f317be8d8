// Package programs is Slurm's programs by their names, and the links of these names.
package programs

import (
	"io"
	"maps"
	"slices"

	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/cli/start"
	"github.com/berth-gpu/berth/slurm/cli/watch"
)

// Program carries out a command line of a program, without its name, and returns the exit code.
type Program func(h *host.Host, args []string, stdout, stderr io.Writer) int

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

// Names returns the names of all programs, in order.
func Names() []string { return slices.Sorted(maps.Keys(programs())) }
