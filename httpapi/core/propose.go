package core

import (
	"context"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/problem"
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
	c, err := command.New(ClipActor(actor), body)
	if err == nil && key != "" {
		c, err = c.WithRequest(key)
	}
	if err != nil {
		return command.Result{}, 0, err
	}
	results, index, err := a.Peer.Proposer.Propose(ctx, c.FromClient(Proposing(ctx)))
	if err != nil {
		a.Meter.Proposed(body.Kind(), "failed")
		return command.Result{}, 0, problem.Unsure(err)
	}
	r := results[0]
	a.Meter.Proposed(body.Kind(), r.Code.String())
	if !r.OK() {
		return r, index, problem.Refused(&r)
	}
	return r, index, nil
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
