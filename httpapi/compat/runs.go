package compat

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/places"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// runs returns jobs by their users' own run ids.
type runs struct{ api *core.API }

// maxRuns bounds the jobs of one run that are listed.
const maxRuns = 1000

// runInput is the input of GET /runs/{run_id}.
type runInput struct {
	core.Watch
	ID  string `path:"run_id" maxLength:"128"`
	All bool   `query:"all" doc:"list all jobs of the run, too"`
}

func (a runs) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("run", http.MethodGet, "/runs/{run_id}", "The newest job of a run: its GPUs, its place and its scheduling"), a.one)
}

func (a runs) one(ctx context.Context, in *runInput) (*core.Answer[wire.Run], error) {
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicJob, model.TopicQueue), nil)
	if err != nil {
		return nil, err
	}
	v := a.api.ViewFor(ctx, &s, &s, a.api.Now(&s))
	most := 1
	if in.All {
		most = maxRuns
	}
	var list []wire.Run
	for _, j := range s.Jobs.Back() {
		if j.Spec.RunID != in.ID || in.ID == "" {
			continue
		}
		if list = append(list, runOf(&v, &j, a.api.Places)); len(list) == most {
			break
		}
	}
	if len(list) == 0 {
		return nil, problem.Refuse(wire.CodeNotFound, "there is no job of this run; jobs that ended long ago are removed")
	}
	out := list[0]
	if in.All {
		out.Runs = list
	}
	return &core.Answer[wire.Run]{Index: s.Index, Body: &out}, nil
}

// runOf converts a job to the form of a run.
func runOf(v *view.View, j *model.Job, p *places.Cache) wire.Run {
	job := v.Job(j)
	task, _ := view.FirstWaiting(v.State, j.ID)
	a, _ := v.State.Attempts.Get(task.Newest())
	out := wire.Run{
		ID: job.RunID, RunID: job.RunID, JobID: job.ID, Name: job.Name, User: job.User, Command: job.Command, State: job.State, Status: job.State,
		ExitCode:   job.ExitCode,
		Allocation: wire.RunAllocation{Requested: job.GPUs, MemoryGB: job.GPUMemoryGB, GPUs: []wire.RunGPU{}, At: a.Placed.Time()},
		Queue:      wire.RunQueue{QueuedAt: job.SubmittedAt},
		Metadata: wire.RunMetadata{
			Policy: v.State.Settings().Policy, Priority: job.Priority, Retries: job.Retries, MaxRetries: job.MaxRetries,
		},
	}
	for _, g := range job.AllocatedGPUs {
		gpu, _ := v.State.GPUs.Get(model.GPUID(g.UUID))
		out.Allocation.GPUs = append(out.Allocation.GPUs,
			wire.RunGPU{NodeID: g.NodeID, GPUID: g.Index, MemoryGB: view.Gigabytes(gpu.MemoryMB), UUID: g.UUID})
	}
	if task.State == model.TaskQueued {
		job.Position, job.PositionExact = queue.Position(v.State, v.Now, task.Key)
		out.Queue.Position = job.Position
		if start, _ := view.Start(p.Foresee(v.State, v.Now), task.Key); start != nil {
			job.PlannedStart, out.Queue.Start = start, start.Expected
		}
	}
	out.Job = job
	return out
}
