package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// lists returns jobs by their age, and the tasks of an array.
type lists struct{ api *API }

// jobsInput is the input of GET /jobs.
type jobsInput struct {
	Watch
	User  string `query:"user" maxLength:"128" doc:"of this user only"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// tasksInput is the input of GET /jobs/{job_id}/tasks.
type tasksInput struct {
	Watch
	Job   string `path:"job_id"`
	State string `query:"state" maxLength:"64" doc:"in this state only; several are separated by commas"`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"10000" doc:"the most entries"`
	After string `query:"after" maxLength:"16" doc:"next of the previous page"`
}

func (a lists) route(doc huma.API) {
	handle(a.api, doc, op("jobs", http.MethodGet, "/jobs", "Jobs, newest first"), a.jobs)
	handle(a.api, doc, op("tasks", http.MethodGet, "/jobs/{job_id}/tasks", "The tasks of an array, with the values that a sweep gives them"), a.tasks)
}

func (a lists) jobs(ctx context.Context, in *jobsInput) (*answer[wire.Jobs], error) {
	s, err := a.api.read(ctx, &in.Watch, topics(model.TopicJob), nil)
	if err != nil {
		return nil, err
	}
	v := a.api.viewFor(ctx, &s, &s, a.api.now(&s))
	out := &wire.Jobs{Jobs: []wire.Job{}}
	for _, j := range s.Jobs.Back() {
		if len(out.Jobs) == in.Limit {
			break
		}
		if in.User == "" || j.Spec.User == in.User {
			out.Jobs = append(out.Jobs, v.job(&j))
		}
	}
	return &answer[wire.Jobs]{Index: s.Index, Body: out}, nil
}

func (a lists) tasks(ctx context.Context, in *tasksInput) (*answer[wire.Tasks], error) {
	id, err := jobID(in.Job)
	if err != nil {
		return nil, err
	}
	from := uint64(0)
	if in.After != "" {
		if from, err = strconv.ParseUint(in.After, 10, 32); err != nil {
			return nil, invalid("after", "must be the next of a page before")
		}
	}
	states, err := statesOf(in.State)
	if err != nil {
		return nil, err
	}
	s, err := a.api.read(ctx, &in.Watch, topics(model.TopicJob), nil)
	if err != nil {
		return nil, err
	}
	job, found := s.Jobs.Get(id)
	if !found {
		return nil, noJob()
	}
	v := a.api.viewFor(ctx, &s, &s, a.api.now(&s))
	return &answer[wire.Tasks]{Index: s.Index, Body: v.tasks(&job, uint32(from), in.Limit, states)}, nil
}

// tasks returns tasks of a job in some states, from a number on.
func (v *view) tasks(j *model.Job, from uint32, limit int, states []string) *wire.Tasks {
	out := &wire.Tasks{JobID: j.ID.String(), Tasks: []wire.Task{}}
	grid := gridOf(&j.Spec)
	if v.hides(j) {
		grid = nil
	}
	for k, t := range v.s.Tasks.From(model.TaskKey{Job: j.ID, Task: from}) {
		switch {
		case k.Job != j.ID:
			return out
		case len(states) > 0 && !slices.Contains(states, t.State.String()):
			continue
		case len(out.Tasks) == limit:
			out.Next = strconv.FormatUint(uint64(k.Task), 10)
			return out
		}
		out.Tasks = append(out.Tasks, v.task(grid, &t))
	}
	return out
}

// task converts one task of an array to the API's form.
func (v *view) task(grid model.Sweep, t *model.Task) wire.Task {
	var whole wire.Job
	v.addTask(t, &whole)
	return wire.Task{
		Index: int64(t.Key.Task), Params: paramsOf(grid, t.Key.Task), State: t.State.String(), Held: t.Held, Reason: whole.Reason,
		Attempts: whole.Attempts, StartedAt: t.Started.Time(), EndedAt: t.Ended.Time(), RunSeconds: whole.RunSeconds,
		ExitCode: whole.ExitCode, Signal: whole.Signal, Granted: whole.Granted, AllocatedGPUs: whole.AllocatedGPUs,
	}
}

// gridOf returns a job's sweep; nil if it has none.
func gridOf(spec *model.Spec) model.Sweep {
	if spec.Sweep == "" {
		return nil
	}
	grid, err := model.ParseSweep(spec.Sweep)
	if err != nil {
		return nil // it was checked at submission
	}
	return grid
}

// paramsOf returns the parameters of one task of a sweep.
func paramsOf(grid model.Sweep, task uint32) map[string]string {
	if grid == nil {
		return nil
	}
	out := map[string]string{}
	for _, p := range grid.At(task) {
		out[p.Name] = p.Value
	}
	return out
}

// dependencies returns the jobs that a job waits or has waited for.
func (v *view) dependencies(j *model.Job) (out []wire.Dependency) {
	for _, d := range v.s.DependenciesOf(j.ID) {
		w := wire.Dependency{JobID: d.Key.On.String(), Kind: d.Kind.String(), State: d.State.String()}
		if on, found := v.s.Jobs.Get(d.Key.On); found {
			w.JobState = v.s.Stand(&on).String()
		}
		out = append(out, w)
	}
	return out
}

// awaits describes which jobs a job waits for, or which dependency cannot be met; empty: none.
func (v *view) awaits(j *model.Job) string {
	if j.Waits > 0 {
		return "waits for " + someJobs(v.s, j.ID, model.DependencyWaits)
	}
	if first, _ := v.s.FirstTask(j.ID); first.Reason == model.ReasonDependency {
		return "dependency not met: " + someJobs(v.s, j.ID, model.DependencyNever)
	}
	return ""
}

// someJobs formats "job 12", or "job 12 and 3 more".
func someJobs(s *state.State, id model.JobID, in model.DependencyState) string {
	text, more := "", 0
	for _, d := range s.DependenciesOf(id) {
		switch {
		case d.State != in:
		case text == "":
			text = "job " + d.Key.On.String()
		default:
			more++
		}
	}
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
