package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// Ref is a job, or tasks of an array, as a user names them: 17, 17.3, 17.[3-9,12]; 17_3 as in
// Slurm; and @ in place of the number for the user's newest job.
type Ref struct {
	Job   string // its id, or @
	Tasks string // in the API's form; empty: no tasks are picked
}

// newest is the symbol for the job that was submitted last.
const newest = "@"

// parseRef parses a ref. A text that is no job number is passed on to the cluster, which answers
// that no such job exists.
func parseRef(text string) (Ref, error) {
	at := strings.IndexAny(text, "._")
	if Blank(text) || at == 0 {
		return Ref{}, cmdline.Usage("%q is not a job: jobs and tasks are given as in 17, 17.3 and @", text)
	}
	if at < 0 {
		return Ref{Job: text}, nil
	}
	list := text[at+1:]
	if inner, some := strings.CutPrefix(list, "["); some {
		if list, some = strings.CutSuffix(inner, "]"); !some {
			return Ref{}, cmdline.Usage("%s: the ] is missing; tasks are given as in 17.3 or 17.[3-9,12]", text)
		}
	} else if _, err := strconv.ParseUint(list, 10, 32); err != nil {
		return Ref{}, cmdline.Usage("%s: tasks are given as in 17.3 or 17.[3-9,12]", text)
	}
	x, err := model.ParseIndices(list)
	if err != nil {
		return Ref{}, cmdline.Usage("%s: the tasks %w", text, err)
	}
	return Ref{text[:at], x.String()}, nil
}

// String formats the ref as this program prints it.
func (r Ref) String() string {
	switch {
	case r.Tasks == "":
		return r.Job
	case strings.ContainsAny(r.Tasks, ",-"):
		return r.Job + ".[" + r.Tasks + "]"
	}
	return r.Job + "." + r.Tasks
}

// findRef parses a ref and looks up a user's newest job if the ref names that.
func findRef(ctx context.Context, api *client.Client, text, user string) (Ref, error) {
	r, err := parseRef(text)
	if err != nil || r.Job != newest {
		return r, err
	}
	list, err := api.Lists().Jobs(ctx, client.JobsQuery{Limit: 1, Selection: client.Selection{Filters: map[string]string{"user": user}}})
	if err != nil {
		return r, fmt.Errorf("asking for the newest job of %s: %w", user, err)
	}
	if len(list.Jobs) == 0 {
		return r, cmdline.NotFound("user %s has no jobs, so that %s has no meaning", user, newest)
	}
	if c := callerOf(ctx, api); c.Name == user && list.Jobs[0].SubmittedAt.Before(c.Since) {
		return r, cmdline.NotFound("user %s, created %s, has no jobs, so that %s has no meaning: job %s is of a former user of the name",
			user, c.Since.Local().Format(time.DateTime), newest, list.Jobs[0].ID)
	}
	r.Job = list.Jobs[0].ID
	return r, nil
}

// FindRefs parses several refs.
func FindRefs(ctx context.Context, api *client.Client, texts []string) ([]Ref, error) {
	out, user := make([]Ref, 0, len(texts)), Me(ctx, api)
	for _, text := range texts {
		r, err := findRef(ctx, api, text, user)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// FindOne parses a ref of a job, or of a single task.
func FindOne(ctx context.Context, api *client.Client, text string) (Ref, error) {
	r, err := findRef(ctx, api, text, Me(ctx, api))
	if err == nil && strings.ContainsAny(r.Tasks, ",-") {
		return r, cmdline.Usage("%s: give one task", text)
	}
	return r, err
}

// FindJob parses a ref of a whole job.
func FindJob(ctx context.Context, api *client.Client, text, user string) (string, error) {
	r, err := findRef(ctx, api, text, user)
	if err == nil && r.Tasks != "" {
		return "", cmdline.Usage("%s: give the job as a whole", text)
	}
	return r.Job, err
}
