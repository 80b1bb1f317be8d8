package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
)

// ref is a job, or tasks of an array, as a user names them: 17, 17.3, 17.[3-9,12]; 17_3 as in
// Slurm; and @ in place of the number for the user's newest job.
type ref struct {
	job   string // its id, or @
	tasks string // in the API's form; empty: no tasks are picked
}

// newest is the symbol for the job that was submitted last.
const newest = "@"

// parseRef parses a ref. A text that is no job number is passed on to the cluster, which answers
// that no such job exists.
func parseRef(text string) (ref, error) {
	at := strings.IndexAny(text, "._")
	if blank(text) || at == 0 {
		return ref{}, usage("%q is not a job: jobs and tasks are given as in 17, 17.3 and @", text)
	}
	if at < 0 {
		return ref{job: text}, nil
	}
	list := text[at+1:]
	if inner, some := strings.CutPrefix(list, "["); some {
		if list, some = strings.CutSuffix(inner, "]"); !some {
			return ref{}, usage("%s: the ] is missing; tasks are given as in 17.3 or 17.[3-9,12]", text)
		}
	} else if _, err := strconv.ParseUint(list, 10, 32); err != nil {
		return ref{}, usage("%s: tasks are given as in 17.3 or 17.[3-9,12]", text)
	}
	x, err := model.ParseIndices(list)
	if err != nil {
		return ref{}, usage("%s: the tasks %w", text, err)
	}
	return ref{text[:at], x.String()}, nil
}

// String formats the ref as this program prints it.
func (r ref) String() string {
	switch {
	case r.tasks == "":
		return r.job
	case strings.ContainsAny(r.tasks, ",-"):
		return r.job + ".[" + r.tasks + "]"
	}
	return r.job + "." + r.tasks
}

// findRef parses a ref and looks up a user's newest job if the ref names that.
func findRef(ctx context.Context, api *client.Client, text, user string) (ref, error) {
	r, err := parseRef(text)
	if err != nil || r.job != newest {
		return r, err
	}
	list, err := api.Lists().Jobs(ctx, user, 1)
	if err != nil {
		return r, fmt.Errorf("asking for the newest job of %s: %w", user, err)
	}
	if len(list.Jobs) == 0 {
		return r, notFound("user %s has no jobs, so that %s has no meaning", user, newest)
	}
	if c := callerOf(ctx, api); c.Name == user && list.Jobs[0].SubmittedAt.Before(c.Since) {
		return r, notFound("user %s, created %s, has no jobs, so that %s has no meaning: job %s is of a former user of the name",
			user, c.Since.Local().Format(time.DateTime), newest, list.Jobs[0].ID)
	}
	r.job = list.Jobs[0].ID
	return r, nil
}

// findRefs parses several refs.
func findRefs(ctx context.Context, api *client.Client, texts []string) ([]ref, error) {
	out, user := make([]ref, 0, len(texts)), me(ctx, api)
	for _, text := range texts {
		r, err := findRef(ctx, api, text, user)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// findOne parses a ref of a job, or of a single task.
func findOne(ctx context.Context, api *client.Client, text string) (ref, error) {
	r, err := findRef(ctx, api, text, me(ctx, api))
	if err == nil && strings.ContainsAny(r.tasks, ",-") {
		return r, usage("%s: give one task", text)
	}
	return r, err
}

// findJob parses a ref of a whole job.
func findJob(ctx context.Context, api *client.Client, text, user string) (string, error) {
	r, err := findRef(ctx, api, text, user)
	if err == nil && r.tasks != "" {
		return "", usage("%s: give the job as a whole", text)
	}
	return r.job, err
}
