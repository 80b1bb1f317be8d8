package srun

import (
	"slices"
	"strings"

	"github.com/berth-gpu/berth/slurm/option"
)

// Divide divides a command line of srun outside of a job: options of the job that has to be made, in the form of sbatch, options of the
// step inside of it, and the program with its arguments. isJob reports whether sbatch has an option. Files are those of the step.
func Divide(words []string, isJob func(name string) bool) (job, step, command []string, err error) {
	entries := table()
	list := make([]option.Option, len(entries))
	byName := make(map[string]*entry, len(entries))
	for i := range entries {
		list[i], byName[entries[i].Name] = entries[i].Option, &entries[i]
	}
	given, command, err := option.NewSet("srun", list).Leading(words)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, g := range given {
		e := byName[g.Option]
		if e.refused != "" {
			return nil, nil, nil, &Error{e.Spelling(), "the option is refused: " + e.refused}
		}
		word := e.Spelling()
		if e.Takes != option.TakesNone && (g.Value != "" || e.Takes == option.TakesValue) {
			word += "=" + g.Value
		}
		switch {
		case len(e.Name) > 1 && isJob(g.Option) && !ofStep(g.Option):
			job = append(job, word)
		case len(e.Name) == 1:
			step = append(step, "-"+e.Name+g.Value)
		default:
			step = append(step, word)
			if e.set == nil || e.Takes == option.TakesOptional {
				continue
			}
			if err := e.set(&Options{}, g.Value); err != nil { // now, and not when the job has waited for its resources
				return nil, nil, nil, &Error{e.Spelling(), err.Error()}
			}
		}
	}
	return job, step, command, nil
}

// NamesJob reports whether a command line has --jobid. One that cannot be read has none.
func NamesJob(words []string) bool {
	entries := table()
	list := make([]option.Option, len(entries))
	for i := range entries {
		list[i] = entries[i].Option
	}
	given, _, err := option.NewSet("srun", list).Leading(words)
	return err == nil && slices.ContainsFunc(given, func(g option.Given) bool { return g.Option == "jobid" })
}

// ofStep reports whether an option that sbatch has, too, is about the step.
func ofStep(name string) bool {
	switch name {
	case "output", "error", "input", "open-mode", "chdir", "export", "quiet", "verbose", "help", "usage", "version", "wait":
		return true
	}
	return strings.HasPrefix(strings.TrimPrefix(name, "no-"), "container-")
}
