package httpapi

import (
	"context"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// viewFor returns a view of a state that hides what the caller may not see: what other users' jobs
// run is for operators, and for the callers that jobs.show_commands names in the present state.
func (a *API) viewFor(ctx context.Context, s, now *state.State, at model.Time) view {
	return view{s: s, now: at, sees: a.sees(ctx, now)}
}

// sees returns whether the caller may see what a job runs: its command with its arguments,
// its folder, and the values of a sweep, any of which may hold a secret.
func (a *API) sees(ctx context.Context, now *state.State) func(*model.Job) bool {
	c := auth.From(ctx)
	if c.Kind == auth.Open || c.Role.Covers(model.RoleOperator) {
		return func(*model.Job) bool { return true }
	}
	own := func(j *model.Job) bool {
		return (c.Kind == auth.User || c.Kind == auth.Service) && c.Owns(j.Spec.User, j.Submitted)
	}
	switch now.Settings().Defaults.Commands {
	case model.AudienceAll:
		return func(*model.Job) bool { return true }
	case model.AudienceProject:
		projects := a.gate.projects(now, c)
		return func(j *model.Job) bool {
			return own(j) || c.Role.Covers(model.RoleUser) && j.Spec.Project != "" && slices.Contains(projects, j.Spec.Project)
		}
	case model.AudienceUser:
	}
	return own
}

// hides reports whether the caller may not see what a job runs.
func (v *view) hides(j *model.Job) bool { return v.sees != nil && !v.sees(j) }

// cover removes from a job what the caller may not see.
func (v *view) cover(j *model.Job, out *wire.Job) {
	if !v.hides(j) {
		return
	}
	out.Command, out.CommandHidden = "", true
	if out.Array != nil {
		out.Array.Params = nil
	}
}
