package jobs

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// changes changes existing jobs, and how the cluster schedules.
type changes struct{ api *core.API }

// targetInput is the input of a change of a job, or of one of its tasks.
type targetInput struct {
	Key  string `header:"Idempotency-Key"`
	Job  string `path:"job_id"`
	Task string `query:"task" doc:"some tasks of an array, such as 3 or 3-7,9; all by default"`
	Note string `query:"note" maxLength:"512" doc:"why, for the job's timeline"`
}

// changed describes what was done to a job, or to how many of its tasks.
func (in *targetInput) changed(what string, tasks uint64, others string) string {
	some, err := model.ParseIndices(in.Task)
	if n := uint64(len(some)); in.Task != "" && err == nil && tasks < n {
		return fmt.Sprintf("%s: %d of the %d named tasks; the others %s, or do not exist", what, tasks, n, others)
	}
	return what
}

// jobBodyInput is the input of a change of a job with a body.
type jobBodyInput struct {
	Key string `header:"Idempotency-Key"`
	Job string `path:"job_id"`

	core.Raw
}

// switchInput is the input of a change without parameters.
type switchInput struct {
	Key string `header:"Idempotency-Key"`
}

func (a changes) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("cancel", http.MethodDelete, "/queue/{job_id}", "Cancel a job, whether it waits or runs"), a.cancel)
	core.HandleBody(a.api, doc, core.Example(core.Op("set-priority", http.MethodPatch, "/queue/{job_id}/priority", "Change the priority of a job, or move it ahead of another one"), `{"priority":3}`), a.setPriority)
	for _, running := range []bool{true, false} {
		name, what := "stop", "Stop placements and preemptions; running jobs continue"
		if running {
			name, what = "start", "Start placements again"
		}
		o := core.Op(name, http.MethodPost, "/orchestrator/"+name, what)
		core.Handle(a.api, doc, o, func(ctx context.Context, in *switchInput) (*core.Answer[wire.Switched], error) {
			return a.turn(ctx, in.Key, running)
		})
	}
}

// taskOf parses the number of a task; an empty text gives [view.FirstTask].
func taskOf(text string) (int64, error) {
	if text == "" {
		return view.FirstTask, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > model.MaxIndex {
		return 0, problem.Invalid("task", "must be 0 to "+strconv.Itoa(model.MaxIndex))
	}
	return int64(n), nil
}

func (a changes) cancel(ctx context.Context, in *targetInput) (*core.Answer[wire.Done], error) {
	id, some, err := in.target()
	if err != nil {
		return nil, err
	}
	r, index, err := a.api.Propose(ctx, in.Key, &command.Cancel{Job: id, Task: model.AllTasks, Tasks: some, Note: in.Note})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.Done]{Index: index, Body: a.done(id, in.changed("canceled", r.Number, "have ended"))}, nil
}

// done returns the state of a job after a change.
func (a changes) done(id model.JobID, what string) *wire.Done {
	s := a.api.State()
	out := &wire.Done{Success: true, JobID: id.String(), Message: what}
	if job, found := s.Jobs.Get(id); found {
		v := view.View{State: &s, Now: a.api.Now(&s)}
		stand, stopping := v.Stand(&job)
		switch why := v.Awaits(&job); {
		case stopping != nil:
			out.Message = "its processes are being stopped"
		case job.Open > 0 && why != "":
			out.Message += "; it " + why
		}
		out.State = stand
	}
	return out
}

func (a changes) setPriority(ctx context.Context, in *jobBodyInput, body *wire.SetPriority) (*core.Answer[wire.Done], error) {
	id, err := intake.JobID(in.Job)
	if err != nil {
		return nil, err
	}
	c, done, err := rankOf(ctx, id, body.Priority, body.Before)
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	if job, _ := s.Jobs.Get(id); !auth.From(ctx).Operates() && job.Place.Moved() {
		return nil, movedBy(&job)
	}
	_, index, err := a.api.Propose(ctx, in.Key, c)
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.Done]{Index: index, Body: a.done(id, done)}, nil
}

// rankOf returns the change of a job's priority, or of its place in the order of the queue, and what it does in words.
func rankOf(ctx context.Context, id model.JobID, priority *int64, before string) (*command.SetPriority, string, error) {
	if (priority == nil) == (before == "") {
		return nil, "", problem.Invalid("priority", "must be given, 1 to 10, or in its place before, the id of another job; not both")
	}
	if before == "" {
		n, err := intake.Count("priority", priority, 1, model.MaxPriority, 0)
		if err != nil {
			return nil, "", err
		}
		class := model.JobClass(uint8(n))
		return &command.SetPriority{Job: id, Class: class, Priority: uint8(n)}, "priority " + strconv.Itoa(int(n)), intake.InClass(auth.From(ctx), class)
	}
	other, err := intake.JobID(before)
	switch {
	case err != nil:
		return nil, "", problem.Invalid("before", "must be the id of a job, a number as text")
	case other == id:
		return nil, "", problem.Invalid("before", "must be another job than the one that is moved")
	case !auth.From(ctx).Operates():
		return nil, "", problem.Denied("moving jobs ahead of others needs the role " + model.RoleOperator.String() + "; you have " + auth.From(ctx).Role.String())
	}
	return &command.SetPriority{Job: id, Before: other}, "moved ahead of job " + other.String(), nil
}

// movedBy refuses a user's change of the priority of a job that an operator has moved: it would end the place.
func movedBy(job *model.Job) *problem.Failure {
	return problem.Denied("an operator has moved job " + job.ID.String() + " ahead of job " + job.Place.Before.String() + ": only operators can change its priority now")
}

func (a changes) turn(ctx context.Context, key string, running bool) (*core.Answer[wire.Switched], error) {
	_, index, err := a.api.Propose(ctx, key, &command.SetRunning{Running: running})
	if err != nil {
		return nil, err
	}
	out := &wire.Switched{
		Success: true, Running: running, At: a.api.Config.Now().UTC(),
		Message: "no jobs are started until the orchestrator is started; running jobs continue",
	}
	if running {
		out.Message = "jobs are started"
	}
	return &core.Answer[wire.Switched]{Index: index, Body: out}, nil
}
