package main

import (
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/node/runner/isolate"
	"github.com/berth-gpu/berth/node/runner/process"
)

// newSupervise is what agents start for each rank, and what a supervisor starts with
// --exec to become an isolated job; nobody else has a use for it.
func newSupervise() *cobra.Command {
	exec := false
	cmd := &cobra.Command{
		Use:    "supervise FOLDER",
		Short:  "Run one rank of a job, as an agent asks for it",
		Hidden: true,
		Args:   cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case exec && len(args) == 0:
				return exitError(process.Execute())
			case !exec && len(args) == 1:
				return process.Supervise(args[0])
			}
			return usage("supervise takes the folder of a rank; agents start it")
		},
	}
	cmd.Flags().BoolVar(&exec, "exec", false, "become the job that descriptor 3 tells of")
	return cmd
}

// rankFlags are those flags of an agent that say how ranks run on its node.
type rankFlags struct {
	pids                uint32
	checkpoints         string
	prolog, epilog      string
	hookLimit           time.Duration
	users, mapped, root bool
	accounts            map[string]string
	umask               string
	maxOpen             uint64
}

func (f *rankFlags) add(to *pflag.FlagSet) {
	to.Uint32Var(&f.pids, "pids-limit", 65536, "most processes and threads of a job on this node, where cgroup v2 can limit them; 0: any number")
	to.StringVar(&f.checkpoints, "checkpoint-dir", "", "`folder` for checkpoints of jobs that name none (default: checkpoints, in the data folder)")
	to.StringVar(&f.prolog, "prolog", "", "`program` to run before each job on this node, as the agent's user; if it fails the job does not start here")
	to.StringVar(&f.epilog, "epilog", "", "`program` to run after each job, before its GPUs are free")
	to.DurationVar(&f.hookLimit, "hook-limit", time.Minute, "how long each of the two may take")
	to.BoolVar(&f.users, "run-as-users", false, "run each job under the unix account of its user, apart from others; the agent must be root")
	to.StringToStringVar(&f.accounts, "account", nil, "`user=account,...` for users whose account has another name")
	to.BoolVar(&f.mapped, "mapped-only", false, "with --run-as-users: refuse users whom --account does not name")
	to.BoolVar(&f.root, "allow-root", false, "with --run-as-users: let an account be root's")
	to.StringVar(&f.umask, "umask", "077", "with --run-as-users: the jobs' `mask` of file modes, in octal")
	to.Uint64Var(&f.maxOpen, "max-open-files", 0, "with --run-as-users: `number` of open files of each process; 0: as the agent has")
}

// rules are what the flags mean for an agent with that data folder and run folder.
func (f *rankFlags) rules(data, run string) (process.Rules, error) {
	for name, path := range map[string]string{"prolog": f.prolog, "epilog": f.epilog, "checkpoint-dir": f.checkpoints} {
		if path != "" && !filepath.IsAbs(path) {
			return process.Rules{}, usage("--%s must be an absolute path, not %q", name, path)
		}
	}
	if !f.users && (len(f.accounts) > 0 || f.mapped || f.root) {
		return process.Rules{}, usage("--account, --mapped-only and --allow-root mean something only with --run-as-users")
	}
	mask, err := strconv.ParseUint(f.umask, 8, 9)
	if err != nil {
		return process.Rules{}, usage("--umask must be octal, such as 077, not %q", f.umask)
	}
	umask := uint32(mask)
	r := process.Rules{
		PIDs: f.pids, Checkpoints: f.checkpoints,
		Hooks:   process.Hooks{Prolog: f.prolog, Epilog: f.epilog, Limit: f.hookLimit},
		Isolate: isolate.Rules{On: f.users, Map: f.accounts, Only: f.mapped, Root: f.root, Umask: &umask, MaxOpen: f.maxOpen, Hide: []string{data, run}},
	}
	if r.Checkpoints == "" {
		r.Checkpoints = filepath.Join(data, "checkpoints")
	}
	return r, nil
}
