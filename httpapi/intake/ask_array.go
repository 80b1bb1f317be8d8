package intake

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// array parses the tasks of an array: a number, the numbers themselves, or a grid.
func array(r *wire.Submit, c *command.Submit, _ model.Time) (err error) {
	if c.Throttle, err = Count("array_limit", r.MaxRunning, 1, model.MaxTasks, 0); err != nil {
		return err
	}
	if c.Tasks, err = Count("array_size", r.Tasks, 1, model.MaxTasks, 1); err != nil {
		return err
	}
	var x model.Indices
	switch {
	case len(r.Params) > 0:
		x, err = sweep(r, c)
	case r.Indices != "":
		x, err = model.ParseIndices(r.Indices)
		err = Named("array_indices", err)
	case c.Tasks > 1:
		x = model.FirstIndices(c.Tasks)
	}
	switch {
	case err == nil && x == nil && r.MaxRunning != nil && r.Tasks == nil:
		return problem.Invalid("array_limit", "needs an array: array_size, array_indices or params")
	case err != nil || x == nil:
		return err
	case r.Tasks != nil && int(c.Tasks) != len(x):
		return problem.Invalid("array_size", "must be "+strconv.Itoa(len(x))+" with these tasks, or be left out")
	}
	c.Tasks, c.Spec.Array = uint32(len(x)), x.String()
	return nil
}

// sweep returns the numbers of a grid's tasks.
func sweep(r *wire.Submit, c *command.Submit) (model.Indices, error) {
	if r.Indices != "" {
		return nil, problem.Invalid("array_indices", "must not be given together with params: their grid determines the number of tasks")
	}
	for _, line := range r.Params {
		if strings.Contains(line, "\n") {
			return nil, problem.Invalid("params", "must be one line each")
		}
	}
	c.Spec.Sweep = strings.Join(r.Params, "\n")
	grid, err := model.ParseSweep(c.Spec.Sweep)
	if err != nil {
		return nil, err
	}
	return model.FirstIndices(grid.Len()), model.CheckSweep(c.Spec.Sweep)
}

func writeThrottle(j *model.Job, r *wire.Submit) {
	if j.Throttle > 0 {
		r.MaxRunning = new(int64(j.Throttle))
	}
}

func writeSweep(j *model.Job, r *wire.Submit) {
	if j.Spec.Sweep != "" {
		r.Params = strings.Split(j.Spec.Sweep, "\n")
	}
}

// writeIndices writes the tasks' numbers of an array without a sweep, which determines its own.
func writeIndices(j *model.Job, r *wire.Submit) {
	if j.Spec.Sweep == "" {
		r.Indices = j.Spec.Array
	}
}

// setArray parses "0-99", "0-99:10%4", or with a sweep "%4". It needs the sweep.
func setArray(r *wire.Submit, v *FlagValue) error {
	span, limit, limited := strings.Cut(v.Text, "%")
	r.Indices = span
	switch {
	case span == "" && len(r.Params) == 0:
		return errors.New("--array: the tasks are missing; give them as in 0-99%8")
	case span != "" && len(r.Params) > 0:
		return fmt.Errorf("--array: the tasks of a sweep follow from --param; give %%%s alone, or none", cmp.Or(limit, "8"))
	case span != "":
		if _, err := model.ParseIndices(span); err != nil {
			return fmt.Errorf("--array %w", err)
		}
	}
	if !limited {
		return nil
	}
	most, err := strconv.ParseInt(limit, 10, 32)
	if err != nil || most < 1 {
		return fmt.Errorf("--array: after %% must be the number of tasks that may run at once, not %q", limit)
	}
	r.MaxRunning = &most
	return nil
}

// Named converts an error that says what a value must be to one about a field.
func Named(field string, err error) error {
	if err == nil {
		return nil
	}
	return problem.Invalid(field, err.Error())
}

// awaited parses the jobs that the new one waits for.
func awaited(r *wire.Submit, c *command.Submit, _ model.Time) error {
	alternatives := 0
	for _, text := range r.Dependencies {
		list, err := parseDependency(text)
		if err != nil {
			return Named("dependencies", err)
		}
		if strings.Contains(text, "?") {
			alternatives++
		}
		c.After = append(c.After, list...)
	}
	if alternatives > 1 {
		return problem.Invalid("dependencies", "have one text with question marks at most: of its conditions one is enough")
	}
	slices.SortFunc(c.After, dependency.After.Compare)
	c.After = slices.Compact(c.After)
	for i := 1; i < len(c.After); i++ {
		if c.After[i].Compare(c.After[i-1]) == 0 {
			return problem.Invalid("dependencies", "name "+c.After[i].Kind.String()+" of job "+c.After[i].Job.String()+" in two ways: give one")
		}
	}
	if len(c.After) > model.MaxAfter {
		return problem.Invalid("dependencies", "must be at most "+strconv.Itoa(model.MaxAfter)+" jobs")
	}
	return nil
}

var errDependency = errors.New("must be after, afterok, afterany, afternotok or aftercorr and jobs, such as afterok:12:13, after:12+5 (minutes), " +
	"or several of these joined by ?, of which one is enough")

// parseDependency parses "afterok:12:13", or several such joined by question marks.
func parseDependency(text string) (out []dependency.After, err error) {
	parts := strings.Split(text, "?")
	for _, part := range parts {
		kind, jobs, found := strings.Cut(part, ":")
		k := dependency.AfterOK
		for k.Valid() && k.String() != kind {
			k++
		}
		if !found || !k.Valid() {
			return nil, errDependency
		}
		for id := range strings.SplitSeq(jobs, ":") {
			a := dependency.After{Kind: k, Any: len(parts) > 1}
			id, minutes, delayed := strings.Cut(id, "+")
			if a.Job, err = JobID(id); err != nil {
				return nil, errDependency
			}
			if delayed {
				n, err := strconv.ParseUint(minutes, 10, 20)
				if a.Delay = time.Duration(n) * time.Minute; err != nil || !a.Valid() {
					return nil, errDependency
				}
			}
			out = append(out, a)
		}
	}
	return out, nil
}

// instant parses an RFC 3339 time, or a time from now; empty: none.
func instant(field, text string, now model.Time) (model.Time, error) {
	if text == "" {
		return 0, nil
	}
	if ahead, relative := strings.CutPrefix(text, "+"); relative {
		d, err := wire.ParseDuration(ahead)
		return now.Add(d), Named(field, err)
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		return 0, problem.Invalid(field, "must be a time such as 2026-01-31T20:00:00Z, or +2h")
	}
	return model.TimeOf(t), nil
}
