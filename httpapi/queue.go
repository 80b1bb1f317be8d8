package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// queues shows the queue as a whole.
type queues struct{ api *API }

// queueInput is the input of GET /queue.
type queueInput struct {
	Watch
	Limit int    `query:"limit" minimum:"1" maximum:"100000" doc:"the most entries of each list; all by default"`
	After string `query:"after" maxLength:"64" doc:"next of the previous page"`
	User  string `query:"user" maxLength:"128" doc:"of this user only"`
	State string `query:"state" maxLength:"64" doc:"in this state only; several are separated by commas"`
	Ended int    `query:"ended" minimum:"0" maximum:"10000" doc:"the number of jobs that ended last"`

	IfNoneMatch string `header:"If-None-Match" maxLength:"1024" doc:"the ETag of an earlier answer: 304 while no job has changed"`
}

func (a queues) route(doc huma.API) {
	handle(a.api, doc, op("queue", http.MethodGet, "/queue", "The waiting jobs, in order, and the running ones"), a.queue)
	handle(a.api, doc, op("queue-statistics", http.MethodGet, "/queue/statistics", "Counts over the cluster's life"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Statistics], error) {
			s, err := a.api.read(ctx, &in.Watch, topics(model.TopicJob, model.TopicQueue, model.TopicSettings), nil)
			if err != nil {
				return nil, err
			}
			out := view.Statistics(&s, a.api.places.Rate(&s))
			return &answer[wire.Statistics]{Index: s.Index, Body: &out}, nil
		})
	handle(a.api, doc, op("orchestrator", http.MethodGet, "/orchestrator/status", "Whether jobs are started, and the counts of the scheduler"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Orchestrator], error) {
			s, err := a.api.read(ctx, &in.Watch, topics(model.TopicSettings, model.TopicQueue, model.TopicFleet), nil)
			if err != nil {
				return nil, err
			}
			return &answer[wire.Orchestrator]{Index: s.Index, Body: a.api.orchestrator(ctx, &s)}, nil
		})
}

func (a queues) queue(ctx context.Context, in *queueInput) (*answer[wire.Queue], error) {
	p, err := in.page()
	if err != nil {
		return nil, err
	}
	s, err := a.api.read(ctx, &in.Watch, topics(model.TopicQueue, model.TopicJob), nil)
	if err != nil {
		return nil, err
	}
	tag := tagOf(&s, topics(model.TopicQueue, model.TopicJob, model.TopicSettings))
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	p.View = a.api.viewFor(ctx, &s, &s, a.api.now(&s))
	if s.Queue.Len() > 0 {
		p.Starts, p.Bars = view.Starts(a.api.places.Foresee(&s, p.Now))
	}
	out := &wire.Queue{Running: []wire.Job{}, Services: []wire.ServiceAllocation{}, Statistics: view.Statistics(&s, a.api.places.Rate(&s)), Policy: s.Settings().Policy}
	out.Queued, out.Services, out.Next = p.Queued()
	hideAddresses(ctx, out.Services)
	if p.Skip == 0 {
		out.Running = p.Running()
		out.Ended = p.Ended(in.Ended)
	}
	out.QueuedJobs = p.Brief(out.Queued)
	return &answer[wire.Queue]{Index: s.Index, ETag: tag, Body: out}, nil
}

// page returns the part of the queue that the request asks for, without its state.
func (in *queueInput) page() (view.Page, error) {
	p := view.Page{Limit: in.Limit, User: in.User}
	if in.After != "" {
		n, err := strconv.ParseUint(in.After, 10, 32)
		if err != nil {
			return p, problem.Invalid("after", "must be the next of a page before")
		}
		p.Skip = int(n) //nolint:gosec // 32 bits
	}
	var err error
	p.States, err = intake.States(in.State)
	return p, err
}
