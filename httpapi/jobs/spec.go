package jobs

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/seal"
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
	purge := core.Op("purge", http.MethodDelete, "/jobs/{job_id}/spec", "Remove the script, the input and the environments of an ended job")
	purge.Description = "They leave the state at once, and are in no archive. What cannot be read without the cluster's key of secrets stays in the log until that is cut, and in backups. Output stays."
	core.Handle(a.api, doc, purge, a.purge)
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
		if job.Purged > 0 {
			return nil, problem.Refuse(wire.CodeNotFound, "the script and the environment of job "+id.String()+" were removed at "+job.Purged.Time().UTC().Format(time.RFC3339))
		}
		out, err := a.submission(&s, &job)
		if err != nil {
			return nil, err
		}
		if c := auth.From(ctx); c.Kind != auth.Open && !c.Owns(job.Spec.User, job.Submitted) {
			out.Shell, out.WebhookURL, out.Notify = nil, "", nil // the address of a webhook may hold a secret
		}
		return &core.Answer[wire.Submit]{Index: s.Index, Body: out}, nil
	})
}

// purgeInput is the input of DELETE /jobs/{job_id}/spec.
type purgeInput struct {
	Key string `header:"Idempotency-Key"`
	Job string `path:"job_id"`
}

func (a specs) purge(ctx context.Context, in *purgeInput) (*core.Answer[wire.Done], error) {
	id, err := intake.JobID(in.Job)
	if err != nil {
		return nil, err
	}
	_, index, err := a.api.Propose(ctx, in.Key, &command.Purge{Job: id})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.Done]{Index: index, Body: changes(a).done(id, "has neither script nor environment any more")}, nil
}

// submission returns the submission of a job, with its script, input, environments and dependencies.
func (a specs) submission(s *state.State, j *model.Job) (*wire.Submit, error) {
	out := intake.Request(j)
	var texts [4]string
	for i, h := range []model.Hash{j.Script, j.Stdin, j.Env, j.SubmitEnv} {
		var err error
		if texts[i], err = seal.Content(a.api.Config.Sealing, s, h); err != nil {
			return nil, err
		}
	}
	out.Script, out.Stdin = texts[0], texts[1] // the input as base64
	out.Env, out.Shell = view.Variables(texts[2]), view.Variables(texts[3])
	var after []dependency.After
	for _, d := range s.DependenciesOf(j.ID) {
		after = append(after, d.After())
	}
	out.Dependencies = dependency.Texts(after)
	return out, nil
}
