package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/sched"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// plans returns the forecast.
type plans struct{ api *API }

func (a plans) route(doc huma.API) {
	handle(a.api, doc, op("plan", http.MethodGet, "/queue/plan", "When and where waiting jobs are expected to start"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Plan], error) {
			s, err := a.api.read(ctx, &in.Watch, topics(model.TopicQueue, model.TopicJob, model.TopicFleet), nil)
			if err != nil {
				return nil, err
			}
			v := view{s: &s, now: a.api.now(&s)}
			f, index := a.api.places.foreseen(&s, v.now)
			return &answer[wire.Plan]{Index: index, Body: v.plan(f)}, nil
		})
}

func (v *view) plan(f *sched.Forecast) *wire.Plan {
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
func (v *view) planned(c *sched.Course) (wire.PlanEntry, bool) {
	if c.Service != "" {
		return plannedService(v, c)
	}
	job, found := v.s.Jobs.Get(c.Task.Job)
	e := wire.PlanEntry{
		JobID: job.ID.String(), Name: model.Called(&job.Spec), User: job.Spec.User, GPUs: int64(c.GPUs), Position: c.Position,
		Start: rangeOf(c.Start), End: rangeOf(c.End), After: string(c.Why), Late: c.Late,
	}
	if job.Array() {
		n := int64(c.Task.Task)
		e.Task = &n
	}
	if c.Position == 0 {
		task, _ := v.s.Tasks.Get(c.Task)
		a, _ := v.s.Attempts.Get(task.Newest())
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

func plannedService(v *view, c *sched.Course) (wire.PlanEntry, bool) {
	a, found := v.s.Allocations.Get(c.Service)
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
func rangeOf(r sched.Range) *wire.Range {
	if !r.Known {
		return nil
	}
	return &wire.Range{Expected: r.Expected.Time(), Soonest: r.Soonest.Time(), Latest: r.Latest.Time()}
}

// foresee returns a forecast for the state, or for one of a moment ago where making one takes long:
// while one is being made other callers get the one before. A forecast is not used after the
// scheduler was started or stopped, or under another policy or tuning.
func (p *places) foresee(s *state.State, now model.Time) *sched.Forecast {
	f, _ := p.foreseen(s, now)
	return f
}

// foreseen also returns the index of the state of the forecast, so that a reader that waits for the
// next one gets it.
func (p *places) foreseen(s *state.State, now model.Time) (*sched.Forecast, uint64) {
	f, set := &p.forecast, s.Settings()
	fits := func(last *forecastOf) bool {
		return last != nil && last.Starts == (set.Running && !set.Standstill) && last.policy == set.Policy && last.tuning == set.Tuning
	}
	if last := f.made.Load(); !fits(last) {
		f.mu.Lock()
	} else if !f.mu.TryLock() {
		return &last.Forecast, last.index
	}
	defer f.mu.Unlock()
	began, last := time.Now(), f.made.Load()
	if fits(last) && (last.index == s.Index || began.Sub(f.at) < foreseePart*f.took) {
		return &last.Forecast, last.index
	}
	made := &forecastOf{Forecast: sched.Foresee(s, now), index: s.Index, policy: set.Policy, tuning: set.Tuning}
	f.made.Store(made)
	f.at, f.took = began, time.Since(began)
	return &made.Forecast, made.index
}

// foreseePart is the inverse of the part of the time that is spent on forecasts at most.
const foreseePart = 20

// startOf returns when a task is expected to start, nil if that is not predicted, and whether its
// deadline comes first.
func startOf(f *sched.Forecast, key model.TaskKey) (start *wire.Range, late bool) {
	for i := range f.Waiting {
		if c := &f.Waiting[i]; c.Task == key {
			return rangeOf(c.Start), c.Late
		}
	}
	return nil, false
}

// foreseen adds to a submission's answer when the job is expected to start, and when it would be if
// it were preemptible. In a long queue, or a moment after another submission, it adds nothing.
func (a submissions) foreseen(before *state.State, body *command.Submit, out *wire.Submitted) {
	s := a.api.peer.Reader.State()
	now := a.api.now(&s)
	id, err := jobID(out.JobID)
	task, found := s.FirstTask(id)
	switch {
	case err != nil || !found || s.Queue.Len() > countedUpTo:
		return
	case task.State != model.TaskQueued: // it has started meanwhile, or ended
		job, _ := s.Jobs.Get(id)
		v := view{s: &s, now: now}
		out.Job, out.QueuePosition, out.PositionExact = v.job(&job), 0, false
		return
	}
	f := a.api.places.foresee(&s, now)
	if a.api.places.trials.begin(0) == 0 {
		defer a.api.places.trials.end(time.Now())
		planned(f, before, task.Key, body, out)
		return
	}
	out.PlannedStart, out.Late = startOf(f, task.Key)
}

// planned adds the forecast of a submission to a state of before.
func planned(f *sched.Forecast, before *state.State, key model.TaskKey, body *command.Submit, out *wire.Submitted) {
	if out.PlannedStart, out.Late = startOf(f, key); out.PlannedStart != nil || out.Late {
		out.IfPreemptible = ifPreemptible(before, f.At, body, out.PlannedStart)
	}
}

// ifPreemptible returns when a job that must not be suspended would be expected to start if it
// could be; nil if that is no sooner. A start of nil is after its deadline.
func ifPreemptible(s *state.State, now model.Time, body *command.Submit, start *wire.Range) *wire.Range {
	if body.Spec.Preemptible || start != nil && !start.Expected.After(now.Time()) {
		return nil
	}
	changed := *body
	changed.Spec.Preemptible = true
	next, key, err := tryOut(s, now, &changed)
	if err != nil {
		return nil
	}
	f := sched.Foresee(&next, now)
	if r, _ := startOf(&f, key); r != nil && (start == nil || r.Expected.Before(start.Expected)) {
		return r
	}
	return nil
}

// tryOut carries out a submission on a copy of the state.
func tryOut(s *state.State, now model.Time, body *command.Submit) (next state.State, key model.TaskKey, err error) {
	c, err := command.New(clipActor(userActor(body.Spec.User)), body)
	if err != nil {
		return next, key, err
	}
	meta := state.Meta{Index: s.Index + 1, Term: s.Term, At: now, By: "dry-run"}
	next, results, _ := state.Apply(*s, meta, []command.Command{c})
	if r := &results[0]; !r.OK() {
		return next, key, refused(r)
	}
	task, _ := next.FirstTask(results[0].Job)
	return next, task.Key, nil
}

// dryRun answers what a submission would result in, and queues nothing.
func (a submissions) dryRun(body *command.Submit) (*answer[wire.Submitted], error) {
	s := a.api.peer.Reader.State()
	now := a.api.now(&s)
	next, key, err := tryOut(&s, now, body)
	if err != nil {
		return nil, err
	}
	if wait := a.api.places.trials.begin(trialPatience); wait > 0 {
		f := refuse(wire.CodeOverloaded, "this peer has reached its time limit for dry runs; nothing was queued: try again later, or submit the job")
		f.after = int(wait/time.Second) + 1
		return nil, f
	}
	defer a.api.places.trials.end(time.Now())
	job, _ := next.Jobs.Get(key.Job)
	v := view{s: &next, now: now}
	out := &wire.Submitted{Success: true, DryRun: true, Job: v.job(&job), Warnings: warnings(&next, &job)}
	out.Job.ID = ""
	if e, waits := sched.Explain(&next, now, key); waits {
		out.Explanation = explanation(&e)
		out.QueuePosition, out.PositionExact = e.Position, e.Exact
		out.Job.Position, out.Job.PositionExact = e.Position, e.Exact
	}
	f := sched.Foresee(&next, now)
	planned(&f, &s, key, body, out)
	return &answer[wire.Submitted]{Index: s.Index, Body: out}, nil
}
