package core

import (
	"context"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/seal"
)

// Submitter returns the actor that asks for GPUs in a user's name: the caller, or without
// authentication that user.
func Submitter(ctx context.Context, user string) string {
	if c := auth.From(ctx); c.Kind != auth.Open {
		return c.Actor()
	}
	return UserActor(user)
}

// UserActor returns the actor of a user in timelines and request ids.
func UserActor(user string) string { return "user:" + user }

// Propose carries out one command of the caller, under a request id if there is one. A command that
// the state refuses is an error.
func (a *API) Propose(ctx context.Context, key string, body command.Body) (command.Result, uint64, error) {
	return a.ProposeAs(ctx, auth.From(ctx).Actor(), key, body)
}

// ProposeAs is propose in the name of another actor.
func (a *API) ProposeAs(ctx context.Context, actor, key string, body command.Body) (command.Result, uint64, error) {
	c, err := a.compose(ctx, actor, key, body)
	if err != nil {
		return command.Result{}, 0, err
	}
	results, index, err := a.propose(ctx, c)
	if err != nil {
		return command.Result{}, 0, err
	}
	if r := results[0]; !r.OK() {
		return r, index, problem.Refused(&r)
	}
	return results[0], index, nil
}

// ProposeAll carries out commands of users in one log entry, or in several if one has no room for them, each under its own
// request id. The results are in the order of the commands. After an error some may have been carried out: a repetition under the
// same ids completes them.
func (a *API) ProposeAll(ctx context.Context, keys []string, bodies []command.Body) (results []command.Result, index uint64, err error) {
	var entry []command.Command
	size := 0
	flush := func() error {
		part, at, err := a.propose(ctx, entry...)
		results, entry, size = append(results, part...), nil, 0
		index = max(index, at)
		return err
	}
	for i, body := range bodies {
		c, err := a.compose(ctx, auth.From(ctx).Actor(), keys[i], body)
		if err != nil {
			return nil, 0, err
		}
		if size += c.Size(); size > command.LaneUser.Room() && len(entry) > 0 {
			if err := flush(); err != nil {
				return nil, 0, err
			}
			size = c.Size()
		}
		entry = append(entry, c)
	}
	if len(entry) > 0 {
		err = flush()
	}
	return results, index, err
}

// compose returns a command of an actor, under a request id if there is one. Texts of users are sealed.
func (a *API) compose(ctx context.Context, actor, key string, body command.Body) (command.Command, error) {
	body, err := seal.Body(ctx, a.Config.Sealing, body)
	if err != nil {
		return command.Command{}, err
	}
	c, err := command.New(ClipActor(actor), body)
	if err == nil && key != "" {
		c, err = c.WithRequest(key)
	}
	return c.FromClient(Proposing(ctx)), err
}

// propose carries out commands in one log entry.
func (a *API) propose(ctx context.Context, commands ...command.Command) ([]command.Result, uint64, error) {
	results, index, err := a.Peer.Proposer.Propose(ctx, commands...)
	for i := range commands {
		outcome := "failed"
		if err == nil {
			outcome = results[i].Code.String()
		}
		a.Meter.Proposed(commands[i].Kind(), outcome)
	}
	return results, index, problem.Unsure(err)
}

// ClipActor shortens a user's name, which may be longer than an actor's.
func ClipActor(actor string) string {
	return strings.ToValidUTF8(actor[:min(len(actor), model.MaxName)], "")
}

// BodyInput is the input of a change with a body.
type BodyInput struct {
	Key string `header:"Idempotency-Key"`

	Raw
}

// SubmitInput is the input of POST /queue/submit.
type SubmitInput struct {
	Key    string `header:"Idempotency-Key" doc:"key of this submission, which is carried out once even if it is sent repeatedly; preferably a UUIDv7"`
	DryRun bool   `query:"dry_run" doc:"only return what the submission would result in; nothing is queued"`

	Raw
}
