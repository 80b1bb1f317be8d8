package sbatch

import (
	"github.com/berth-gpu/berth/image/name"
	"github.com/berth-gpu/berth/slurm/container"
	"github.com/berth-gpu/berth/slurm/option"
)

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
			set: option.Assign(func(o *Options) *Requeue { return &o.Requeue }, RequeueYes),
		},
		{
			Name: "no-requeue", Env: env("NO_REQUEUE"), Text: "the job fails in place of running again",
			set: option.Assign(func(o *Options) *Requeue { return &o.Requeue }, RequeueNo),
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
			set: option.On(func(o *Options) *bool { return &o.Wait }),
		},
		{
			Name: "wrap", Takes: TakesValue, Form: "COMMAND", Text: "the command is the script",
			set: setWrap,
		},
		{Name: "parsable", Text: "sbatch prints the number of the job alone", set: option.On(func(o *Options) *bool { return &o.Parsable })},
		{Name: "test-only", Text: "the job is checked and not submitted", set: option.On(func(o *Options) *bool { return &o.TestOnly })},
		{Name: "quiet", Short: 'Q', Text: "notes are left out", set: option.On(func(o *Options) *bool { return &o.Quiet })},
		{
			Name: "verbose", Short: 'v', Env: env("DEBUG"), Text: "nothing: berth submit --dry-run prints what was understood",
			set: setVerbose,
		},
		{Name: "help", Short: 'h', Text: "sbatch prints its options", set: option.On(func(o *Options) *bool { return &o.Help })},
		{Name: "usage", Text: "sbatch prints its forms", set: option.On(func(o *Options) *bool { return &o.Usage })},
		{Name: "version", Short: 'V', Text: "sbatch prints its version", set: option.On(func(o *Options) *bool { return &o.Version })},
		{
			Name: "ignore-pbs", Env: env("IGNORE_PBS"), Text: "no note about #PBS and #BSUB lines, which are never read",
			set: option.On(func(o *Options) *bool { return &o.IgnorePBS }),
		},
	}
}

// containerOptions returns the options of the plug-in pyxis, by which scripts run in an image.
func containerOptions() []Option {
	var all []Option
	for _, c := range container.Table(name.Check) {
		o := Option{Name: c.Name, Form: c.Form, Text: c.Text}
		if c.Form != "" {
			o.Takes = TakesValue
		}
		switch {
		case c.Refused != "":
			o.Effect, o.Remedy = Refused, c.Refused
		case c.Silent:
			o.Effect = NoEffect
		default:
			o.set = func(o *Options, value string) error { return c.Set(&o.Container, value) }
		}
		all = append(all, o)
	}
	return all
}

// env returns the input variable of an option.
func env(name string) []string { return []string{"SBATCH_" + name} }
