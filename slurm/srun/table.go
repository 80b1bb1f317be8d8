package srun

import (
	"strings"

	"github.com/berth-gpu/berth/image/name"
	"github.com/berth-gpu/berth/slurm/container"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/option"
)

// entry is an option of srun.
type entry struct {
	option.Option
	env     []string // variables that stand for the option; the first that is set counts
	refused string   // why the option is refused, and what to do instead
	silent  bool     // the option has an effect in Slurm, and none here
	set     setter   // nil: nothing to keep
	fromEnv setter   // nil: as set
}

func value(name string, short byte, form string, set setter, env ...string) entry {
	return entry{Option: option.Option{Name: name, Short: short, Takes: option.TakesValue, Form: form}, env: env, set: set}
}

func flag(name string, short byte, set setter, env ...string) entry {
	return entry{Option: option.Option{Name: name, Short: short}, env: env, set: set}
}

func optional(name string, short byte, form string, set setter, env ...string) entry {
	return entry{Option: option.Option{Name: name, Short: short, Takes: option.TakesOptional, Form: form}, env: env, set: set}
}

// table returns all options of srun.
func table() []entry {
	var all []entry
	for _, part := range [][]entry{
		sizeOptions(), gpuOptions(), fileOptions(), runOptions(), containerOptions(), silentOptions(),
		refusedOptions(),
	} {
		all = append(all, part...)
	}
	return all
}

// sizeOptions returns the options for nodes, tasks and cores. A number of the command line makes a step hold what it asks for; one of
// the job's variables does not.
func sizeOptions() []entry {
	tasks := value("ntasks", 'n', "N", exact(count(func(o *Options) *int { return &o.Size.Tasks }, 1)), "SLURM_NTASKS", "SLURM_NPROCS")
	tasks.fromEnv = count(func(o *Options) *int { return &o.Size.FromJob }, 1)
	perNode := value("ntasks-per-node", 0, "N", exact(count(func(o *Options) *int { return &o.Size.TasksPerNode }, 1)), "SLURM_NTASKS_PER_NODE")
	perNode.fromEnv = count(func(o *Options) *int { return &o.Size.TasksPerNode }, 1)
	perNode.Others = []string{"tasks-per-node"}
	cpus := value("cpus-per-task", 'c', "N", exact(count(func(o *Options) *int { return &o.Size.CPUsPerTask }, 1)), "SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK")
	cpus.fromEnv = count(func(o *Options) *int { return &o.Size.CPUsPerTask }, 1)
	exclusive := optional("exclusive", 0, "user|mcs", option.On(func(o *Options) *bool { return &o.Size.Exact }), "SLURM_EXCLUSIVE")
	return []entry{
		tasks, perNode, cpus, exclusive,
		value("nodes", 'N', "N|MIN-MAX", option.Keep(func(o *Options) *form.NodeCount { return &o.Size.Nodes }, form.ParseNodes)),
		value("nodelist", 'w', "LIST", names(func(o *Options) *[]string { return &o.Size.NodeList })),
		value("exclude", 'x', "LIST", names(func(o *Options) *[]string { return &o.Size.Exclude })),
		value("relative", 'r', "N", count(func(o *Options) *int { return &o.Size.Relative }, 0)),
		value("distribution", 'm', "block|cyclic|plane=N", setDistribution, "SLURM_DISTRIBUTION"),
		flag("exact", 0, option.On(func(o *Options) *bool { return &o.Size.Exact }), "SLURM_EXACT"),
		flag("overlap", 0, option.On(func(o *Options) *bool { return &o.Size.Overlap }), "SLURM_OVERLAP"),
		flag("oversubscribe", 's', option.On(func(o *Options) *bool { return &o.Size.Overlap })),
		flag("whole", 0, nil, "SLURM_WHOLE"),
	}
}

func gpuOptions() []entry {
	total := func(o *Options, n int) { o.Size.GPUs = n }
	perNode := func(o *Options, n int) { o.Size.GPUsPerNode = n }
	perTask := func(o *Options, n int) { o.Size.GPUsPerTask = n }
	task := value("gpus-per-task", 0, "[MODEL:]N", gpus(perTask), "SLURM_GPUS_PER_TASK")
	task.fromEnv = func(o *Options, value string) error {
		g, err := form.ParseGPUs(value)
		o.Size.GPUsPerTask = g.Count
		return err
	}
	return []entry{
		task,
		value("gpus", 'G', "[MODEL:]N", gpus(total)),
		value("gpus-per-node", 0, "[MODEL:]N", gpus(perNode)),
		value("gres", 0, "gpu[:MODEL][:N]", setGres, "SLURM_STEP_GRES"),
	}
}

func fileOptions() []entry {
	return []entry{
		value("output", 'o', "PATTERN|all|none|TASK", text(func(o *Options) *string { return &o.Files.Stdout }), "SLURM_STDOUTMODE"),
		value("error", 'e', "PATTERN|all|none|TASK", text(func(o *Options) *string { return &o.Files.Stderr }), "SLURM_STDERRMODE"),
		value("input", 'i', "PATTERN|all|none|TASK", text(func(o *Options) *string { return &o.Files.Stdin }), "SLURM_STDINMODE"),
		value("open-mode", 0, "append|truncate", setOpenMode, "SLURM_OPEN_MODE"),
		flag("label", 'l', option.On(func(o *Options) *bool { return &o.Files.Label }), "SLURM_LABELIO"),
		flag("unbuffered", 'u', option.On(func(o *Options) *bool { return &o.Files.Unbuffered }), "SLURM_UNBUFFEREDIO"),
	}
}

func runOptions() []entry {
	chdir := value("chdir", 'D', "FOLDER", text(func(o *Options) *string { return &o.Chdir }), "SLURM_REMOTE_CWD", "SLURM_WORKING_DIR")
	chdir.Others = []string{"workdir"}
	return []entry{
		chdir,
		value("job-name", 'J', "NAME", text(func(o *Options) *string { return &o.Name })),
		value("jobid", 0, "JOB", setJob),
		value("export", 0, "ALL|NONE|LIST", setExport, "SLURM_EXPORT_ENV"),
		optional("propagate", 0, "LIST", func(o *Options, value string) error {
			o.Propagate = &value
			return nil
		}, "SLURM_PROPAGATE"),
		value("wait", 'W', "SECONDS", seconds(func(o *Options) *int64 { return (*int64)(&o.Wait) }), "SLURM_WAIT"),
		optional("kill-on-bad-exit", 'K', "0|1", setKill, "SLURM_KILL_BAD_EXIT"),
		optional("immediate", 'I', "SECONDS", setImmediate, "SLURM_IMMEDIATE"),
		flag("pty", 0, func(o *Options, _ string) error {
			o.Terminal, o.Files.Unbuffered = true, true
			return nil
		}),
		flag("multi-prog", 0, option.On(func(o *Options) *bool { return &o.Multi })),
		flag("quiet", 'Q', option.On(func(o *Options) *bool { return &o.Quiet })),
		flag("quit-on-interrupt", 0, option.On(func(o *Options) *bool { return &o.Interrupt })),
		flag("disable-status", 'X', option.On(func(o *Options) *bool { return &o.Interrupt }), "SLURM_DISABLE_STATUS"),
		flag("help", 'h', func(o *Options, _ string) error { o.Help = "help"; return nil }),
		flag("usage", 0, func(o *Options, _ string) error { o.Help = "usage"; return nil }),
		flag("version", 'V', func(o *Options, _ string) error { o.Help = "version"; return nil }),
		flag("verbose", 'v', func(o *Options, _ string) error {
			o.Verbose++
			return nil
		}),
	}
}

// containerOptions returns the options for the image that the tasks run in.
func containerOptions() []entry {
	var all []entry
	for _, c := range container.Table(name.Check) {
		e := entry{Option: option.Option{Name: c.Name, Form: c.Form}, silent: c.Silent}
		if c.Form != "" {
			e.Takes = option.TakesValue
		}
		switch {
		case c.Refused != "":
			e.refused = c.Text + "; " + c.Refused
		case !c.Silent:
			e.set = func(o *Options, value string) error { return c.Set(&o.Container, value) }
		}
		all = append(all, e)
	}
	return all
}

// silentOptions returns options that are about the job's allocation, which is there already, or about what Berth does anyway.
func silentOptions() []entry {
	const values = "account:A acctg-freq begin:b comment compress constraint:C cores-per-socket cpu-bind cpu-freq cpus-per-gpu deadline delay-boot " +
		"dependency:d epilog extra-node-info:B gpu-bind gpu-freq gpus-per-socket gres-flags hint licenses:L mail-type mail-user mcs-label mem mem-bind " +
		"mem-per-cpu mem-per-gpu mincpus mpi mpi-combine network ntasks-per-core ntasks-per-gpu ntasks-per-socket partition:p power priority profile prolog qos:q " +
		"reservation signal slurmd-debug sockets-per-node switches threads-per-core threads:T time:t time-min tmp tres-bind tres-per-task wckey"
	const optionals = "nice resv-ports no-kill:k"
	const flags = "contiguous hold:H overcommit:O preserve-env:E reboot spread-job stepmgr use-min-nodes external-launcher"
	var all []entry
	for takes, list := range map[option.Takes]string{ // order-free: found by their names
		option.TakesValue: values, option.TakesOptional: optionals, option.TakesNone: flags,
	} {
		for word := range strings.FieldsSeq(list) {
			name, short, _ := strings.Cut(word, ":")
			e := entry{Option: option.Option{Name: name, Takes: takes, Form: "VALUE"}, silent: true}
			if short != "" {
				e.Short = short[0]
			}
			all = append(all, e)
		}
	}
	return all
}

// refusedOptions returns options without which the tasks would not do what is meant.
func refusedOptions() []entry {
	refuse := func(name string, takes option.Takes, why string) entry {
		return entry{Option: option.Option{Name: name, Takes: takes, Form: "VALUE"}, refused: why}
	}
	const none, one, may = option.TakesNone, option.TakesValue, option.TakesOptional
	all := []entry{
		refuse("bcast", may, "Berth copies no programs; put the program where all nodes see it"),
		refuse("bcast-exclude", one, "Berth copies no programs; remove the option"),
		refuse("send-libs", may, "Berth copies no programs; remove the option"),
		refuse("clusters", one, "a cluster of Berth is one cluster; remove the option"),
		refuse("cluster-constraint", one, "a cluster of Berth is one cluster; remove the option"),
		refuse("container", one, "Berth runs images, not bundles; write --container-image"),
		refuse("het-group", one, "Berth has no heterogeneous jobs; remove the option"),
		refuse("task-prolog", one, "Berth runs no program before a task; start it in the script"),
		refuse("task-epilog", one, "Berth runs no program after a task; start it in the script"),
		refuse("no-allocate", none, "a step runs inside of a job; remove the option"),
		refuse("core-spec", one, "Berth keeps no cores for the system; remove the option"),
		refuse("thread-spec", one, "Berth keeps no cores for the system; remove the option"),
		refuse("bb", one, "Berth has no burst buffers; copy the files in the script"),
		refuse("bbf", one, "Berth has no burst buffers; copy the files in the script"),
		refuse("x11", may, "Berth forwards no displays; remove the option"),
		refuse("uid", one, "a step runs under the account of its job; remove the option"),
		refuse("gid", one, "a step runs under the account of its job; remove the option"),
		refuse("environment", one, "this option belongs to a plug-in of one site; write --container-image and --container-mounts"),
	}
	all[3].Short, all[9].Short, all[10].Short = 'M', 'Z', 'S'
	return all
}
