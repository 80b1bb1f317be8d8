package intake

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// allFields returns the table of all fields: what a job is and needs here, how it runs in fields_run.go.
func allFields() []Field {
	return slices.Concat(labelFields(), programFields(), sizeFields(), memoryFields(), nodeFields(),
		orderFields(), retryFields(), lossFields(), stopFields(), checkpointFields(), limitFields(), slurmFields(),
		arrayFields(), startFields(), notifyFields())
}

func labelFields() []Field {
	return []Field{
		text(Field{
			Name: "run_id", Doc: "the user's own name of the run; may repeat",
			Flags: []Flag{{Name: "run-id", Help: "the `id` of the run that it belongs to"}},
		}, model.MaxName, func(r *wire.Submit) *string { return &r.RunID }, func(s *model.Spec) *string { return &s.RunID }),
		text(Field{
			Name: "name", Doc: "of the job, for lists",
			Flags: []Flag{{Name: "name", Short: "J", Help: "the job's `name`"}},
		}, model.MaxName, func(r *wire.Submit) *string { return &r.Name }, func(s *model.Spec) *string { return &s.Name }),
		text(Field{
			Name: "user", Doc: "the job's user",
			Flags: []Flag{{Name: "user", Short: "u", Help: "the job's `user` (default: you)"}},
		}, model.MaxName, func(r *wire.Submit) *string { return &r.User }, func(s *model.Spec) *string { return &s.User }),
		text(Field{
			Name: "project", Doc: "the project that it belongs to",
			Flags: []Flag{{Name: "project", Short: "A", Help: "the `project` that it belongs to"}},
		}, model.MaxName, func(r *wire.Submit) *string { return &r.Project }, func(s *model.Spec) *string { return &s.Project }),
	}
}

// programFields returns what is run, which program reads as a whole.
func programFields() []Field {
	return []Field{
		{Name: "command", Doc: "a shell command", Kind: "text", Bounds: atMost(model.MaxCommand), read: program, write: writeProgram},
		{Name: "args", Doc: "a program and its arguments, run without a shell, in place of command", Kind: "list of texts", Bounds: atMost(model.MaxCommand)},
		{Name: "script", Doc: "a script that is run as a file; command then holds its arguments", Kind: "text", Bounds: atMost(model.MaxScript)},
		{
			Name: "stdin", Doc: "standard input of rank 0 of each attempt, as base64 of " + atMost(model.MaxStdin) + "; none by default", Kind: "text",
		},
		{
			Name: "env", Doc: "environment variables", Kind: "object of texts", Bounds: atMost(model.MaxEnv), read: environment,
			Flags: []Flag{{Name: "env", Short: "e", Help: "`NAME=value` for the job, or NAME to take this shell's value", Form: FormRepeat}},
		},
		{
			Name: "submit_env", Doc: "environment of the shell that submits: variables of env and of Berth overrule it; without those that Berth sets, and those that the cluster's rules for commands do not allow",
			Kind: "object of texts", Bounds: atMost(command.MaxSubmitEnv), read: shellEnvironment,
			Flags: []Flag{{Name: "export", Help: "`variables` of this shell that the job gets: ALL, NONE, or NAME,NAME=value,...; ALL,NAME=value is possible, too (default: NONE)"}},
		},
		text(Field{
			Name: "workdir", Doc: "absolute path on the node; by default the attempt's own folder",
			Flags: []Flag{{
				Name: "workdir", Short: "D", Help: "`folder` on the node that it starts in (default: an empty one of its own, not the current one)",
			}},
		}, model.MaxPath, func(r *wire.Submit) *string { return &r.WorkDir }, func(s *model.Spec) *string { return &s.WorkDir }),
	}
}

// sizeFields returns how many GPUs on how many nodes, which sizes compares.
func sizeFields() []Field {
	list := []Field{
		count(Field{
			Name: "gpu_count", Doc: "GPUs in all; 1 by default. 0: a job without GPUs, which holds cpus and host_memory_gb on each of its nodes",
			Flags: []Flag{{
				Name: "gpus", Short: "g", Help: "GPUs in all, or `[model:]N` such as h100:4, or a100|h100:N for one of several models; 0: none, see -c and --mem",
				Usual: "1",
			}},
		}, 0, model.MaxGPUs, 1, func(r *wire.Submit) **int64 { return &r.GPUs }, func(s *model.Spec) *uint32 { return &s.GPUs }),
		count(Field{
			Name: "nodes", Doc: "number of nodes, with equal numbers of GPUs; of a job without GPUs 1 by default",
			Flags: []Flag{{Name: "nodes", Short: "N", Help: "spread over exactly `N` nodes"}},
		}, 1, model.MaxRanks, 0, func(r *wire.Submit) **int64 { return &r.Nodes }, func(s *model.Spec) *uint32 { return &s.Nodes }),
		number(Field{
			Name: "gpus_per_node", Doc: "GPUs on each node, in place of gpu_count or of nodes",
			Flags: []Flag{{Name: "gpus-per-node", Help: "GPUs on each node, with --nodes"}},
		}, 1, model.MaxDevices, func(r *wire.Submit) **int64 { return &r.GPUsPerNode }),
		count(Field{
			Name: "min_gpus", Doc: "it takes fewer GPUs if not all are available, but at least this many; with nodes, whole nodes fewer",
			Flags: []Flag{{Name: "min-gpus", Help: "take fewer GPUs if not all are available, but at least `N`; with --nodes whole nodes fewer"}},
		}, 1, model.MaxGPUs, 0, func(r *wire.Submit) **int64 { return &r.MinGPUs }, func(s *model.Spec) *uint32 { return &s.MinGPUs }),
		count(Field{
			Name: "cpus", Doc: "limit of CPU cores on each node; a job without GPUs holds them, and 1 by default",
			Flags: []Flag{{Name: "cpus", Short: "c", Help: "limit of CPU `cores` on each node, which a job without GPUs (-g 0) holds"}},
		}, 1, model.MaxCPUs, 0, func(r *wire.Submit) **int64 { return &r.CPUs }, func(s *model.Spec) *uint32 { return &s.CPUs }),
	}
	list = append(list, onOff(Field{
		Name: "lead", Doc: "the job ends with rank 0: the ranks on other nodes are stopped then, and their exits do not count",
		Flags: []Flag{{Name: "lead", Help: "the job ends with rank 0: stop the ranks on other nodes then, and do not count their exits"}},
	}, func(r *wire.Submit) **bool { return &r.Lead }, func(s *model.Spec) *bool { return &s.Lead }))
	list[0] = list[0].setBy(FormText, setGPUs)
	list[2] = list[2].setBy(FormNumber, setGPUsPerNode)
	list[3].read = nil // its upper bound is the number of GPUs
	list[4].usual = usualCPUs
	return list
}

func memoryFields() []Field {
	main := gigabytes(Field{
		Name: "host_memory_gb", Doc: "limit of main memory on each node; a job without GPUs holds it, and by default memory_per_cpu of the cluster for each core",
		Flags: []Flag{{Name: "mem", Help: "limit of main memory on each node, in `GB`, which a job without GPUs (-g 0) holds"}},
	}, func(r *wire.Submit) **float64 { return &r.HostMemory }, nil, func(s *model.Spec) *uint32 { return &s.MemoryMB })
	main.usual = usualMemory
	return []Field{
		gigabytes(Field{
			Name: "gpu_memory_gb", Aliases: []string{"memory_gb"}, Doc: "least memory of each GPU",
			Flags: []Flag{{Name: "gpu-mem", Help: "memory of each GPU at least, in `GB`"}},
		}, func(r *wire.Submit) **float64 { return &r.GPUMemory }, func(r *wire.Submit) **float64 { return &r.Memory },
			func(s *model.Spec) *uint32 { return &s.GPUMemoryMB }),
		moreThanZero(main, func(r *wire.Submit) **float64 { return &r.HostMemory }),
	}
}

// nodeFields returns which GPUs on which nodes, each given in one way.
func nodeFields() []Field {
	gpu := text(Field{
		Name: "gpu_type", Doc: "words of the GPU's model, such as h100 or 'h100 80gb', in any case, or several with | between them",
	}, model.MaxName, func(r *wire.Submit) *string { return &r.GPUType }, func(s *model.Spec) *string { return &s.GPUModel })
	labels := text(Field{
		Name: "constraint", Doc: "of its nodes' labels: zone=a, zone!=a, ssd or !spot, joined by commas",
		Flags: []Flag{{
			Name: "constraint", Short: "C", Help: "only on nodes with these `labels`: zone=a, zone!=a, ssd or !spot, joined by commas",
		}},
	}, 0, func(r *wire.Submit) *string { return &r.Constraint }, func(s *model.Spec) *string { return &s.Constraint })
	strategy := text(Field{
		Name: "placement", Doc: "strategy to choose among suitable nodes: best_fit, spread, round_robin or least_loaded; by default the cluster's",
		Flags: []Flag{{Name: "placement", Help: "`strategy` to choose among suitable nodes: best_fit, spread, round_robin, least_loaded (default: see berth policy)"}},
	}, 0, func(r *wire.Submit) *string { return &r.Placement }, func(s *model.Spec) *string { return &s.Placement })
	gpu.read, strategy.read = readModel, readPlacement
	labels.read = readConstraint
	return []Field{
		gpu, labels.setBy(FormText, setConstraint),
		hosts(Field{
			Name: "nodelist", Doc: "on these nodes only; gpu[01-04] stands for four",
			Flags: []Flag{{Name: "nodelist", Short: "w", Help: "only on these `nodes`: n1,n2 or n[1-4]"}},
		}, func(r *wire.Submit) *[]string { return &r.Nodelist }, func(s *model.Spec) *string { return &s.Nodelist }),
		hosts(Field{
			Name: "exclude", Doc: "not on these nodes",
			Flags: []Flag{{Name: "exclude", Short: "x", Help: "not on these `nodes`"}},
		}, func(r *wire.Submit) *[]string { return &r.Exclude }, func(s *model.Spec) *string { return &s.Exclude }),
		strategy,
	}
}
