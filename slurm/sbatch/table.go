package sbatch

import (
	"time"

	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/option"
)

// jobOptions returns what a job is called and where it is in the queue.
func jobOptions() []Option {
	return []Option{
		{
			Name: "job-name", Short: 'J', Takes: TakesValue, Form: "NAME", Env: env("JOB_NAME"),
			Text: "name of the job; by default the name of the script", set: text(func(o *Options) *string { return &o.JobName }),
		},
		{
			Name: "account", Short: 'A', Takes: TakesValue, Form: "NAME", Env: env("ACCOUNT"),
			Text: "the project that the job belongs to", set: text(func(o *Options) *string { return &o.Account }),
		},
		{
			Name: "partition", Short: 'p', Takes: TakesValue, Form: "NAME[,NAME...]", Env: env("PARTITION"),
			Text: "nodes, limits and priority that the cluster keeps under this name", set: list(func(o *Options) *[]string { return &o.Partition }),
		},
		{
			Name: "qos", Short: 'q', Takes: TakesValue, Form: "NAME", Env: env("QOS"),
			Text: "limits and priority that the cluster keeps under this name", set: text(func(o *Options) *string { return &o.QOS }),
		},
		{
			Name: "reservation", Takes: TakesValue, Form: "NAME", Env: env("RESERVATION"),
			Text: "said in a note: the jobs of a reservation's owner run in the reservation", set: text(func(o *Options) *string { return &o.Reservation }),
		},
		{
			Name: "comment", Takes: TakesValue, Form: "TEXT",
			Text: "shown with the job", set: text(func(o *Options) *string { return &o.Comment }),
		},
		{
			Name: "priority", Takes: TakesValue, Form: "N|TOP",
			Text: "said in a note: Berth has four classes, which --priority of berth submit sets", set: setPriority,
		},
		{
			Name: "nice", Takes: TakesOptional, Form: "[N]",
			Text: "a number above 0, by default 100, gives the job the class low; one below 0 has no effect, which a note says", set: setNice,
		},
		{Name: "hold", Short: 'H', Text: "the job waits for a release", set: option.On(func(o *Options) *bool { return &o.Hold })},
		{
			Name: "array", Short: 'a', Takes: TakesValue, Form: "LIST[%N]", Env: env("ARRAY_INX"),
			Text: "an array: numbers and ranges with steps, and how many tasks run at once",
			set:  option.Keep(func(o *Options) *form.Array { return &o.Array }, form.ParseArray),
		},
		{
			Name: "dependency", Short: 'd', Takes: TakesValue, Form: "KIND:JOB[:JOB...][,...]",
			Text: "the job waits for others",
			set:  option.Keep(func(o *Options) *form.Dependency { return &o.Dependency }, form.ParseDependency),
		},
		{
			Name: "kill-on-invalid-dep", Takes: TakesValue, Form: "yes|no",
			Text: "yes: the job is canceled when a dependency can no longer hold, as always in Berth; no has no effect, which a note says", set: setKillOnBad,
		},
	}
}

// sizeOptions returns nodes, tasks and cores.
func sizeOptions() []Option {
	return []Option{
		{
			Name: "nodes", Short: 'N', Takes: TakesValue, Form: "N|MIN-MAX",
			Text: "number of nodes; with a range the greatest is wanted and the least is enough",
			set:  option.Keep(func(o *Options) *form.NodeCount { return &o.Nodes }, form.ParseNodes),
		},
		{
			Name: "ntasks", Short: 'n', Takes: TakesValue, Form: "N",
			Text: "tasks in all, for srun; by default one on each node", set: count(func(o *Options) *int { return &o.Tasks }),
		},
		{
			Name: "ntasks-per-node", Others: []string{"tasks-per-node"}, Takes: TakesValue, Form: "N",
			Text: "tasks on each node, at most if --ntasks is given, too", set: count(func(o *Options) *int { return &o.TasksPerNode }),
		},
		{
			Name: "ntasks-per-gpu", Takes: TakesValue, Form: "N",
			Text: "tasks for each GPU: with --ntasks it sets the number of GPUs, else the GPUs set the number of tasks",
			set:  count(func(o *Options) *int { return &o.TasksPerGPU }),
		},
		{
			Name: "cpus-per-task", Short: 'c', Takes: TakesValue, Form: "N",
			Text: "cores of each task; those of a node are the tasks there times N", set: count(func(o *Options) *int { return &o.CPUsPerTask }),
		},
		{
			Name: "cpus-per-gpu", Takes: TakesValue, Form: "N", Env: env("CPUS_PER_GPU"),
			Text: "cores for each GPU", set: count(func(o *Options) *int { return &o.CPUsPerGPU }),
		},
		{
			Name: "mincpus", Takes: TakesValue, Form: "N",
			Text: "cores of each node at least", set: count(func(o *Options) *int { return &o.MinCPUs }),
		},
		{
			Name: "tres-per-task", Takes: TakesValue, Form: "cpu:N,gres/gpu:[MODEL:]N", Env: env("TRES_PER_TASK"),
			Text: "the same as --cpus-per-task and --gpus-per-task", set: setTresPerTask,
		},
		{
			Name: "distribution", Short: 'm', Takes: TakesValue, Form: "block|cyclic|plane=N[:...]", Env: env("DISTRIBUTION"),
			Text: "how srun numbers the tasks over the nodes; what follows the first colon is about sockets and has no effect", set: setDistribution,
		},
		{
			Name: "exclusive", Takes: TakesOptional, Form: "[user]", Env: env("EXCLUSIVE"),
			Text: "without an option for GPUs all GPUs of each node; that other jobs may share the other GPUs and cores of its nodes is said in a note", set: setExclusive,
		},
	}
}

// socketOptions returns what Slurm asks of a node's hardware. Berth chooses no sockets, cores and threads; what is left is that
// they count tasks and GPUs.
func socketOptions() []Option {
	const counts = "with --nodes and without a number of tasks: each node has this many tasks, times those of the other options of this kind; else it has no effect"
	return []Option{
		{
			Name: "sockets-per-node", Takes: TakesValue, Form: "N", Text: counts + "; with --gpus-per-socket: how many sockets each node has",
			set: count(func(o *Options) *int { return &o.Sockets }),
		},
		{Name: "cores-per-socket", Takes: TakesValue, Form: "N", Text: counts, set: count(func(o *Options) *int { return &o.CoresPerSocket })},
		{
			Name: "threads-per-core", Takes: TakesValue, Form: "N", Env: env("THREADS_PER_CORE"), Text: counts,
			set: count(func(o *Options) *int { return &o.ThreadsPerCore }),
		},
		{Name: "extra-node-info", Short: 'B', Takes: TakesValue, Form: "SOCKETS[:CORES[:THREADS]]", Text: counts, set: setNodeInfo},
	}
}

// gpuOptions returns the requests for GPUs. Without one of them a job has none.
func gpuOptions() []Option {
	return []Option{
		{
			Name: "gres", Takes: TakesValue, Form: "gpu[:MODEL][:N][,...]", Env: env("GRES"),
			Text: "GPUs of each node; other resources of the list have no effect",
			set:  option.Keep(func(o *Options) *form.Gres { return &o.Gres }, form.ParseGres),
		},
		{
			Name: "gpus", Short: 'G', Takes: TakesValue, Form: "[MODEL:]N", Env: env("GPUS"),
			Text: "GPUs in all", set: gpus(func(o *Options) *GPUs { return &o.GPUs }),
		},
		{
			Name: "gpus-per-node", Takes: TakesValue, Form: "[MODEL:]N", Env: env("GPUS_PER_NODE"),
			Text: "GPUs of each node", set: gpus(func(o *Options) *GPUs { return &o.GPUsPerNode }),
		},
		{
			Name: "gpus-per-task", Takes: TakesValue, Form: "[MODEL:]N", Env: env("GPUS_PER_TASK"),
			Text: "GPUs of each task; each task of srun sees its own", set: gpus(func(o *Options) *GPUs { return &o.GPUsPerTask }),
		},
		{
			Name: "gpus-per-socket", Takes: TakesValue, Form: "[MODEL:]N",
			Text: "GPUs of each node, times --sockets-per-node, which must be given", set: gpus(func(o *Options) *GPUs { return &o.GPUsPerSocket }),
		},
	}
}

func memoryOptions() []Option {
	return []Option{
		{
			Name: "mem", Takes: TakesValue, Form: "N[K|M|G|T]", Env: env("MEM_PER_NODE"),
			Text: "memory of each node, in MiB without a unit; 0: all of it", set: memory(func(o *Options) *Memory { return &o.Memory }),
		},
		{
			Name: "mem-per-cpu", Takes: TakesValue, Form: "N[K|M|G|T]", Env: env("MEM_PER_CPU"),
			Text: "memory for each core", set: memory(func(o *Options) *Memory { return &o.MemoryPerCPU }),
		},
		{
			Name: "mem-per-gpu", Takes: TakesValue, Form: "N[K|M|G|T]", Env: env("MEM_PER_GPU"),
			Text: "main memory for each GPU of the node", set: memory(func(o *Options) *Memory { return &o.MemoryPerGPU }),
		},
	}
}

// placeOptions returns on which nodes a job may run.
func placeOptions() []Option {
	return []Option{
		{
			Name: "nodelist", Short: 'w', Takes: TakesValue, Form: "LIST",
			Text: "the job runs on these nodes, such as gpu[01-04]", set: nodeNames(func(o *Options) *[]string { return &o.Nodelist }),
		},
		{
			Name: "exclude", Short: 'x', Takes: TakesValue, Form: "LIST",
			Text: "not on these nodes", set: nodeNames(func(o *Options) *[]string { return &o.Exclude }),
		},
		{
			Name: "nodefile", Short: 'F', Takes: TakesValue, Form: "FILE",
			Text: "a file with the names of the job's nodes, in place of --nodelist", set: text(func(o *Options) *string { return &o.NodeFile }),
		},
		{
			Name: "constraint", Short: 'C', Takes: TakesValue, Form: "FEATURES", Env: env("CONSTRAINT"),
			Text: "labels that the nodes must have: a&b, or a|b where it stands for models of GPUs", set: setConstraint,
		},
	}
}

func timeOptions() []Option {
	return []Option{
		{
			Name: "time", Short: 't', Takes: TakesValue, Form: "TIME", Env: env("TIMELIMIT"),
			Text: "time limit: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S, rounded up to minutes; 0 and UNLIMITED: none",
			set:  option.Keep(func(o *Options) *time.Duration { return &o.Time }, span),
		},
		{
			Name: "begin", Short: 'b', Takes: TakesValue, Form: "MOMENT",
			Text: "earliest start: now+1hour, 16:00, 2026-01-31T12:00, tomorrow", moment: func(o *Options) *form.Moment { return &o.Begin },
		},
		{Name: "deadline", Takes: TakesValue, Form: "MOMENT", Text: "the job fails if it has not ended by then", moment: func(o *Options) *form.Moment { return &o.Deadline }},
		{
			Name: "signal", Takes: TakesValue, Form: "[B:]SIGNAL[@SECONDS]", Env: env("SIGNAL"),
			Text: "a signal ahead of the time limit, by default 60 seconds: with B: to the script, else to the tasks of srun",
			set:  option.Keep(func(o *Options) *form.Warning { return &o.Signal }, form.ParseWarning),
		},
	}
}
