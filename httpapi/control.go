package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// controls hold, release, requeue and extend jobs, and keep attached ones alive.
type controls struct{ *API }

// controlInput is what POST /queue/{job_id}/hold, release and requeue are given.
type controlInput struct {
	Key  string `header:"Idempotency-Key"`
	Job  string `path:"job_id"`
	Task string `query:"task" doc:"one task of an array; all by default"`
	Note string `query:"note" maxLength:"512" doc:"why, for the job's timeline"`
}

// extendInput is what POST /queue/{job_id}/extend is given.
type extendInput struct {
	Key     string `header:"Idempotency-Key"`
	Job     string `path:"job_id"`
	RawBody []byte
}

// attachInput is what POST /jobs/{job_id}/attach is given.
type attachInput struct {
	Job string `path:"job_id"`
}

func (a controls) route(doc huma.API) {
	for _, v := range []struct {
		name, what, done string
		body             func(model.JobID, int64, string) command.Body
	}{
		{
			"hold", "Keep a job that waits from being started", "held",
			func(id model.JobID, task int64, note string) command.Body {
				return &command.Hold{Job: id, Task: task, Note: note}
			},
		},
		{
			"release", "Let a held job start, and a failed one try again at once", "released",
			func(id model.JobID, task int64, _ string) command.Body { return &command.Release{Job: id, Task: task} },
		},
		{
			"requeue", "Stop a job that runs and send it back to the queue, uncharged", "sent back to the queue",
			func(id model.JobID, task int64, note string) command.Body {
				return &command.Requeue{Job: id, Task: task, Note: note}
			},
		},
	} {
		handle(a.API, doc, op(v.name, http.MethodPost, "/queue/{job_id}/"+v.name, v.what),
			func(ctx context.Context, in *controlInput) (*answer[wire.Done], error) {
				id, task, err := targetOf(in.Job, in.Task)
				if err != nil {
					return nil, err
				}
				_, index, err := a.propose(ctx, operator, in.Key, v.body(id, task, in.Note))
				if err != nil {
					return nil, err
				}
				return &answer[wire.Done]{Index: index, Body: changes(a).done(id, v.done)}, nil
			})
	}
	extend := newStrict[wire.Extend]()
	handleBody[wire.Extend](a.API, doc, op("extend", http.MethodPost, "/queue/{job_id}/extend", "Raise a job's time limit, also while it runs"),
		func(ctx context.Context, in *extendInput) (*answer[wire.Done], error) {
			body, err := extend.decode(in.RawBody)
			if err != nil {
				return nil, err
			}
			return a.extend(ctx, in, body)
		})
	o := op("attach", http.MethodPost, "/jobs/{job_id}/attach", "Say that the client of an attached job is alive")
	o.Description = "A job that was submitted with attached is canceled once this was not called for that long."
	handle(a.API, doc, o, a.attach)
}

func targetOf(job, task string) (model.JobID, int64, error) {
	id, err := jobID(job)
	if err != nil {
		return 0, 0, err
	}
	n, err := taskOf(task, command.AllTasks)
	return id, n, err
}

func (a controls) extend(ctx context.Context, in *extendInput, body *wire.Extend) (*answer[wire.Done], error) {
	id, err := jobID(in.Job)
	if err != nil {
		return nil, err
	}
	limit := time.Duration(or(body.TimeLimit, 0))
	switch {
	case (body.TimeLimit == nil) == (body.By == nil):
		return nil, invalid("time_limit", "must be given, or by, and not both")
	case body.By != nil:
		s, err := a.fresh(ctx, Default)
		if err != nil {
			return nil, err
		}
		job, found := s.Jobs.Get(id)
		if !found {
			return nil, noJob()
		}
		if limit = job.Spec.TimeLimit; limit > 0 {
			limit += time.Duration(*body.By)
		}
	}
	if limit <= 0 {
		return nil, refuse(model.CodeConflict.String(), "job "+id.String()+" has no time limit, so there is nothing to extend")
	}
	_, index, err := a.propose(ctx, operator, in.Key, &command.Extend{Job: id, TimeLimit: limit})
	if err != nil {
		return nil, err
	}
	return &answer[wire.Done]{Index: index, Body: changes(a).done(id, fmt.Sprintf("may run %s", limit))}, nil
}

// attach is answered by the leader, which alone cancels jobs whose clients are gone.
func (a controls) attach(ctx context.Context, in *attachInput) (*answer[wire.Done], error) {
	id, err := jobID(in.Job)
	if err != nil {
		return nil, err
	}
	s, err := a.fresh(ctx, Default)
	if err != nil {
		return nil, err
	}
	job, found := s.Jobs.Get(id)
	switch {
	case !found:
		return nil, noJob()
	case job.Spec.Attached == 0:
		return nil, refuse(model.CodeConflict.String(), "job "+id.String()+" was not submitted as attached: it needs no client")
	}
	a.peer.Beats.Hear(id)
	return &answer[wire.Done]{Index: s.Index, Body: changes(a).done(id, "heard")}, nil
}
