package admin

import (
	"context"
	"math"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// quotas shows and changes the limits and shares of the cluster, projects and users, and how
// strictly GPUs are guaranteed.
type quotas struct{ api *core.API }

// quotasInput is the input of GET /quotas.
type quotasInput struct {
	core.Watch
	All bool `query:"all" doc:"also projects and users with use but without limits"`
}

// scopeInput is the input of a change of a project or user.
type scopeInput struct {
	Key   string `header:"Idempotency-Key"`
	Scope string `path:"scope" doc:"project or user"`
	Name  string `path:"name"`

	core.Raw
}

func (a quotas) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("quotas", http.MethodGet, "/quotas", "The limits of the cluster, projects and users, and their use"), a.list)
	core.HandleBody(a.api, doc, core.Op("set-cluster-quota", http.MethodPut, "/quotas/cluster", "Set limits of the cluster; limits that are left out stay unchanged"),
		func(ctx context.Context, in *core.BodyInput, b *wire.SetQuota) (*core.Answer[wire.Quota], error) {
			return a.set(ctx, in.Key, model.ScopeKey{Kind: model.ScopeCluster}, b)
		})
	core.HandleBody(a.api, doc, core.Op("set-quota", http.MethodPut, "/quotas/{scope}/{name}", "Set limits of a project or user; limits that are left out stay unchanged"),
		func(ctx context.Context, in *scopeInput, b *wire.SetQuota) (*core.Answer[wire.Quota], error) {
			scope, err := in.scope()
			if err != nil {
				return nil, err
			}
			return a.set(ctx, in.Key, scope, b)
		})
	a.routeShares(doc)
	a.routePools(doc)
}

// scope returns the project or user in a path.
func (in *scopeInput) scope() (model.ScopeKey, error) {
	for _, kind := range []model.ScopeKind{model.ScopeProject, model.ScopeUser} {
		if in.Scope == kind.String() {
			return model.ScopeKey{Kind: kind, Name: in.Name}, nil
		}
	}
	return model.ScopeKey{}, problem.Refuse(wire.CodeNotFound, "there is no scope "+strict.Clip(in.Scope)+": use project or user, or the path /quotas/cluster")
}

func (a quotas) list(ctx context.Context, in *quotasInput) (*core.Answer[wire.Quotas], error) {
	s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicSettings, model.TopicQueue, model.TopicFleet), nil)
	if err != nil {
		return nil, err
	}
	cluster := model.ScopeKey{Kind: model.ScopeCluster}
	now := a.api.Now(&s)
	out := &wire.Quotas{Quotas: []wire.Quota{view.Quota(&s, cluster, now)}}
	for _, scope := range view.Scopes(&s) {
		if _, bound := state.LimitOf(&s, scope); bound || in.All {
			out.Quotas = append(out.Quotas, view.Quota(&s, scope, now))
		}
	}
	return &core.Answer[wire.Quotas]{Index: s.Index, Body: out}, nil
}

// set changes the values in the body; it changes nothing if any of them is not valid.
func (a quotas) set(ctx context.Context, key string, scope model.ScopeKey, b *wire.SetQuota) (*core.Answer[wire.Quota], error) {
	list, err := intake.Limits(scope, b)
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	if q := s.QuotaOf(scope, a.api.Now(&s)); b.OverQuota != "" && b.GPUHours == nil && q.Limit <= 0 {
		return nil, problem.Invalid("over_quota", "needs gpu_hours: give these, too")
	}
	_, index, err := a.api.Propose(ctx, key, &command.AdjustLimit{Scope: scope, Set: list})
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	q := view.Quota(&s, scope, a.api.Now(&s))
	return &core.Answer[wire.Quota]{Index: index, Body: &q}, nil
}

func (a quotas) routeShares(doc huma.API) {
	core.Handle(a.api, doc, core.Op("shares", http.MethodGet, "/shares", "Recent use of projects and users, and their fair share"),
		func(ctx context.Context, in *core.WatchInput) (*core.Answer[wire.Shares], error) {
			s, err := a.api.Read(ctx, &in.Watch, core.Topics(model.TopicSettings, model.TopicFleet), nil)
			if err != nil {
				return nil, err
			}
			out := &wire.Shares{HalfLife: s.Settings().Tuning.HalfLife.Seconds(), Shares: []wire.Share{}}
			for _, p := range queue.Portions(&s, a.api.Now(&s)) {
				out.Shares = append(out.Shares, wire.Share{
					Project: p.Key.Project, User: p.Key.User, Shares: p.Shares, GPUHours: view.GPUHours(p.Used * 1000),
					OfFair: float64(p.Part), Lead: math.Round(p.Lead*100) / 100, GPUs: int64(p.GPUs),
				})
			}
			return &core.Answer[wire.Shares]{Index: s.Index, Body: out}, nil
		})
	core.HandleBody(a.api, doc, core.Op("set-shares", http.MethodPut, "/shares/{scope}/{name}", "Set the share of a project or user"),
		func(ctx context.Context, in *scopeInput, b *wire.SetShares) (*core.Answer[wire.Weight], error) {
			scope, err := in.scope()
			if err != nil {
				return nil, err
			}
			n, err := intake.Count("shares", b.Shares, 1, 10_000, 0)
			if err != nil {
				return nil, err
			}
			_, index, err := a.api.Propose(ctx, in.Key, &command.SetWeight{Weight: model.Weight{Scope: scope, Shares: n}})
			if err != nil {
				return nil, err
			}
			return &core.Answer[wire.Weight]{Index: index, Body: &wire.Weight{Scope: in.Scope, Name: in.Name, Shares: int64(n)}}, nil
		})
}
