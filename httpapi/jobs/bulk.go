package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// bulks carries out one change for many jobs.
type bulks struct{ api *core.API }

// Bounds of one such request.
const (
	mostBulk = 1000
	mostMove = 100 // ahead of another job: each may move those on that were moved there before
	maxNote  = 512 // bytes
)

// bulkAction is a change that many jobs can have at once.
type bulkAction struct {
	name, done   string
	method, path string // of the same change of one job
	body         func(*wire.Bulk, model.JobID) command.Body
}

func bulkActions() []bulkAction {
	return []bulkAction{
		{"cancel", "canceled", http.MethodDelete, "/queue/{job_id}", func(b *wire.Bulk, id model.JobID) command.Body {
			return &command.Cancel{Job: id, Task: model.AllTasks, Note: b.Note}
		}},
		{"hold", "held", http.MethodPost, "/queue/{job_id}/hold", func(b *wire.Bulk, id model.JobID) command.Body {
			return &command.Hold{Job: id, Task: model.AllTasks, Note: b.Note}
		}},
		{"release", "released", http.MethodPost, "/queue/{job_id}/release", func(_ *wire.Bulk, id model.JobID) command.Body {
			return &command.Release{Job: id, Task: model.AllTasks}
		}},
		{"requeue", "returned to the queue", http.MethodPost, "/queue/{job_id}/requeue", func(b *wire.Bulk, id model.JobID) command.Body {
			return &command.Requeue{Job: id, Task: model.AllTasks, Note: b.Note}
		}},
		{"priority", "moved", http.MethodPatch, "/queue/{job_id}/priority", func(b *wire.Bulk, id model.JobID) command.Body {
			if b.Before != "" {
				other, _ := intake.JobID(b.Before) // it was checked
				return &command.SetPriority{Job: id, Before: other}
			}
			return &command.SetPriority{Job: id, Class: model.JobClass(uint8(*b.Priority)), Priority: uint8(*b.Priority)}
		}},
	}
}

func (a bulks) route(doc huma.API) {
	o := core.Example(core.Op("bulk", http.MethodPost, "/queue/bulk", "One change of many jobs, with one result for each"), `{"action":"hold","ids":["2"]}`)
	o.Description = "All changes are in one log entry. Each job is judged by itself, as by the request for one: what a job does not allow, or the caller may not do to it, is in its result. " +
		"With expect nothing is done (409 conflict) unless the jobs are still as the caller was shown."
	core.HandleBody(a.api, doc, o, a.change)
}

// change carries out a request. Without authority over a job, or without the job, that one is refused.
func (a bulks) change(ctx context.Context, in *core.BodyInput, body *wire.Bulk) (*core.Answer[wire.BulkDone], error) {
	action, ids, err := parseBulk(ctx, body)
	if err != nil {
		return nil, err
	}
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(in.Key, id)
	}
	if err := a.expected(ctx, &s, body.Expect, ids, keys); err != nil {
		return nil, err
	}
	rule, _ := auth.Find(action.method, action.path)
	out := &wire.BulkDone{Results: make([]wire.BulkResult, len(ids))}
	var at []int // the places in the results of what is proposed
	var own []string
	var bodies []command.Body
	for i, id := range ids {
		job, found := s.Jobs.Get(id)
		f := problem.Refuse(wire.CodeNotFound, "there is no such job")
		if found {
			f = core.OwnJob(&job, rule, auth.From(ctx))
			if f == nil && action.name == "priority" && job.Place.Moved() && !auth.From(ctx).Operates() {
				f = movedBy(&job)
			}
		}
		if out.Results[i] = (wire.BulkResult{JobID: id.String()}); f != nil {
			out.Results[i].Code, out.Results[i].Status, out.Results[i].Message = f.Code, f.Status, f.Detail
			continue
		}
		at, own, bodies = append(at, i), append(own, keys[i]), append(bodies, action.body(body, id))
	}
	results, index, err := a.api.ProposeAll(ctx, own, bodies)
	if err != nil {
		return nil, err
	}
	for n, i := range at {
		done := changes(a).done(ids[i], action.done)
		to := &out.Results[i]
		if to.State = done.State; results[n].OK() {
			to.Success, to.Message = true, done.Message
			continue
		}
		f := problem.Refused(&results[n])
		to.Code, to.Status, to.Message = f.Code, f.Status, f.Detail
	}
	for i := range out.Results {
		if out.Results[i].Success {
			out.Done++
		}
	}
	out.Refused = int64(len(ids)) - out.Done
	out.Success = out.Refused == 0
	return &core.Answer[wire.BulkDone]{Index: max(index, s.Index), Body: out}, nil
}

// parseBulk checks a request.
func parseBulk(ctx context.Context, body *wire.Bulk) (action bulkAction, ids []model.JobID, err error) {
	all := bulkActions()
	i := slices.IndexFunc(all, func(a bulkAction) bool { return a.name == body.Action })
	if i < 0 {
		return action, nil, problem.Invalid("action", strict.Unknown(body.Action, "an action", []string{"cancel", "hold", "release", "requeue", "priority"}))
	}
	switch {
	case len(body.IDs) == 0 || len(body.IDs) > mostBulk:
		return action, nil, problem.Invalid("ids", fmt.Sprintf("must be 1 to %d ids of jobs, not %d", mostBulk, len(body.IDs)))
	case body.Before != "" && len(body.IDs) > mostMove:
		return action, nil, problem.Invalid("ids", fmt.Sprintf("must be 1 to %d ids of jobs that are moved ahead of another one, not %d: move the rest by further requests, in their order", mostMove, len(body.IDs)))
	case (body.Priority != nil || body.Before != "") != (body.Action == "priority"):
		return action, nil, problem.Invalid("priority", "must be given with the action priority, 1 to 10, or before in its place, and with no other action")
	case !model.Text(body.Note, maxNote):
		return action, nil, problem.Invalid("note", fmt.Sprintf("must be text of at most %d bytes", maxNote))
	}
	if body.Action == "priority" {
		if _, _, err := rankOf(ctx, 0, body.Priority, body.Before); err != nil {
			return action, nil, err
		}
	}
	seen := map[model.JobID]bool{}
	for n, text := range body.IDs {
		id, err := intake.JobID(text)
		switch {
		case err != nil:
			return action, nil, problem.Invalid(problem.Nth("ids", n), "must be the id of a job, a number as text")
		case seen[id]:
			return action, nil, problem.Invalid(problem.Nth("ids", n), "is given twice: "+text)
		case text == body.Before:
			return action, nil, problem.Invalid("before", "must be another job than those that are moved")
		}
		seen[id] = true
		ids = append(ids, id)
	}
	return all[i], ids, nil
}

// expected returns a refusal if the jobs are not as the caller was shown. A request that is repeated, of which a part was carried out, is
// not compared again.
func (a bulks) expected(ctx context.Context, s *state.State, want *wire.BulkExpect, ids []model.JobID, keys []string) error {
	if want == nil || carriedOut(s, core.ClipActor(auth.From(ctx).Actor()), keys) {
		return nil
	}
	open, users, states := int64(0), []string{}, []string{}
	for _, id := range ids {
		job, found := s.Jobs.Get(id)
		if !found || job.Open == 0 {
			continue
		}
		open++
		users = append(users, job.Spec.User)
		states = append(states, s.Stand(&job).String())
	}
	slices.Sort(users)
	users = slices.Compact(users)
	slices.Sort(states)
	states = slices.Compact(states)
	meant := slices.Compact(slices.Sorted(slices.Values(want.Users)))
	var differs []string
	if want.Count != nil && *want.Count != open {
		differs = append(differs, fmt.Sprintf("%d of the jobs have not ended, not %d", open, *want.Count))
	}
	if want.Users != nil && !slices.Equal(users, meant) {
		differs = append(differs, fmt.Sprintf("their owners are %s, not %s", listed(users), listed(meant)))
	}
	if want.States != nil {
		if other := slices.DeleteFunc(states, func(s string) bool { return slices.Contains(want.States, s) }); len(other) > 0 {
			differs = append(differs, fmt.Sprintf("some are %s, and not only %s", listed(other), listed(want.States)))
		}
	}
	if len(differs) == 0 {
		return nil
	}
	return problem.Refuse(model.CodeConflict.String(), "nothing was done: the jobs have changed since they were shown: "+strings.Join(differs, "; ")+". Look at them again")
}

// listed formats a list for a message, up to a few.
func listed(list []string) string {
	const most = 5
	if len(list) == 0 {
		return "none"
	}
	if more := len(list) - most; more > 0 {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

// carriedOut reports whether a command under one of the request ids was carried out before.
func carriedOut(s *state.State, actor string, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		id := model.ParseRequestID(key)
		_, found := state.RequestFrom(s.Requests.Get, actor, &id)
		return key != "" && found
	})
}

// keyOf returns the request id of the change of one job: of a UUIDv7 another one of the same time, since ids without a time are kept
// longer.
func keyOf(key string, id model.JobID) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key + "\n" + id.String()))
	u, err := uuid.Parse(key)
	if err != nil || u.Version() != 7 {
		return hex.EncodeToString(sum[:])
	}
	copy(u[8:], sum[:])
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	return u.String()
}
