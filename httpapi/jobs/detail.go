package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// details returns everything about one job.
type details struct{ api *core.API }

// jobInput is the input of GET /jobs/{job_id}.
type jobInput struct {
	core.Watch
	Job  string `path:"job_id"`
	Task string `query:"task" doc:"a task of an array; without it the answer is about the array as a whole"`
}

// waitInput is the input of GET /jobs/{job_id}/explain.
type waitInput struct {
	core.Watch
	Job  string `path:"job_id"`
	Task string `query:"task" doc:"of an array; by default the first that waits"`
}

func (a details) route(doc huma.API) {
	o := core.Op("job", http.MethodGet, "/jobs/{job_id}", "Everything about a job, an array as a whole, or one task of it")
	o.Description = "Without task the state, the times and the counts of an array are of all its tasks together, see array; " +
		"exit_code, timeline and attempt_history are of single tasks: ask for one, or GET /jobs/{job_id}/tasks."
	core.Handle(a.api, doc, o, a.detail)
	core.Handle(a.api, doc, core.Op("job-explanation", http.MethodGet, "/jobs/{job_id}/explain", "Why a job waits, and what would let it start"), a.explain)
}

func (a details) explain(ctx context.Context, in *waitInput) (*core.Answer[wire.Explanation], error) {
	d, err := a.about(ctx, &jobInput{in.Watch, in.Job, in.Task}, view.WaitingTask)
	if err != nil {
		return nil, err
	}
	if d.Body.Explanation == nil {
		text := "job " + d.Body.ID + " does not wait: it is " + d.Body.State + silence(&d.Body.Job)
		return nil, problem.Refuse(model.CodeNotQueued.String(), strings.Join(append([]string{text}, d.Body.Warnings...), "; "))
	}
	return &core.Answer[wire.Explanation]{Index: d.Index, Body: d.Body.Explanation}, nil
}

// silence returns which nodes of a job are silent, and what helps, to follow its state; "" if none is.
func silence(j *wire.Job) string {
	var names []string
	for _, n := range j.SilentNodes {
		names = append(names, n.NodeID+" since "+n.Since.UTC().Format(time.RFC3339))
	}
	switch {
	case len(names) == 0:
		return ""
	case j.SilentNodes[0].Holds:
		return ", and its host is silent (" + strings.Join(names, ", ") + "): it goes on once the host is back; if that is gone for good, an operator confirms it: berth node confirm-dead " + j.SilentNodes[0].NodeID
	}
	return ", and its host is silent (" + strings.Join(names, ", ") + "): it is given up once the lease of the host is over, or an operator confirms that the host is dead: berth node confirm-dead " + j.SilentNodes[0].NodeID
}

func (a details) detail(ctx context.Context, in *jobInput) (*core.Answer[wire.Detail], error) {
	return a.about(ctx, in, view.WholeJob)
}

// about returns everything about the named task, or about the default one.
func (a details) about(ctx context.Context, in *jobInput, meant int64) (*core.Answer[wire.Detail], error) {
	id, err := intake.JobID(in.Job)
	if err != nil {
		return nil, err
	}
	n, err := taskOf(in.Task)
	if err != nil {
		return nil, err
	}
	if n == view.FirstTask {
		n = meant
	}
	set := core.Topics(model.TopicJob)
	s, err := a.api.Read(ctx, &in.Watch, set, func(was, is *state.State) bool { return traceOf(was, id, n) != traceOf(is, id, n) })
	if err != nil {
		return nil, err
	}
	task, found := view.TaskAt(&s, id, n)
	if !found {
		return a.recall(ctx, &s, id, n)
	}
	job, _ := s.Jobs.Get(id)
	v := a.api.ViewFor(ctx, &s, &s, a.api.Now(&s))
	out := v.About(&job, &task, n)
	if out.Explanation != nil {
		if job.Array() && n == view.WholeJob {
			task, _ = view.FirstWaiting(&s, id)
		}
		out.Explanation.PlannedStart, out.Explanation.Late = view.Start(a.api.Places.Foresee(&s, v.Now), task.Key)
		out.PlannedStart = out.Explanation.PlannedStart
	}
	out.Warnings = a.warnings(ctx, out.AllocatedGPUs)
	return &core.Answer[wire.Detail]{Index: s.Index, Body: out}, nil
}

// warnings returns anomalies of a job's GPUs.
func (a details) warnings(ctx context.Context, gpus []wire.GPURef) (out []string) {
	if len(gpus) == 0 {
		return nil
	}
	for _, r := range a.api.Samples(ctx).Readings {
		i := slices.IndexFunc(gpus, func(g wire.GPURef) bool { return g.UUID == string(r.Sample.GPU) })
		if i >= 0 && r.Sample.Warning != "" {
			out = append(out, fmt.Sprintf("GPU %d of %s: %s", gpus[i].Index, gpus[i].NodeID, r.Sample.Warning))
		}
	}
	slices.Sort(out)
	return out
}

// recall returns what the archive has of a job that has left the state.
func (a details) recall(ctx context.Context, now *state.State, id model.JobID, n int64) (*core.Answer[wire.Detail], error) {
	if id >= now.Settings().NextJob { // no job has had that number
		return nil, core.NoJob()
	}
	stand := a.complete(ctx, now)
	s, found, err := a.api.Peer.Archive.Past(id, uint32(max(n, 0)))
	task, has := view.TaskAt(&s, id, n)
	if err != nil || !has {
		return nil, lacking(now, &stand, found, err)
	}
	job, _ := s.Jobs.Get(id)
	v := a.api.ViewFor(ctx, &s, now, a.api.Now(now))
	out := v.About(&job, &task, n)
	out.Archived = true
	later := a.api.ViewFor(ctx, now, now, a.api.Now(now))
	out.Dependents = later.Dependents(id)
	return &core.Answer[wire.Detail]{Index: now.Index, Body: out}, nil
}

// lacking returns the error of a request for a job that the archive does not return: none has had its number, the archive cannot be read,
// or it is not complete.
func lacking(now *state.State, stand *archive.Standing, found bool, err error) error {
	switch {
	case err == nil && found:
		return core.NoJob()
	case stand.Failure != "", err != nil && !errors.Is(err, archive.ErrUnavailable):
		return core.ArchiveFault(cmp.Or(err, errors.New(stand.Failure)))
	case err != nil, stand.CompleteTo < now.Settings().ArchivedTo:
		return problem.Refuse(wire.CodeBehind, "this peer's archive does not yet have the newest jobs that left the queue: try again, or another peer")
	}
	return core.NoJob()
}

// complete waits until the archive has all that has left the state, if it can, and returns the
// archive's status.
func (a details) complete(ctx context.Context, s *state.State) archive.Standing {
	if stand := a.api.Peer.Archive.Standing(); stand.Failure != "" {
		return stand
	}
	a.api.Peer.Archive.Reach(ctx, max(s.Settings().ArchivedTo, 1), core.ArchivePatience)
	return a.api.Peer.Archive.Standing()
}

// trace is the part of a job whose change wakes a waiting reader.
type trace struct {
	job     model.Job
	stand   model.TaskState
	task    model.Task
	attempt model.Attempt
	saved   time.Duration // of its first rank
}

func traceOf(s *state.State, id model.JobID, task int64) (t trace) {
	t.job, _ = s.Jobs.Get(id)
	t.stand = s.Stand(&t.job)
	t.task, _ = view.TaskAt(s, id, task)
	t.attempt, _ = s.Attempts.Get(t.task.Newest())
	first, _ := s.Ranks.Get(t.task.Newest().Rank(0))
	t.saved = first.Saved
	return t
}
