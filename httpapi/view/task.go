package view

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Tasks returns tasks of a job in some states, from a number on.
func (v *View) Tasks(j *model.Job, from uint32, limit int, states []string) *wire.Tasks {
	out := &wire.Tasks{JobID: j.ID.String(), Tasks: []wire.Task{}}
	grid := gridOf(&j.Spec)
	if v.hides(j) {
		grid = nil
	}
	for k, t := range v.State.Tasks.From(model.TaskKey{Job: j.ID, Task: from}) {
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
func (v *View) task(grid model.Sweep, t *model.Task) wire.Task {
	var whole wire.Job
	v.addTask(t, &whole)
	return wire.Task{
		Index: int64(t.Key.Task), Params: paramsOf(grid, t.Key.Task), State: t.State.String(), Held: t.Held, Reason: whole.Reason,
		Attempts: whole.Attempts, StartedAt: t.Started.Time(), EndedAt: t.Ended.Time(), RunSeconds: whole.RunSeconds,
		ExitCode: whole.ExitCode, Signal: whole.Signal, Granted: whole.Granted, AllocatedGPUs: whole.AllocatedGPUs,
		OnNodes: whole.OnNodes, SilentNodes: whole.SilentNodes, RunsSince: whole.RunsSince, Stopping: v.stopping(t), Last: whole.Last,
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
func (v *View) dependencies(j *model.Job) (out []wire.Dependency) {
	for _, d := range v.State.DependenciesOf(j.ID) {
		w := wire.Dependency{
			JobID: d.Key.On.String(), Kind: d.Key.Kind.String(), State: d.State.String(), Any: d.Any, Delay: d.Delay.Seconds(), Due: d.Due.Time(),
		}
		if on, found := v.State.Jobs.Get(d.Key.On); found {
			w.JobState = v.State.Stand(&on).String()
		}
		out = append(out, w)
	}
	return out
}

// mostDependents is how many jobs that wait for one are listed.
const mostDependents = 1000

// Dependents returns the jobs that wait or have waited for a job. They are later ones.
func (v *View) Dependents(id model.JobID) (out []wire.Dependency) {
	for k, d := range v.State.Dependencies.From(dependency.Key{Job: id + 1}) {
		if k.On != id {
			continue
		}
		w := wire.Dependency{
			JobID: k.Job.String(), Kind: k.Kind.String(), State: d.State.String(), Any: d.Any, Delay: d.Delay.Seconds(), Due: d.Due.Time(),
		}
		if job, found := v.State.Jobs.Get(k.Job); found {
			w.JobState = v.State.Stand(&job).String()
		}
		if out = append(out, w); len(out) == mostDependents {
			break
		}
	}
	return out
}

// Awaits describes which jobs a job waits for, or which dependency cannot be met; empty: none.
func (v *View) Awaits(j *model.Job) string {
	if j.Waits > 0 {
		return "waits for " + someJobs(v.State, j.ID, dependency.Waits)
	}
	if first, _ := v.State.FirstTask(j.ID); first.Reason == model.ReasonDependency {
		return "dependency not met: " + someJobs(v.State, j.ID, dependency.Never)
	}
	return ""
}

// someJobs formats "job 12", or "job 12 and 3 more".
func someJobs(s *state.State, id model.JobID, in dependency.State) string {
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

// FirstTask stands for the first task of a job.
const FirstTask = -1

// WholeJob stands for a job as a whole, represented by its first task.
const WholeJob = -3

// WaitingTask stands for the first waiting task of a job, or for the first one if no task waits.
const WaitingTask = -2

// TaskAt returns a task of a job by its number.
func TaskAt(s *state.State, id model.JobID, n int64) (model.Task, bool) {
	switch n {
	case FirstTask, WholeJob:
		return s.FirstTask(id)
	case WaitingTask:
		return FirstWaiting(s, id)
	}
	return s.Tasks.Get(model.TaskKey{Job: id, Task: uint32(n)})
}

// FirstWaiting returns the first waiting task of a job, or the first one if no task waits.
func FirstWaiting(s *state.State, id model.JobID) (model.Task, bool) {
	if job, _ := s.Jobs.Get(id); job.Open > job.Live {
		for k, t := range s.Tasks.From(model.TaskKey{Job: id}) {
			if k.Job != id {
				break
			}
			if t.State == model.TaskQueued {
				return t, true
			}
		}
	}
	return s.FirstTask(id)
}
