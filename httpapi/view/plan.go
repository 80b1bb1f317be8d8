package view

import (
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Plan converts a forecast to the API's form.
func (v *View) Plan(f *forecast.Forecast) *wire.Plan {
	out := &wire.Plan{At: f.At.Time(), Running: []wire.PlanEntry{}, Waiting: []wire.PlanEntry{}, Beyond: f.Beyond}
	for i := range f.Running {
		if e, found := v.planned(&f.Running[i]); found {
			out.Running = append(out.Running, e)
		}
	}
	for i := range f.Waiting {
		if e, found := v.planned(&f.Waiting[i]); found {
			out.Waiting = append(out.Waiting, e)
		}
	}
	return out
}

// planned converts a course of the forecast; false for a task or a service that has left the state
// since the forecast.
func (v *View) planned(c *forecast.Course) (wire.PlanEntry, bool) {
	if c.Service != "" {
		return plannedService(v, c)
	}
	job, found := v.State.Jobs.Get(c.Task.Job)
	e := wire.PlanEntry{
		JobID: job.ID.String(), Name: model.Called(&job.Spec), User: job.Spec.User, GPUs: int64(c.GPUs), Position: c.Position,
		Start: rangeOf(c.Start), End: rangeOf(c.End), After: string(c.Why), Late: c.Late,
	}
	if job.Array() {
		n := int64(c.Task.Task)
		e.Task = &n
	}
	if c.Position == 0 {
		task, _ := v.State.Tasks.Get(c.Task)
		a, _ := v.State.Attempts.Get(task.Newest())
		if a.Live() {
			e.StartedAt = max(a.Placed, a.Started).Time()
		}
	}
	e.Nodes = namesOf(c.Nodes)
	for _, v := range c.Pauses {
		pause := wire.Pause{From: v.From.Time()}
		if v.Until > 0 {
			pause.Until = v.Until.Time()
		}
		e.Pauses = append(e.Pauses, pause)
	}
	return e, found
}

func plannedService(v *View, c *forecast.Course) (wire.PlanEntry, bool) {
	a, found := v.State.Allocations.Get(c.Service)
	return wire.PlanEntry{
		Service: string(a.ID), Name: a.Service, User: a.User, GPUs: int64(c.GPUs), Position: c.Position, Nodes: namesOf(c.Nodes),
		Start: rangeOf(c.Start), After: string(c.Why),
	}, found
}

func namesOf(nodes []model.NodeID) (names []string) {
	for _, n := range nodes {
		names = append(names, string(n))
	}
	return names
}

// rangeOf converts a range; nil if it is not known.
func rangeOf(r forecast.Range) *wire.Range {
	if !r.Known {
		return nil
	}
	return &wire.Range{Expected: r.Expected.Time(), Soonest: r.Soonest.Time(), Latest: r.Latest.Time()}
}

// Start returns when a task is expected to start, nil if that is not predicted, and whether its
// deadline comes first.
func Start(f *forecast.Forecast, key model.TaskKey) (start *wire.Range, late bool) {
	for i := range f.Waiting {
		if c := &f.Waiting[i]; c.Task == key {
			return rangeOf(c.Start), c.Late
		}
	}
	return nil, false
}

// Starts returns when waiting tasks are expected to start, and what blocks them until then, by
// task.
func Starts(f *forecast.Forecast) (starts map[model.TaskKey]*wire.Range, bars map[model.TaskKey]string) {
	starts, bars = make(map[model.TaskKey]*wire.Range, len(f.Waiting)), make(map[model.TaskKey]string, len(f.Waiting))
	for i := range f.Waiting {
		c := &f.Waiting[i]
		starts[c.Task], bars[c.Task] = rangeOf(c.Start), string(c.Bar)
	}
	return starts, bars
}
