package core

import (
	"context"
	"slices"

	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Basis returns what decides about the caller's requests for GPUs.
func (a *API) Basis(ctx context.Context, s *state.State) *intake.Basis {
	c := auth.From(ctx)
	return &intake.Basis{
		Settings: s.Settings(), Job: s.Jobs.Get, Yields: func(spec *model.Spec) bool { return state.Yields(s, spec) },
		Now: a.Now(s), Caller: c, Projects: func() []string { return a.gate.Projects(s, c) }, Rules: &a.gate.Terms().Rules,
		Target:   func(url string) error { return notify.CheckTarget(s, url) },
		Possible: func(spec *model.Spec) (bool, string) { return a.Places.Possible(s, spec) },
	}
}

// ForNode returns an error if the caller is not the agent of a node.
func ForNode(ctx context.Context, node model.NodeID) error {
	if c := auth.From(ctx); c.Kind == auth.Node && c.Name != string(node) {
		return problem.Denied("this is the agent of node " + c.Name + ", which may act for that node only")
	}
	return nil
}

// HideAddresses reduces the addresses of services of other users to their hosts.
func HideAddresses(ctx context.Context, list []wire.ServiceAllocation) {
	for i := range list {
		if w := &list[i]; w.WebhookURL != "" && !auth.From(ctx).Operates() && w.User != auth.From(ctx).Name {
			w.WebhookURL = view.ShortURL(w.WebhookURL)
		}
	}
}

// ViewFor returns a view of a state that hides what the caller may not see: what other users' jobs
// run is for operators, and for the callers that jobs.show_commands names in the present state.
func (a *API) ViewFor(ctx context.Context, s, now *state.State, at model.Time) view.View {
	return view.View{State: s, Now: at, Sees: a.Sees(ctx, now)}
}

// Sees returns whether the caller may see what a job runs: its command with its arguments,
// its folder, and the values of a sweep, any of which may hold a secret.
func (a *API) Sees(ctx context.Context, now *state.State) func(*model.Job) bool {
	c := auth.From(ctx)
	if c.Operates() {
		return func(*model.Job) bool { return true }
	}
	own := func(j *model.Job) bool {
		return (c.Kind == auth.User || c.Kind == auth.Service) && c.Owns(j.Spec.User, j.Submitted)
	}
	switch now.Settings().Defaults.Commands {
	case model.AudienceAll:
		return func(*model.Job) bool { return true }
	case model.AudienceProject:
		projects := a.gate.Projects(now, c)
		return func(j *model.Job) bool {
			return own(j) || c.Role.Covers(model.RoleUser) && j.Spec.Project != "" && slices.Contains(projects, j.Spec.Project)
		}
	case model.AudienceUser:
	}
	return own
}
