package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// submissions accepts jobs.
type submissions struct{ api *API }

// submitInput is the input of POST /queue/submit.
type submitInput struct {
	Key     string `header:"Idempotency-Key" doc:"key of this submission, which is carried out once even if it is sent repeatedly; preferably a UUIDv7"`
	DryRun  bool   `query:"dry_run" doc:"only return what the submission would result in; nothing is queued"`
	RawBody []byte
}

func (a submissions) route(doc huma.API) {
	body := newStrict[wire.Submit]()
	o := op("submit", http.MethodPost, "/queue/submit", "Queue a job, or an array of them")
	handleBody[wire.Submit](a.api, doc, o, func(ctx context.Context, in *submitInput) (*answer[wire.Submitted], error) {
		request, err := body.decode(in.RawBody)
		if err != nil {
			return nil, err
		}
		return a.submit(ctx, request, in)
	})
}

// submit queues a job. A repeated submission gets the job that it made first.
func (a submissions) submit(ctx context.Context, r *wire.Submit, in *submitInput) (*answer[wire.Submitted], error) {
	s := a.api.peer.Reader.State()
	body, err := ask(r, a.api.now(&s))
	if err != nil {
		return nil, err
	}
	byDefault(r, &body.Spec, s.Settings())
	if err := a.mayAsk(ctx, &s, r.User, &body.Spec); err != nil {
		return nil, err
	}
	if err := mayTell(&s, body.Spec.WebhookURL); err != nil {
		return nil, err
	}
	body.Spec.Preemptible = or(r.Preemptible, state.Yields(&s, &body.Spec))
	if err := a.api.gate.terms().Rules.check(body); err != nil {
		return nil, err
	}
	if fits, why := a.api.places.possible(&s, &body.Spec); !fits {
		return nil, refuse(wire.CodeNeverFits, why)
	}
	body.Capped = !isOperator(ctx)
	if in.DryRun {
		return a.dryRun(body)
	}
	result, index, err := a.api.proposeAs(ctx, submitter(ctx, body.Spec.User), in.Key, body)
	if err != nil {
		return nil, err
	}
	out := a.submitted(result.Job)
	a.foreseen(&s, body, out)
	return &answer[wire.Submitted]{Index: index, Body: out}, nil
}

// isOperator reports whether the caller is an operator or more. Without authentication every caller is.
func isOperator(ctx context.Context) bool {
	c := auth.From(ctx)
	return c.Kind == auth.Open || c.Role.Covers(model.RoleOperator)
}

// mayAsk returns an error if the caller may not submit a job that has all its defaults, and fills
// in the user.
func (a submissions) mayAsk(ctx context.Context, s *state.State, user string, spec *model.Spec) (err error) {
	if spec.User, err = asUser(ctx, user); err != nil {
		return err
	}
	if err = a.api.gate.inProject(ctx, s, spec.Project); err != nil {
		return err
	}
	return inClass(ctx, spec.Class)
}

// byDefault applies the cluster's defaults to a job.
func byDefault(r *wire.Submit, spec *model.Spec, set model.Settings) {
	d := set.Defaults
	spec.IdleStop = or((*time.Duration)(r.IdleStop), d.IdleStop)
	if r.MaxRetries == nil {
		spec.MaxRetries = set.Tuning.Retries
	}
	if r.Priority == nil && d.Class.Valid() {
		spec.Class, spec.Priority = d.Class, uint8(d.Class)
	}
	if r.CheckpointInterval == nil && r.CheckpointIntervalS == nil && spec.CheckpointSignal != "" {
		spec.CheckpointInterval = d.CheckpointInterval
	}
}

// submitted returns the answer about a job in the state.
func (a submissions) submitted(id model.JobID) *wire.Submitted {
	s := a.api.peer.Reader.State()
	now := a.api.now(&s)
	out := &wire.Submitted{Success: true, JobID: id.String()}
	job, found := s.Jobs.Get(id)
	if !found { // a repeated submission whose job has left the state since
		out.Job = wire.Job{ID: id.String()}
		return out
	}
	v := view{s: &s, now: now}
	out.Job, out.Warnings = v.job(&job), warnings(&s, &job)
	if task, _ := s.FirstTask(id); task.State == model.TaskQueued && job.Waits == 0 {
		out.QueuePosition, out.PositionExact = a.api.places.of(&s, now, task.Key, task.Class)
		out.Job.Position, out.Job.PositionExact = out.QueuePosition, out.PositionExact
	}
	return out
}

// submitter returns the actor that asks for GPUs in a user's name: the caller, or without
// authentication that user.
func submitter(ctx context.Context, user string) string {
	if c := auth.From(ctx); c.Kind != auth.Open {
		return c.Actor()
	}
	return userActor(user)
}

// userActor returns the actor of a user in timelines and request ids.
func userActor(user string) string { return "user:" + user }

// propose carries out one command of the caller, under a request id if there is one. A command that
// the state refuses is an error.
func (a *API) propose(ctx context.Context, key string, body command.Body) (command.Result, uint64, error) {
	return a.proposeAs(ctx, auth.From(ctx).Actor(), key, body)
}

// proposeAs is propose in the name of another actor.
func (a *API) proposeAs(ctx context.Context, actor, key string, body command.Body) (command.Result, uint64, error) {
	c, err := command.New(clipActor(actor), body)
	if err == nil && key != "" {
		c, err = c.WithRequest(key)
	}
	if err != nil {
		return command.Result{}, 0, err
	}
	results, index, err := a.peer.Proposer.Propose(ctx, c.FromClient(proposing(ctx)))
	if err != nil {
		a.meter.proposed(body.Kind(), "failed")
		return command.Result{}, 0, unsure(err)
	}
	r := results[0]
	a.meter.proposed(body.Kind(), r.Code.String())
	if !r.OK() {
		return r, index, refused(&r)
	}
	return r, index, nil
}

// clipActor shortens a user's name, which may be longer than an actor's.
func clipActor(actor string) string {
	return strings.ToValidUTF8(actor[:min(len(actor), model.MaxName)], "")
}
