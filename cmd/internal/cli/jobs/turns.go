package jobs

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
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
	find := func(id string) (string, error) {
		if user == "" && id == "@" {
			user = cli.Me(ctx, api)
		}
		return cli.FindJob(ctx, api, id, user)
	}
	for _, text := range list {
		found, err := translate(text, find)
		if err != nil {
			return err
		}
		r.Dependencies = append(r.Dependencies, found)
	}
	return nil
}

// translate returns dependencies such as afterok:@:13?after:12+5 with each job as find returns it.
func translate(text string, find func(id string) (string, error)) (string, error) {
	parts := strings.Split(text, "?")
	for n, part := range parts {
		words := strings.Split(part, ":")
		for i, word := range words[1:] {
			id, minutes, delayed := strings.Cut(strings.TrimSpace(word), "+")
			id, err := find(strings.TrimSpace(id))
			if err != nil {
				return "", err
			}
			if words[i+1] = id; delayed {
				words[i+1] += "+" + minutes
			}
		}
		parts[n] = strings.Join(words, ":")
	}
	return strings.Join(parts, "?"), nil
}

// awaited returns the dependencies of the flags, in the form of the API.
func (o options) awaited() (list []string, err error) {
	for _, v := range []struct {
		kind string
		jobs []string
	}{
		{"afterok", slices.Concat(o["after"].List, o["afterok"].List)},
		{"afterany", o["afterany"].List},
		{"afternotok", o["afternotok"].List},
		{"aftercorr", o["aftercorr"].List},
		{"after", o["afterbegin"].List},
	} {
		if len(v.jobs) > 0 {
			list = append(list, v.kind+":"+strings.Join(v.jobs, ":"))
		}
	}
	dependency := o["dependency"].Text
	if dependency == "" {
		return list, nil
	}
	anyOf := strings.Contains(dependency, "?")
	if anyOf && strings.Contains(dependency, ",") {
		return nil, cmdline.Usage("--dependency: join conditions by commas if all must hold, or by ? if one is enough, not by both")
	}
	parts := strings.FieldsFunc(dependency, func(c rune) bool { return c == ',' || c == '?' })
	for i, part := range parts {
		kind, jobs, found := strings.Cut(strings.TrimSpace(part), ":")
		switch {
		case !slices.Contains([]string{"afterok", "afterany", "afternotok", "aftercorr", "after"}, kind):
			return nil, cmdline.Usage("--dependency: %s is not supported; use after, afterok, afterany, afternotok or aftercorr", strconv.Quote(kind))
		case !found || jobs == "":
			return nil, cmdline.Usage("--dependency: %s needs jobs, as in %s:12:13", kind, kind)
		}
		parts[i] = kind + ":" + jobs
	}
	if anyOf {
		parts = []string{strings.Join(parts, "?")}
	}
	return append(list, parts...), nil
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
