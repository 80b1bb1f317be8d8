package jobs

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/forecast"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/places"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// plans returns the forecast.
type plans struct{ api *core.API }

func (a plans) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("plan", http.MethodGet, "/queue/plan", "When and where waiting jobs are expected to start"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Plan], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicQueue, model.TopicJob, model.TopicFleet), nil)
			if err != nil {
				return nil, err
			}
			v := view.View{State: &s, Now: a.api.Now(&s)}
			f, index, err := a.api.Places.Foreseen(ctx, &s, v.Now)
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.Plan]{Index: index, Body: v.Plan(f)}, nil
		})
}

// foreseen adds to a submission's answer when the job is expected to start, and when it would be if
// it were preemptible. In a long queue, or a moment after another submission, it adds nothing.
func (a submissions) foreseen(before *state.State, body *command.Submit, out *wire.Submitted) {
	s := a.api.State()
	now := a.api.Now(&s)
	id, err := intake.JobID(out.JobID)
	task, found := s.FirstTask(id)
	switch {
	case err != nil || !found || s.Queue.Len()+s.CPUQueue.Len() > places.CountedUpTo:
		return
	case task.State != model.TaskQueued: // it has started meanwhile, or ended
		job, _ := s.Jobs.Get(id)
		v := view.View{State: &s, Now: now}
		out.Job, out.QueuePosition, out.PositionExact = v.Job(&job), 0, false
		return
	}
	f := a.api.Places.Foresee(&s, now)
	if a.api.Places.Trials.Begin(0) == 0 {
		defer a.api.Places.Trials.End(time.Now())
		planned(f, before, task.Key, body, out)
		return
	}
	out.PlannedStart, out.Late = view.Start(f, task.Key)
}

// planned adds the forecast of a submission to a state of before.
func planned(f *forecast.Forecast, before *state.State, key model.TaskKey, body *command.Submit, out *wire.Submitted) {
	if out.PlannedStart, out.Late = view.Start(f, key); out.PlannedStart != nil || out.Late {
		out.IfPreemptible = ifPreemptible(before, f.At, body, out.PlannedStart)
	}
}

// ifPreemptible returns when a job that must not be suspended would be expected to start if it
// could be; nil if that is no sooner. A start of nil is after its deadline.
func ifPreemptible(s *state.State, now model.Time, body *command.Submit, start *wire.Range) *wire.Range {
	if body.Spec.Preemptible || body.Spec.WithoutGPUs() || start != nil && !start.Expected.After(now.Time()) {
		return nil
	}
	changed := *body
	changed.Spec.Preemptible = true
	next, key, err := tryOut(s, now, &changed)
	if err != nil {
		return nil
	}
	f := forecast.Foresee(&next, now)
	if r, _ := view.Start(&f, key); r != nil && (start == nil || r.Expected.Before(start.Expected)) {
		return r
	}
	return nil
}

// tryOut carries out a submission on a copy of the state.
func tryOut(s *state.State, now model.Time, body *command.Submit) (next state.State, key model.TaskKey, err error) {
	c, err := command.New(core.ClipActor(core.UserActor(body.Spec.User)), body)
	if err != nil {
		return next, key, err
	}
	meta := state.Meta{Index: s.Index + 1, Term: s.Term, At: now, By: "dry-run"}
	next, results, _ := apply.Apply(*s, meta, []command.Command{c})
	if r := &results[0]; !r.OK() {
		return next, key, problem.Refused(r)
	}
	task, _ := next.FirstTask(results[0].Job)
	return next, task.Key, nil
}

// dryRun answers what a submission would result in, and queues nothing.
func (a submissions) dryRun(body *command.Submit) (*core.Answer[wire.Submitted], error) {
	s := a.api.State()
	now := a.api.Now(&s)
	next, key, err := tryOut(&s, now, body)
	if err != nil {
		return nil, err
	}
	if wait := a.api.Places.Trials.Begin(places.TrialPatience); wait > 0 {
		f := problem.Refuse(wire.CodeOverloaded, "this peer has reached its time limit for dry runs; nothing was queued: try again later, or submit the job")
		f.RetryIn(wait)
		return nil, f
	}
	defer a.api.Places.Trials.End(time.Now())
	job, _ := next.Jobs.Get(key.Job)
	v := view.View{State: &next, Now: now}
	out := &wire.Submitted{
		Success: true, DryRun: true, Job: v.Job(&job), OnLost: job.Spec.OnLost.String(), Warnings: view.Warnings(&next, &job),
	}
	out.Job.ID = ""
	if e, waits := explain.Task(&next, now, key); waits {
		out.Explanation = view.Explanation(&e)
		out.QueuePosition, out.PositionExact = e.Position, e.Exact
		out.Job.Position, out.Job.PositionExact = e.Position, e.Exact
	}
	f := forecast.Foresee(&next, now)
	planned(&f, &s, key, body, out)
	return &core.Answer[wire.Submitted]{Index: s.Index, Body: out}, nil
}
