package sbatch

import (
	"slices"
	"strings"
)

// rivals returns sets of options that exclude each other.
func rivals() [][]string {
	return [][]string{
		{"mem", "mem-per-cpu", "mem-per-gpu"},
		{"cpus-per-task", "cpus-per-gpu"},
		{"gpus-per-task", "ntasks-per-gpu"},
		{"ntasks-per-node", "ntasks-per-gpu"},
		{"gpus-per-socket", "ntasks-per-gpu"},
		{"gpus-per-node", "gpus-per-socket"},
		{"nodelist", "nodefile"},
	}
}

// among returns those of the options that have one of the names.
func among(given []Given, names []string) []Given {
	var found []Given
	for _, g := range given {
		if slices.Contains(names, g.Option) {
			found = append(found, g)
		}
	}
	return found
}

// dropVariables removes options of variables that the script or the command line has a rival of.
func dropVariables(vars, others []Given) []Given {
	return slices.DeleteFunc(vars, func(g Given) bool {
		return slices.ContainsFunc(rivals(), func(names []string) bool {
			return slices.Contains(names, g.Option) && len(among(others, names)) > 0
		})
	})
}

// check finds options that exclude each other.
func check(o *Options, given []Given) error {
	for _, names := range rivals() {
		if found := among(given, names); len(found) > 1 {
			return exclude(found)
		}
	}
	if o.Deadline.At.IsZero() || o.Begin.At.Before(o.Deadline.At) {
		return nil
	}
	return &Error{Where: among(given, []string{"deadline"})[0].Where, Option: "--deadline", Problem: "the job would begin (--begin) after its deadline: " +
		o.Begin.At.Format("2006-01-02T15:04:05") + " and " + o.Deadline.At.Format("2006-01-02T15:04:05")}
}

// exclude says which options exclude each other, and where they are.
func exclude(found []Given) error {
	var b strings.Builder
	for i, g := range found {
		if i > 0 {
			b.WriteString(" and ")
		}
		b.WriteString("--" + g.Option + " (" + g.Where + ")")
	}
	return &Error{Problem: b.String() + " exclude each other; keep one"}
}
