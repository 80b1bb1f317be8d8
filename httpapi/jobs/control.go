package jobs

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// controls hold, release, requeue and extend jobs, and keep attached ones alive.
type controls struct{ api *core.API }

// attachInput is the input of POST /jobs/{job_id}/attach.
type attachInput struct {
	Job string `path:"job_id"`
}

// noteInput is the input of a change of a whole job.
type noteInput struct {
	Key  string `header:"Idempotency-Key"`
	Job  string `path:"job_id"`
	Note string `query:"note" maxLength:"512" doc:"why, for the job's timeline"`
}

func (a controls) route(doc huma.API) {
	for _, v := range []struct {
		name, what, done, others string
		body                     func(model.JobID, string, string) command.Body
	}{
		{
			"hold", "Hold a waiting job: it does not start until it is released", "held", "do not wait",
			func(id model.JobID, some, note string) command.Body {
				return &command.Hold{Job: id, Task: model.AllTasks, Tasks: some, Note: note}
			},
		},
		{
			"release", "Release a held job, or retry a failed one at once", "released", "do not wait",
			func(id model.JobID, some, _ string) command.Body {
				return &command.Release{Job: id, Task: model.AllTasks, Tasks: some}
			},
		},
	} {
		core.Handle(a.api, doc, core.Op(v.name, http.MethodPost, "/queue/{job_id}/"+v.name, v.what),
			func(ctx context.Context, in *targetInput) (*core.Answer[wire.Done], error) {
				id, some, err := in.target()
				if err != nil {
					return nil, err
				}
				r, index, err := a.api.Propose(ctx, in.Key, v.body(id, some, in.Note))
				if err != nil {
					return nil, err
				}
				return &core.Answer[wire.Done]{Index: index, Body: changes(a).done(id, in.changed(v.done, r.Number, v.others))}, nil
			})
	}
	core.Handle(a.api, doc, core.Op("requeue", http.MethodPost, "/queue/{job_id}/requeue", "Stop a running job and return it to the queue, uncharged"), a.requeue)
	core.Handle(a.api, doc, core.Op("drop-dependencies", http.MethodDelete, "/queue/{job_id}/dependencies", "Remove the dependencies of a job"),
		a.dropDependencies)
	core.HandleBody(a.api, doc, core.Op("extend", http.MethodPost, "/queue/{job_id}/extend", "Raise a job's time limit, even while it runs"), a.extend)
	o := core.Op("attach", http.MethodPost, "/jobs/{job_id}/attach", "Report that the client of an attached job is alive")
	o.Description = "A job that was submitted with attached is canceled after that time without such a call."
	core.Handle(a.api, doc, o, a.attach)
}

// target returns the job, and the tasks that are named; empty: all.
func (in *targetInput) target() (model.JobID, string, error) {
	id, err := intake.JobID(in.Job)
	if err != nil || in.Task == "" {
		return id, "", err
	}
	some, err := model.ParseIndices(in.Task)
	return id, some.String(), intake.Named("task", err)
}

// requeueInput is the input of a return to the queue.
type requeueInput struct {
	Key  string `header:"Idempotency-Key"`
	Job  string `path:"job_id"`
	Task string `query:"task" doc:"some tasks of an array, such as 3 or 3-7,9; all by default"`
	Note string `query:"note" maxLength:"512" doc:"why, for the job's timeline"`
	Hold bool   `query:"hold" doc:"it is held there until it is released; a job that waits is held at once"`
}

func (a controls) requeue(ctx context.Context, in *requeueInput) (*core.Answer[wire.Done], error) {
	tasks := targetInput{Key: in.Key, Job: in.Job, Task: in.Task, Note: in.Note}
	id, some, err := tasks.target()
	if err != nil {
		return nil, err
	}
	r, index, err := a.api.Propose(ctx, in.Key, &command.Requeue{Job: id, Task: model.AllTasks, Tasks: some, Note: in.Note, Hold: in.Hold})
	if err != nil {
		return nil, err
	}
	done := "returned to the queue"
	if in.Hold {
		done += ", and held"
	}
	return &core.Answer[wire.Done]{Index: index, Body: changes(a).done(id, tasks.changed(done, r.Number, "do not run"))}, nil
}

func (a controls) dropDependencies(ctx context.Context, in *noteInput) (*core.Answer[wire.Done], error) {
	id, err := intake.JobID(in.Job)
	if err != nil {
		return nil, err
	}
	_, index, err := a.api.Propose(ctx, in.Key, &command.DropDependencies{Job: id, Note: in.Note})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.Done]{Index: index, Body: changes(a).done(id, "has no dependencies any more")}, nil
}

func (a controls) extend(ctx context.Context, in *jobBodyInput, body *wire.Extend) (*core.Answer[wire.Done], error) {
	id, err := intake.JobID(in.Job)
	if err != nil {
		return nil, err
	}
	c := &command.Extend{Job: id, TimeLimit: time.Duration(intake.Or(body.TimeLimit, 0)), By: time.Duration(intake.Or(body.By, 0))}
	s := a.api.State()
	job, _ := s.Jobs.Get(id)
	longer := max(c.TimeLimit, job.Spec.TimeLimit+c.By)
	if err := a.api.Basis(ctx, &s).Longer(&job.Spec, longer); err != nil {
		return nil, err
	}
	_, index, err := a.api.Propose(ctx, in.Key, c)
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	job, _ = s.Jobs.Get(id)
	return &core.Answer[wire.Done]{Index: index, Body: changes(a).done(id, "may run "+job.Spec.TimeLimit.String())}, nil
}

// attach is answered by the leader, which alone cancels jobs whose clients are gone.
func (a controls) attach(ctx context.Context, in *attachInput) (*core.Answer[wire.Done], error) {
	id, err := intake.JobID(in.Job)
	if err != nil {
		return nil, err
	}
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	job, found := s.Jobs.Get(id)
	switch {
	case !found:
		return nil, core.NoJob()
	case job.Spec.Attached == 0:
		return nil, problem.Refuse(model.CodeConflict.String(), "job "+id.String()+" was not submitted as attached: it needs no client")
	}
	a.api.Peer.Beats.Hear(id)
	return &core.Answer[wire.Done]{Index: s.Index, Body: changes(a).done(id, "heard")}, nil
}
