package jobs

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// queues shows the queue as a whole.
type queues struct{ api *core.API }

// queueInput is the input of GET /queue.
type queueInput struct {
	core.Watch
	Limit int    `query:"limit" minimum:"1" maximum:"100000" doc:"the most entries of each list; all by default"`
	After string `query:"after" maxLength:"64" doc:"next of the previous page"`
	User  string `query:"user" maxLength:"128" doc:"of this user only"`
	State string `query:"state" maxLength:"64" doc:"in this state only; several are separated by commas"`
	Ended int    `query:"ended" minimum:"0" maximum:"10000" doc:"the number of jobs that ended last"`

	IfNoneMatch string `header:"If-None-Match" maxLength:"1024" doc:"the ETag of an earlier answer: 304 while no job has changed"`
}

func (a queues) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("queue", http.MethodGet, "/queue", "The waiting jobs, in order, and the running ones"), a.queue)
	core.Handle(a.api, doc, core.Op("queue-statistics", http.MethodGet, "/queue/statistics", "Counts over the cluster's life"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Statistics], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicJob, model.TopicQueue, model.TopicSettings), nil)
			if err != nil {
				return nil, err
			}
			out := view.Statistics(&s, a.api.Places.Rate(&s))
			return &core.Answer[wire.Statistics]{Index: s.Index, Body: &out}, nil
		})
	core.Handle(a.api, doc, core.Op("orchestrator", http.MethodGet, "/orchestrator/status", "Whether jobs are started, and the counts of the scheduler"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Orchestrator], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicSettings, model.TopicQueue, model.TopicFleet), nil)
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.Orchestrator]{Index: s.Index, Body: a.api.Orchestrator(ctx, &s)}, nil
		})
}

func (a queues) queue(ctx context.Context, in *queueInput) (*core.Answer[wire.Queue], error) {
	p, err := in.page()
	if err != nil {
		return nil, err
	}
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicQueue, model.TopicJob), nil)
	if err != nil {
		return nil, err
	}
	tag := core.TagOf(&s, core.Topics(model.TopicQueue, model.TopicJob, model.TopicSettings))
	if err := core.Unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	p.View = a.api.ViewFor(ctx, &s, &s, a.api.Now(&s))
	if s.Queue.Len()+s.CPUQueue.Len() > 0 {
		p.Starts, p.Bars = view.Starts(a.api.Places.Foresee(&s, p.Now))
	}
	out := &wire.Queue{Running: []wire.Job{}, Services: []wire.ServiceAllocation{}, Statistics: view.Statistics(&s, a.api.Places.Rate(&s)), Policy: s.Settings().Policy}
	out.Queued, out.Services, out.Next = p.Queued()
	core.HideAddresses(ctx, out.Services)
	if p.Skip == 0 {
		out.Running = p.Running()
		out.Ended = p.Ended(in.Ended)
	}
	out.QueuedJobs = p.Brief(out.Queued)
	return &core.Answer[wire.Queue]{Index: s.Index, ETag: tag, Body: out}, nil
}

// page returns the part of the queue that the request asks for, without its state.
func (in *queueInput) page() (view.Page, error) {
	p := view.Page{Limit: in.Limit, User: in.User}
	if in.After != "" {
		n, err := strconv.ParseUint(in.After, 10, 32)
		if err != nil {
			return p, problem.Invalid("after", "must be the next of a page before")
		}
		p.Skip = int(n)
	}
	var err error
	p.States, err = intake.States(in.State)
	return p, err
}
