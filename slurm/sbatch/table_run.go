package sbatch

// fileOptions returns the files and the folder of a job.
func fileOptions() []Option {
	return []Option{
		{
			Name: "output", Short: 'o', Takes: TakesValue, Form: "PATTERN", Env: env("OUTPUT"),
			Text: "file for standard output, and for standard error without --error; by default slurm-%j.out, of an array slurm-%A_%a.out",
			set:  text(func(o *Options) *string { return &o.Output }),
		},
		{
			Name: "error", Short: 'e', Takes: TakesValue, Form: "PATTERN", Env: env("ERROR"),
			Text: "file for standard error", set: text(func(o *Options) *string { return &o.Error }),
		},
		{
			Name: "input", Short: 'i', Takes: TakesValue, Form: "PATTERN", Env: env("INPUT"),
			Text: "file for standard input of the script; by default there is none", set: text(func(o *Options) *string { return &o.Input }),
		},
		{
			Name: "open-mode", Takes: TakesValue, Form: "append|truncate", Env: env("OPEN_MODE"),
			Text: "whether output files that are there already are kept or emptied", set: setOpenMode,
		},
		{
			Name: "chdir", Others: []string{"workdir"}, Short: 'D', Takes: TakesValue, Form: "FOLDER",
			Text: "folder that the job starts in, relative to that of the submission, which is the default", set: text(func(o *Options) *string { return &o.Chdir }),
		},
	}
}

// environmentOptions returns the variables of a job.
func environmentOptions() []Option {
	return []Option{
		{
			Name: "export", Takes: TakesValue, Form: "ALL|NONE|NIL|LIST", Env: env("EXPORT"),
			Text: "which variables of the submission the job gets: all, none, or those listed, also with values (A=1)", set: setExport,
		},
		{
			Name: "export-file", Takes: TakesValue, Form: "FILE|NUMBER",
			Text: "a file, or an open one by its number, with variables NAME=value that end with a zero byte", set: text(func(o *Options) *string { return &o.ExportFile }),
		},
	}
}

// endOptions returns what follows the end of an attempt.
func endOptions() []Option {
	return []Option{
		{
			Name: "requeue", Env: env("REQUEUE"), Text: "the job runs again after the loss of a node or a preemption",
			set: assign(func(o *Options) *Requeue { return &o.Requeue }, RequeueYes),
		},
		{
			Name: "no-requeue", Env: env("NO_REQUEUE"), Text: "the job fails in place of running again",
			set: assign(func(o *Options) *Requeue { return &o.Requeue }, RequeueNo),
		},
		{
			Name: "mail-type", Takes: TakesValue, Form: "LIST", Effect: NoEffect,
			Text: "Berth sends no mail; a webhook gets the events of a job", set: setMailType,
		},
		{
			Name: "mail-user", Takes: TakesValue, Form: "ADDRESS", Effect: NoEffect,
			Text: "Berth sends no mail; a webhook gets the events of a job", set: text(func(o *Options) *string { return &o.MailUser }),
		},
	}
}

// replyOptions returns what sbatch itself does and prints.
func replyOptions() []Option {
	return []Option{
		{
			Name: "wait", Short: 'W', Env: env("WAIT"), Text: "sbatch ends with the job, and with its exit code",
			set: given(func(o *Options) *bool { return &o.Wait }),
		},
		{
			Name: "wrap", Takes: TakesValue, Form: "COMMAND", Text: "the command is the script",
			set: setWrap,
		},
		{Name: "parsable", Text: "sbatch prints the number of the job alone", set: given(func(o *Options) *bool { return &o.Parsable })},
		{Name: "test-only", Text: "the job is checked and not submitted", set: given(func(o *Options) *bool { return &o.TestOnly })},
		{Name: "quiet", Short: 'Q', Text: "notes are left out", set: given(func(o *Options) *bool { return &o.Quiet })},
		{
			Name: "verbose", Short: 'v', Env: env("DEBUG"), Text: "nothing: berth submit --dry-run prints what was understood",
			set: setVerbose,
		},
		{Name: "help", Short: 'h', Text: "sbatch prints its options", set: given(func(o *Options) *bool { return &o.Help })},
		{Name: "usage", Text: "sbatch prints its forms", set: given(func(o *Options) *bool { return &o.Usage })},
		{Name: "version", Short: 'V', Text: "sbatch prints its version", set: given(func(o *Options) *bool { return &o.Version })},
		{
			Name: "ignore-pbs", Env: env("IGNORE_PBS"), Text: "no note about #PBS and #BSUB lines, which are never read",
			set: given(func(o *Options) *bool { return &o.IgnorePBS }),
		},
	}
}

// containerOptions returns the options of the plug-in pyxis, by which scripts run in an image.
func containerOptions() []Option {
	home := func(o *Options) *Switch { return &o.Container.MountHome }
	remap := func(o *Options) *Switch { return &o.Container.RemapRoot }
	entry := func(o *Options) *Switch { return &o.Container.Entrypoint }
	writable := func(o *Options) *Switch { return &o.Container.Writable }
	return []Option{
		{
			Name: "container-image", Takes: TakesValue, Form: "[USER@][REGISTRY#]IMAGE[:TAG]|PATH",
			Text: "a job with an image is refused: Berth does not start containers", set: text(func(o *Options) *string { return &o.Container.Image }),
		},
		{
			Name: "container-mounts", Takes: TakesValue, Form: "SRC:DST[:FLAGS][,...]",
			Text: "folders of the node that the image sees", set: list(func(o *Options) *[]string { return &o.Container.Mounts }),
		},
		{
			Name: "container-workdir", Takes: TakesValue, Form: "FOLDER",
			Text: "folder in the image that the job starts in", set: text(func(o *Options) *string { return &o.Container.Workdir }),
		},
		{
			Name: "container-name", Takes: TakesValue, Form: "NAME",
			Text: "name under which the image's files are kept for later steps", set: text(func(o *Options) *string { return &o.Container.Name }),
		},
		{
			Name: "container-save", Takes: TakesValue, Form: "PATH",
			Text: "file that the image is saved to at the end", set: text(func(o *Options) *string { return &o.Container.Save }),
		},
		{
			Name: "container-env", Takes: TakesValue, Form: "NAME[,NAME...]",
			Text: "variables of the job that overrule those of the image", set: list(func(o *Options) *[]string { return &o.Container.Env }),
		},
		{Name: "container-mount-home", Text: "the image sees the user's home folder", set: assign(home, SwitchOn)},
		{Name: "no-container-mount-home", Text: "the image does not see the user's home folder", set: assign(home, SwitchOff)},
		{Name: "container-remap-root", Text: "the job is root in the image", set: assign(remap, SwitchOn)},
		{Name: "no-container-remap-root", Text: "the job is the user in the image", set: assign(remap, SwitchOff)},
		{Name: "container-entrypoint", Text: "the image's entry point is run", set: assign(entry, SwitchOn)},
		{Name: "no-container-entrypoint", Text: "the image's entry point is not run", set: assign(entry, SwitchOff)},
		{
			Name: "container-entrypoint-log", Text: "the output of the entry point is printed",
			set: given(func(o *Options) *bool { return &o.Container.EntrypointLog }),
		},
		{Name: "container-writable", Text: "the job may write to the image's files, for its own time", set: assign(writable, SwitchOn)},
		{Name: "container-readonly", Text: "the image's files are read-only", set: assign(writable, SwitchOff)},
	}
}

// env returns the input variable of an option.
func env(name string) []string { return []string{"SBATCH_" + name} }
