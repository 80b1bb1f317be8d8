package intake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// atMost returns the bound of a size in words.
func atMost(bytes int) string { return fmt.Sprintf("at most %d bytes", bytes) }

// program parses what runs: a shell command, or a program with its arguments.
func program(r *wire.Submit, c *command.Submit, _ model.Time) error {
	c.Spec.Command = r.Command
	if fault := model.ProgramFault(r.Script); fault != "" {
		return problem.Invalid("script", fault)
	}
	switch {
	case r.Args != nil && r.Command != "":
		return problem.Invalid("args", "must not be given together with command")
	case r.Args != nil:
		for _, a := range r.Args {
			if strings.ContainsRune(a, 0) {
				return problem.Invalid("args", "must not hold NUL")
			}
		}
		if len(r.Args) == 0 || r.Args[0] == "" && r.Script == "" {
			return problem.Invalid("args", "must begin with a program")
		}
		c.Spec.Command, c.Spec.Argv = strings.Join(r.Args, "\x00"), true
	case strings.TrimSpace(r.Command) == "" && r.Script == "":
		return problem.Invalid("command", "must be given, or args, or a script")
	}
	return nil
}

// writeProgram writes what program reads, except for the script.
func writeProgram(j *model.Job, r *wire.Submit) {
	if r.Command = j.Spec.Command; j.Spec.Argv {
		r.Command, r.Args = "", strings.Split(j.Spec.Command, "\x00")
	}
}

// environment parses the environment variables.
func environment(r *wire.Submit, c *command.Submit, _ model.Time) error {
	for name, value := range r.Env { // order-free: sorted below
		c.Env = append(c.Env, name+"="+value)
		if strings.Contains(name, "=") {
			return problem.Invalid("env", "must have names of letters, digits and _ that do not begin with a digit")
		}
	}
	slices.SortFunc(c.Env, byName)
	return nil
}

// shellEnvironment reads the environment of the submission, without variables that Berth sets.
func shellEnvironment(r *wire.Submit, c *command.Submit, _ model.Time) error {
	for name, value := range r.Shell { // order-free: sorted below
		switch {
		case strings.Contains(name, "="):
			return problem.Invalid("submit_env", "must have names without =")
		case !Own(name):
			c.SubmitEnv = append(c.SubmitEnv, name+"="+value)
		}
	}
	slices.SortFunc(c.SubmitEnv, byName)
	return nil
}

// byName orders "NAME=value" by name, which differs from the order of the texts
// where one name begins another.
func byName(a, b string) int {
	x, _, _ := strings.Cut(a, "=")
	y, _, _ := strings.Cut(b, "=")
	return strings.Compare(x, y)
}
