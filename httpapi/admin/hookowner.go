package admin

import (
	"cmp"
	"context"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/problem"
)

// hookScope returns the scope of the notices that a new webhook of the caller gets: the caller's
// own, or for an operator all if no user or project is named.
func hookScope(ctx context.Context, user, project string) (model.ScopeKey, error) {
	name := auth.From(ctx).Name
	switch {
	case user != "" && project != "":
		return model.ScopeKey{}, problem.Invalid("project", "must not be given together with user")
	case !auth.From(ctx).Operates() && (project != "" || user != "" && user != name):
		return model.ScopeKey{}, deniedHook(ctx, "a webhook for a project or another user")
	case !auth.From(ctx).Operates():
		return model.ScopeKey{Kind: model.ScopeUser, Name: name}, nil
	case user != "":
		return model.ScopeKey{Kind: model.ScopeUser, Name: user}, nil
	case project != "":
		return model.ScopeKey{Kind: model.ScopeProject, Name: project}, nil
	}
	return model.ScopeKey{Kind: model.ScopeCluster}, nil
}

// ownHook reports whether the caller may see and change a webhook: their own, or as an operator
// any.
func ownHook(ctx context.Context, w *outbox.Webhook) bool {
	return auth.From(ctx).Operates() || w.Scope == model.ScopeKey{Kind: model.ScopeUser, Name: auth.From(ctx).Name}
}

// findHook returns a webhook that the caller may see and change.
func findHook(ctx context.Context, s *state.State, id outbox.WebhookID) (outbox.Webhook, error) {
	w, found := s.Webhooks.Get(id)
	switch {
	case !found:
		return w, noWebhook()
	case !ownHook(ctx, &w):
		return outbox.Webhook{}, deniedHook(ctx, "a webhook that is not your own")
	}
	return w, nil
}

// ownDelivery reports whether the caller may see the result of a delivery: to their own webhooks,
// and to the addresses of their own jobs and allocations.
func ownDelivery(ctx context.Context, s *state.State, d *outbox.Delivery) bool {
	if auth.From(ctx).Operates() {
		return true
	}
	if id, is := d.Key.Outlet.Webhook(); is {
		w, found := s.Webhooks.Get(id)
		return found && ownHook(ctx, &w)
	}
	return auth.From(ctx).Owns(d.Notice.User, cmp.Or(d.Notice.Since, d.Notice.At))
}

func deniedHook(ctx context.Context, what string) error {
	return problem.Denied(what + " needs the role " + model.RoleOperator.String() + "; you have " + auth.From(ctx).Role.String())
}
