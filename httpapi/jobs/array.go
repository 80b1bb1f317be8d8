package jobs

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/listing"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// lists returns jobs by their age, and the tasks of an array.
type lists struct{ api *core.API }

// jobsInput is the input of GET /jobs.
type jobsInput struct {
	core.Watch
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	After string `query:"after" maxLength:"8192" doc:"next of the previous page"`
}

// tasksInput is the input of GET /jobs/{job_id}/tasks.
type tasksInput struct {
	core.Watch
	Job   string `path:"job_id"`
	State string `query:"state" maxLength:"64" doc:"in this state only; several are separated by commas"`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"10000" doc:"the most entries"`
	After string `query:"after" maxLength:"16" doc:"next of the previous page"`
}

func (a lists) route(doc huma.API) {
	o := jobTable().Describe(core.Op("jobs", http.MethodGet, "/jobs", "The jobs that the state has, newest first"))
	o.Description = "With the usual sort, or one by a value that a job keeps, each job that exists while all pages are read is on one page."
	core.Handle(a.api, doc, o, a.jobs)
	core.Handle(a.api, doc, core.Op("tasks", http.MethodGet, "/jobs/{job_id}/tasks", "The tasks of an array, with the values that a sweep gives them"), a.tasks)
}

func (a lists) jobs(ctx context.Context, in *jobsInput) (*core.Answer[wire.Jobs], error) {
	selected, err := jobTable().Select(ctx)
	if err != nil {
		return nil, err
	}
	at, err := selected.Places("after", in.After, 1)
	if err != nil {
		return nil, err
	}
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicJob, model.TopicQueue), nil)
	if err != nil {
		return nil, err
	}
	p := pageFor(ctx, a.api, &s)
	sort, desc := selected.Sort()
	page, next, total := listing.Page(selected, at[0], in.Limit, sort == "id", p.JobRows(desc), func(r entry) model.JobID { return r.Job.ID })
	out := &wire.Jobs{Jobs: make([]wire.Job, 0, len(page)), Next: selected.Cursor(next)}
	for _, id := range page {
		j, _ := s.Jobs.Get(id)
		out.Jobs = append(out.Jobs, p.Listed(&j))
	}
	if selected.Counts() {
		out.Total = &total
	}
	return &core.Answer[wire.Jobs]{Index: s.Index, Body: out}, nil
}

func (a lists) tasks(ctx context.Context, in *tasksInput) (*core.Answer[wire.Tasks], error) {
	id, err := intake.JobID(in.Job)
	if err != nil {
		return nil, err
	}
	from := uint64(0)
	if in.After != "" {
		if from, err = strconv.ParseUint(in.After, 10, 32); err != nil {
			return nil, problem.Invalid("after", "must be the next of a page before")
		}
	}
	states, err := intake.States(in.State)
	if err != nil {
		return nil, err
	}
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicJob), nil)
	if err != nil {
		return nil, err
	}
	job, found := s.Jobs.Get(id)
	if !found {
		out, err := a.recall(ctx, &s, id, uint32(from), in.Limit, states)
		if err != nil {
			return nil, err
		}
		return &core.Answer[wire.Tasks]{Index: s.Index, Body: out}, nil
	}
	v := a.api.ViewFor(ctx, &s, &s, a.api.Now(&s))
	return &core.Answer[wire.Tasks]{Index: s.Index, Body: v.Tasks(&job, uint32(from), in.Limit, states)}, nil
}

// recall returns the tasks of a job that has left the state, from the archive, which has them in parts.
func (a lists) recall(ctx context.Context, now *state.State, id model.JobID, from uint32, limit int, states []string) (*wire.Tasks, error) {
	if id >= now.Settings().NextJob { // no job has had that number
		return nil, core.NoJob()
	}
	stand := details(a).complete(ctx, now)
	out := &wire.Tasks{JobID: id.String(), Tasks: []wire.Task{}}
	for {
		s, found, err := a.api.Peer.Archive.Past(id, from)
		job, has := s.Jobs.Get(id)
		if err != nil || !found || !has {
			return nil, lacking(now, &stand, false, err)
		}
		v := a.api.ViewFor(ctx, &s, now, a.api.Now(now))
		part := v.Tasks(&job, from, limit-len(out.Tasks), states)
		out.Tasks, out.Next = append(out.Tasks, part.Tasks...), part.Next
		more := false
		for k := range s.Tasks.From(model.TaskKey{Job: id, Task: from}) {
			if k.Job != id {
				break
			}
			from, more = k.Task+1, true
		}
		if !more || out.Next != "" {
			return out, nil
		}
	}
}
