package jobs

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// specs returns jobs as their submissions.
type specs struct{ api *core.API }

type specInput struct {
	Job string `path:"job_id"`
}

func (a specs) route(doc huma.API) {
	o := core.Op("job-spec", http.MethodGet, "/jobs/{job_id}/spec", "A job as the body of POST /queue/submit that would queue the same job")
	o.Description = "What the cluster's settings have filled in is there, too, and times that were given from then on are instants. The environment of the submission and the webhook are shown to the job's " +
		"user only, and left out for operators."
	core.Handle(a.api, doc, o, func(ctx context.Context, in *specInput) (*core.Answer[wire.Submit], error) {
		id, err := intake.JobID(in.Job)
		if err != nil {
			return nil, err
		}
		s, err := a.api.Fresh(ctx, peer.Default)
		if err != nil {
			return nil, err
		}
		job, found := s.Jobs.Get(id)
		if !found {
			return nil, problem.Refuse(wire.CodeNotFound, "there is no such job, or the job ended so long ago that its submission is not kept")
		}
		out := submissionOf(&s, &job)
		if c := auth.From(ctx); c.Kind != auth.Open && !c.Owns(job.Spec.User, job.Submitted) {
			out.Shell, out.WebhookURL, out.Notify = nil, "", nil // the address of a webhook may hold a secret
		}
		return &core.Answer[wire.Submit]{Index: s.Index, Body: out}, nil
	})
}

// submissionOf returns the submission of a job, with its script, input, environments and dependencies.
func submissionOf(s *state.State, j *model.Job) *wire.Submit {
	out := intake.Request(j)
	if blob, found := s.Blobs.Get(j.Script); found {
		out.Script = blob.Data
	}
	if blob, found := s.Blobs.Get(j.Stdin); found {
		out.Stdin = blob.Data // as base64
	}
	out.Env, out.Shell = view.Variables(s, j.Env), view.Variables(s, j.SubmitEnv)
	var after []dependency.After
	for _, d := range s.DependenciesOf(j.ID) {
		after = append(after, d.After())
	}
	out.Dependencies = dependency.Texts(after)
	return out
}
