package jobs

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// submissions accepts jobs.
type submissions struct{ api *core.API }

func (a submissions) route(doc huma.API) {
	o := core.Example(core.Op("submit", http.MethodPost, "/queue/submit", "Queue a job, or an array of them"), `{"command":"python train.py","gpu_count":2,"user":"ann","run_id":"experiment-1"}`)
	core.HandleParsed(a.api, doc, o, intake.Parser(), a.submit)
}

// submit queues a job. A repeated submission gets the job that it made first.
func (a submissions) submit(ctx context.Context, in *core.SubmitInput, r *wire.Submit) (*core.Answer[wire.Submitted], error) {
	s := a.api.State()
	body, err := intake.Prepare(a.api.Basis(ctx, &s), r)
	if err != nil {
		return nil, err
	}
	if in.DryRun {
		return a.dryRun(body)
	}
	result, index, err := a.api.ProposeAs(ctx, core.Submitter(ctx, body.Spec.User), in.Key, body)
	if err != nil {
		return nil, err
	}
	out := a.submitted(result.Job)
	a.foreseen(&s, body, out)
	return &core.Answer[wire.Submitted]{Index: index, Body: out}, nil
}

// submitted returns the answer about a job in the state.
func (a submissions) submitted(id model.JobID) *wire.Submitted {
	s := a.api.State()
	now := a.api.Now(&s)
	out := &wire.Submitted{Success: true, JobID: id.String()}
	job, found := s.Jobs.Get(id)
	if !found { // a repeated submission whose job has left the state since
		out.Job = wire.Job{ID: id.String()}
		return out
	}
	v := view.View{State: &s, Now: now}
	out.Job, out.OnLost, out.Warnings = v.Job(&job), job.Spec.OnLost.String(), view.Warnings(&s, &job)
	if task, _ := s.FirstTask(id); task.State == model.TaskQueued && job.Waits == 0 {
		out.QueuePosition, out.PositionExact = a.api.Places.Of(&s, now, task.Key, task.Class)
		out.Job.Position, out.Job.PositionExact = out.QueuePosition, out.PositionExact
	}
	return out
}
