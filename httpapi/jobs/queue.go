package jobs

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/listing"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// queues shows the queue as a whole.
type queues struct{ api *core.API }

// queueInput is the input of GET /queue.
type queueInput struct {
	core.Watch
	Limit int    `query:"limit" minimum:"1" maximum:"100000" doc:"the most waiting and the most running entries of a page; all by default"`
	After string `query:"after" maxLength:"8192" doc:"next of the previous page"`
	Ended int    `query:"ended" minimum:"0" maximum:"10000" doc:"the number of jobs that ended last, on the first page"`
	Brief bool   `query:"brief" doc:"without queuedJobs, which has the same jobs again"`

	IfNoneMatch string `header:"If-None-Match" maxLength:"1024" doc:"the ETag of an earlier answer: 304 while no job has changed"`
}

func (a queues) route(doc huma.API) {
	o := queueTable().Describe(core.Op("queue", http.MethodGet, "/queue", "The waiting jobs, in order, and the running ones"))
	o.Description = "Positions change by themselves as jobs wait. Pages by position lose no job whose place stays; with another sort, " +
		"such as id, each entry that stays in its list is on one page."
	core.Handle(a.api, doc, o, a.queue)
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
	selected, err := queueTable().Select(ctx)
	if err != nil {
		return nil, err
	}
	if sort, desc := selected.Sort(); sort == positionSort && desc {
		return nil, problem.Invalid("order", "must be asc with the sort position: the queue is known from its front")
	}
	at, err := selected.Places("after", in.After, 2)
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
	p := pageFor(ctx, a.api, &s)
	out := &wire.Queue{
		Queued: []wire.Job{}, Running: []wire.Job{}, Services: []wire.ServiceAllocation{},
		Statistics: view.Statistics(&s, a.api.Places.Rate(&s)), Policy: s.Settings().Policy,
	}
	var queued, live int64
	waiting, running := at[0], at[1]
	waiting, queued = addWaiting(p, selected, waiting, in.Limit, out)
	running, live = addRunning(p, selected, running, in.Limit, out)
	core.HideAddresses(ctx, out.Services)
	if in.After == "" && in.Ended > 0 {
		out.Ended = lastEnded(p, selected, in.Ended)
	}
	if !in.Brief {
		out.QueuedJobs = p.Brief(out.Queued)
	}
	if selected.Counts() {
		out.QueuedTotal, out.RunningTotal = &queued, &live
	}
	out.Next = selected.Cursor(waiting, running)
	return &core.Answer[wire.Queue]{Index: s.Index, ETag: tag, Body: out}, nil
}

// pageFor returns a page of a state for the caller, with what blocks the jobs that wait.
func pageFor(ctx context.Context, a *core.API, s *state.State) *view.Page {
	p := &view.Page{View: a.ViewFor(ctx, s, s, a.Now(s))}
	if s.Queue.Len()+s.CPUQueue.Len() > 0 {
		p.Foresee = func() (map[model.TaskKey]*wire.Range, map[model.TaskKey]string) {
			return view.Starts(a.Places.Foresee(s, p.Now))
		}
	}
	return p
}

// selection is what a request asks of a list of jobs.
type selection = listing.Selection[entry]

// addWaiting adds a page of what waits, and returns the place of the next and how many entries match.
func addWaiting(p *view.Page, selected *selection, at listing.Place, limit int, out *wire.Queue) (listing.Place, int64) {
	keep := func(r entry) view.Entry { return r.Entry }
	var page []view.Entry
	var total int64
	if sort, _ := selected.Sort(); sort == positionSort {
		page, at, total = listing.PageOf(selected, at, limit, p.WaitingRows(), keep)
	} else {
		page, at, total = listing.Page(selected, at, limit, false, p.WaitingRows(), keep)
	}
	for i := range page {
		if page[i].Service != "" {
			out.Services = append(out.Services, p.WaitingService(&page[i]))
		} else {
			out.Queued = append(out.Queued, p.Waits(&page[i]))
		}
	}
	return at, total
}

// addRunning adds a page of what runs, likewise.
func addRunning(p *view.Page, selected *selection, at listing.Place, limit int, out *wire.Queue) (listing.Place, int64) {
	sort, _ := selected.Sort()
	page, at, total := listing.Page(selected, at, limit, sort == positionSort, p.RunningRows(), func(r entry) model.JobID { return r.Job.ID })
	for _, id := range page {
		j, _ := p.State.Jobs.Get(id)
		out.Running = append(out.Running, p.Job(&j))
	}
	return at, total
}

// lastEnded returns the jobs that ended last, newest first.
func lastEnded(p *view.Page, selected *selection, most int) (list []wire.Job) {
	for r := range p.EndedRows() {
		if !selected.Matches(r) {
			continue
		}
		if list = append(list, p.Job(&r.Job)); len(list) == most {
			break
		}
	}
	return list
}
