package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// validSavedJob checks a job that comes from outside with its number: its spec, how many tasks it has and when it was submitted,
// and which tasks of an array are held, as model.Indices writes them.
func validSavedJob(spec *model.Spec, tasks uint32, submitted model.Time, held string) error {
	switch {
	case tasks < 1 || tasks > model.MaxTasks || tasks > 1 && spec.Array == "":
		return invalid("array", "1 to 10000 tasks, with their numbers")
	case submitted < 0 || submitted > model.TimeOf(time.Unix(1<<33, 0)):
		return invalid("submitted_at", "a time from 1970 to 2242")
	}
	return validFirstOf(spec.Validate(), validArray(spec, tasks), heldTasks(spec, held))
}

// validSavedTexts checks the texts of such a job. Environments are "NAME=value", sorted by name, with NUL between two.
func validSavedTexts(spec *model.Spec, script, env, stdin, submitEnv string) error {
	switch {
	case spec.Command == "" && script == "":
		return invalid("command", "given, or a script")
	case len(script) > model.MaxScript && !sealedWithin(script, model.MaxScript):
		return invalid("script", fmt.Sprintf("at most %d bytes", model.MaxScript))
	}
	return validFirstOf(validEnv(lines(env)), validSubmitEnv(lines(submitEnv)), validStdin(stdin))
}

// lines returns an environment line by line.
func lines(env string) []string {
	switch {
	case env == "":
		return nil
	case model.Sealed(env):
		return []string{env}
	}
	return strings.Split(env, "\x00")
}

// heldTasks checks that held tasks are some of an array's.
func heldTasks(spec *model.Spec, held string) error {
	if held == "" {
		return nil
	}
	some, err := model.ParseIndices(held)
	all, _ := model.ParseIndices(spec.Array)
	if err != nil || spec.Held || some.String() != held {
		return invalid("held_tasks", "some of an array's tasks in rising order, such as 3,7-9")
	}
	for _, n := range some {
		if !all.Has(n) {
			return invalid("held_tasks", "some of the job's tasks")
		}
	}
	return nil
}
