package sbatch

import (
	"time"

	"github.com/berth-gpu/berth/slurm/option"
)

// silentOptions returns options about the job that have no effect.
func silentOptions() []Option {
	const (
		starts  = "every job of Berth starts when all its nodes are ready"
		nothing = "Berth has nothing of this kind"
	)
	return quiet([]Option{
		{Name: "acctg-freq", Takes: TakesValue, Form: "LIST", Env: env("ACCTG_FREQ"), Text: "Berth measures every second"},
		{Name: "batch", Takes: TakesValue, Form: "FEATURES", Env: env("BATCH"), Text: "the script runs on the first node"},
		{Name: "delay-boot", Takes: TakesValue, Form: "MINUTES", Env: env("DELAY_BOOT"), Text: "Berth starts no node"},
		{Name: "extra", Takes: TakesValue, Form: "TEXT", Text: nothing},
		{
			Name: "get-user-env", Takes: TakesOptional, Form: "[TIME][MODE]", Env: env("GET_USER_ENV"),
			Text: "the variables of a job are those of its submission (--export)",
		},
		{
			Name: "licenses", Short: 'L', Takes: TakesValue, Form: "NAME[:N][,...]",
			Text: "Berth counts no licenses", set: text(func(o *Options) *string { return &o.Licenses }),
		},
		{Name: "mcs-label", Takes: TakesValue, Form: "NAME", Text: nothing},
		{Name: "no-kill", Short: 'k', Takes: TakesOptional, Form: "[off]", Env: env("NO_KILL"), Text: "a job that loses a node ends, and runs again with --requeue"},
		{Name: "oom-kill-step", Takes: TakesOptional, Form: "[0|1]", Env: env("OOM_KILL_STEP"), Text: "what happens without memory is up to the kernel of the node"},
		{Name: "oversubscribe", Others: []string{"share"}, Short: 's', Text: "nodes are shared unless --exclusive is given, GPUs never"},
		{
			Name: "overcommit", Short: 'O', Env: env("OVERCOMMIT"), Text: "cores are shared by the tasks of a node anyway",
			set: option.On(func(o *Options) *bool { return &o.Overcommit }),
		},
		{Name: "prefer", Takes: TakesValue, Form: "FEATURES", Text: "Berth has no wishes that may stay unmet; --constraint is binding"},
		{Name: "profile", Takes: TakesValue, Form: "LIST", Env: env("PROFILE"), Text: "Berth keeps a job's use of GPUs, cores and memory anyway"},
		{
			Name: "propagate", Takes: TakesOptional, Form: "[LIST]", Env: env("PROPAGATE"),
			Text: "the soft limits of the submission, ALL, NONE or names; by default those that the user has changed",
			set:  func(o *Options, value string) error { o.Propagate = &value; return nil },
		},
		{Name: "spread-job", Env: env("SPREAD_JOB"), Text: "--nodes says over how many nodes a job spreads"},
		{Name: "stepmgr", Text: "every job of Berth manages its own steps"},
		{
			Name: "time-min", Takes: TakesValue, Form: "TIME", Text: "the limit of --time is never shortened",
			set: option.Keep(func(o *Options) *time.Duration { return &o.TimeMin }, span),
		},
		{Name: "tmp", Takes: TakesValue, Form: "N[K|M|G|T]", Text: "the share of a node's disk is the same for each job"},
		{Name: "use-min-nodes", Env: env("USE_MIN_NODES"), Text: "of a range of nodes a job gets as many as are free"},
		{Name: "wait-all-nodes", Takes: TakesValue, Form: "0|1", Env: env("WAIT_ALL_NODES"), Text: starts},
		{
			Name: "wckey", Takes: TakesValue, Form: "NAME", Env: env("WCKEY"),
			Text: "Berth accounts by user and project", set: text(func(o *Options) *string { return &o.WCKey }),
		},
	})
}

// silentHardware returns options about the hardware that have no effect.
func silentHardware() []Option {
	const (
		cores = "Berth limits how many cores a job uses, and chooses none"
		net   = "the network needs no setting"
		near  = "GPUs that are close to each other are preferred anyway"
		power = "Berth sets no clock rates"
	)
	return quiet([]Option{
		{Name: "contiguous", Text: near},
		{Name: "cpu-bind", Takes: TakesValue, Form: "KIND", Text: cores},
		{Name: "cpu-freq", Takes: TakesValue, Form: "RATE", Text: power},
		{Name: "gpu-bind", Takes: TakesValue, Form: "KIND", Env: env("GPU_BIND"), Text: "a task sees all GPUs of its node, or its own with --gpus-per-task"},
		{Name: "gpu-freq", Takes: TakesValue, Form: "RATE", Env: env("GPU_FREQ"), Text: power},
		{Name: "gres-flags", Takes: TakesValue, Form: "LIST", Env: env("GRES_FLAGS"), Text: near},
		{Name: "hint", Takes: TakesValue, Form: "KIND", Env: []string{"SBATCH_HINT", "SLURM_HINT"}, Text: cores},
		{Name: "mem-bind", Takes: TakesValue, Form: "KIND", Env: env("MEM_BIND"), Text: "the kernel chooses the memory near a core"},
		{Name: "network", Takes: TakesValue, Form: "LIST", Env: env("NETWORK"), Text: net},
		{Name: "ntasks-per-core", Takes: TakesValue, Form: "N", Text: cores},
		{Name: "ntasks-per-socket", Takes: TakesValue, Form: "N", Text: "Berth does not know the sockets of nodes; --ntasks-per-node counts tasks"},
		{Name: "power", Takes: TakesValue, Form: "LIST", Env: env("POWER"), Text: power},
		{Name: "resv-ports", Takes: TakesOptional, Form: "[N]", Text: "a job gets a free port in any case"},
		{Name: "segment", Takes: TakesValue, Form: "N", Text: near},
		{Name: "switches", Takes: TakesValue, Form: "N[@TIME]", Env: env("REQ_SWITCH"), Text: near},
		{Name: "tres-bind", Takes: TakesValue, Form: "LIST", Env: env("TRES_BIND"), Text: "a task sees all GPUs of its node, or its own with --gpus-per-task"},
	})
}

// quiet marks options as without effect.
func quiet(all []Option) []Option {
	for i := range all {
		all[i].Effect = NoEffect
	}
	return all
}

// refusedOptions returns options that would change what a job means.
func refusedOptions() []Option {
	const (
		single = "a cluster of Berth is one cluster"
		buffer = "Berth has no burst buffers"
		bundle = "Berth runs images, not bundles"
		cores  = "Berth keeps no cores for the system"
		rights = "a job runs under the account of its user"
	)
	all := []Option{
		{Name: "bb", Takes: TakesValue, Form: "SPEC", Text: buffer, Remedy: "remove the option, and copy the files in the script"},
		{Name: "bbf", Takes: TakesValue, Form: "FILE", Text: buffer, Remedy: "remove the option, and copy the files in the script"},
		{
			Name: "clusters", Others: []string{"cluster"}, Short: 'M', Takes: TakesValue, Form: "LIST", Env: []string{"SBATCH_CLUSTERS", "SLURM_CLUSTERS"},
			Text: single, Remedy: "remove the option, and submit to a peer of the cluster that is meant",
		},
		{Name: "cluster-constraint", Takes: TakesValue, Form: "LIST", Text: single, Remedy: "remove the option, and submit to a peer of the cluster that is meant"},
		{
			Name: "container", Takes: TakesValue, Form: "FOLDER", Env: env("CONTAINER"), Text: bundle,
			Remedy: "write --container-image with an image or a file of one",
		},
		{Name: "container-id", Takes: TakesValue, Form: "NAME", Env: env("CONTAINER_ID"), Text: bundle, Remedy: "write --container-name with --container-image"},
		{Name: "core-spec", Short: 'S', Takes: TakesValue, Form: "N", Env: env("CORE_SPEC"), Text: cores, Remedy: "remove the option, and ask for fewer cores with --cpus-per-task"},
		{Name: "thread-spec", Takes: TakesValue, Form: "N", Env: env("THREAD_SPEC"), Text: cores, Remedy: "remove the option, and ask for fewer cores with --cpus-per-task"},
		{
			Name: "environment", Takes: TakesValue, Form: "NAME",
			Text: "this option belongs to a plug-in of one site", Remedy: "write --container-image and --container-mounts with what the file of this environment names",
		},
		{Name: "gid", Takes: TakesValue, Form: "GROUP", Text: rights, Remedy: "remove the option, and submit with the token of the user that is meant"},
		{Name: "uid", Takes: TakesValue, Form: "USER", Text: rights, Remedy: "remove the option, and submit with the token of the user that is meant"},
		{Name: "reboot", Text: "Berth starts no node", Remedy: "remove the option, and ask an operator"},
	}
	for i := range all {
		all[i].Effect = Refused
	}
	return all
}
