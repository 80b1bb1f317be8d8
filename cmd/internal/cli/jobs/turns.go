package jobs

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// fillTurns copies the flags into a submission. @ stands for the newest job of its user. Where the cluster takes the user from
// the token, as identified says, the user is asked for only if @ is given.
func (o options) fillTurns(ctx context.Context, api *client.Client, identified bool, r *wire.Submit) (err error) {
	if r.User == "" && !identified {
		r.User = cli.Me(ctx, api)
	}
	user := r.User
	now := time.Now()
	for _, v := range []struct {
		name string
		to   *string
	}{{"begin", &r.Begin}, {"deadline", &r.Deadline}} {
		if text := o[v.name].Text; text != "" { // else what the script says holds
			if *v.to, err = cli.Moment("--"+v.name, text, now); err != nil {
				return err
			}
		}
	}
	list, err := o.awaited()
	if err != nil {
		return err
	}
	if len(list) > 0 {
		r.Dependencies = nil // those of the script
	}
	for _, a := range list {
		for i, text := range a.jobs {
			if user == "" && strings.TrimSpace(text) == "@" {
				user = cli.Me(ctx, api)
			}
			if a.jobs[i], err = cli.FindJob(ctx, api, strings.TrimSpace(text), user); err != nil {
				return err
			}
		}
		r.Dependencies = append(r.Dependencies, a.kind+":"+strings.Join(a.jobs, ":"))
	}
	return nil
}

// awaited is a list of jobs and the kind of the dependency on them.
type awaited struct {
	kind string
	jobs []string
}

func (o options) awaited() (list []awaited, err error) {
	for _, a := range []awaited{
		{"afterok", slices.Concat(o["after"].List, o["afterok"].List)}, {"afterany", o["afterany"].List}, {"afternotok", o["afternotok"].List},
	} {
		if len(a.jobs) > 0 {
			list = append(list, a)
		}
	}
	dependency := o["dependency"].Text
	if dependency == "" {
		return list, nil
	}
	if strings.Contains(dependency, "?") {
		return nil, cli.Usage("--dependency: all jobs must end as asked; one of several (?) cannot be waited for")
	}
	for part := range strings.SplitSeq(dependency, ",") {
		kind, jobs, found := strings.Cut(strings.TrimSpace(part), ":")
		switch {
		case kind != "afterok" && kind != "afterany" && kind != "afternotok":
			return nil, cli.Usage("--dependency: %s is not supported; use afterok, afterany or afternotok", strconv.Quote(kind))
		case !found || jobs == "":
			return nil, cli.Usage("--dependency: %s needs jobs, as in %s:12:13", kind, kind)
		}
		list = append(list, awaited{kind, strings.Split(jobs, ":")})
	}
	return list, nil
}

// late returns by how much a job with an estimated run time would miss its deadline if it started
// now or at its earliest start; 0: it would not, or has no estimate or deadline.
func late(r *wire.Submit, now time.Time) time.Duration {
	at := func(text string) (time.Time, bool) {
		if ahead, relative := strings.CutPrefix(text, "+"); relative {
			d, err := wire.ParseDuration(ahead)
			return now.Add(d), err == nil
		}
		t, err := time.Parse(time.RFC3339, text)
		return t, err == nil
	}
	deadline, given := at(r.Deadline)
	if r.Estimate == nil || !given {
		return 0
	}
	start := now
	if begin, given := at(r.Begin); given && begin.After(now) {
		start = begin
	}
	return max(0, start.Add(time.Duration(*r.Estimate)).Sub(deadline))
}
