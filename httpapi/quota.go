package httpapi

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// quotas shows and changes the limits and shares of the cluster, projects and users, and how
// strictly GPUs are guaranteed.
type quotas struct{ api *API }

// quotasInput is the input of GET /quotas.
type quotasInput struct {
	Watch
	All bool `query:"all" doc:"also projects and users with use but without limits"`
}

// scopeInput is the input of a change of a project or user.
type scopeInput struct {
	Key     string `header:"Idempotency-Key"`
	Scope   string `path:"scope" doc:"project or user"`
	Name    string `path:"name"`
	RawBody []byte
}

func (a quotas) route(doc huma.API) {
	handle(a.api, doc, op("quotas", http.MethodGet, "/quotas", "The limits of the cluster, projects and users, and their use"), a.list)
	body := newStrict[wire.SetQuota]()
	set := func(ctx context.Context, key string, scope model.ScopeKey, raw []byte) (*answer[wire.Quota], error) {
		b, err := body.decode(raw)
		if err != nil {
			return nil, err
		}
		return a.set(ctx, key, scope, b)
	}
	handleBody[wire.SetQuota](a.api, doc, op("set-cluster-quota", http.MethodPut, "/quotas/cluster", "Set limits of the cluster; limits that are left out stay unchanged"),
		func(ctx context.Context, in *policyInput) (*answer[wire.Quota], error) {
			return set(ctx, in.Key, model.ScopeKey{Kind: model.ScopeCluster}, in.RawBody)
		})
	handleBody[wire.SetQuota](a.api, doc, op("set-quota", http.MethodPut, "/quotas/{scope}/{name}", "Set limits of a project or user; limits that are left out stay unchanged"),
		func(ctx context.Context, in *scopeInput) (*answer[wire.Quota], error) {
			scope, err := in.scope()
			if err != nil {
				return nil, err
			}
			return set(ctx, in.Key, scope, in.RawBody)
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
	return model.ScopeKey{}, refuse(wire.CodeNotFound, "there is no scope "+clip(in.Scope)+": use project or user, or the path /quotas/cluster")
}

func (a quotas) list(ctx context.Context, in *quotasInput) (*answer[wire.Quotas], error) {
	s, err := a.api.read(ctx, &in.Watch, topics(model.TopicSettings, model.TopicQueue, model.TopicFleet), nil)
	if err != nil {
		return nil, err
	}
	cluster := model.ScopeKey{Kind: model.ScopeCluster}
	now := a.api.now(&s)
	out := &wire.Quotas{Quotas: []wire.Quota{quotaOf(&s, cluster, now)}}
	for _, scope := range scopesOf(&s) {
		if _, bound := state.LimitOf(&s, scope); bound || in.All {
			out.Quotas = append(out.Quotas, quotaOf(&s, scope, now))
		}
	}
	return &answer[wire.Quotas]{Index: s.Index, Body: out}, nil
}

// scopesOf returns the projects and users with limits or use, in order.
func scopesOf(s *state.State) (out []model.ScopeKey) {
	for scope := range s.Limits.All() {
		if !s.Usage.Has(scope) {
			out = append(out, scope)
		}
	}
	for scope := range s.Usage.All() {
		out = append(out, scope)
	}
	return sortedScopes(out)
}

// set changes the values in the body; it changes nothing if any of them is not valid.
func (a quotas) set(ctx context.Context, key string, scope model.ScopeKey, b *wire.SetQuota) (*answer[wire.Quota], error) {
	list, err := limitsOf(scope, b)
	if err != nil {
		return nil, err
	}
	s := a.api.peer.Reader.State()
	if q := s.QuotaOf(scope, a.api.now(&s)); b.OverQuota != "" && b.GPUHours == nil && q.Limit <= 0 {
		return nil, invalid("over_quota", "needs gpu_hours: give these, too")
	}
	_, index, err := a.api.propose(ctx, key, &command.AdjustLimit{Scope: scope, Set: list})
	if err != nil {
		return nil, err
	}
	s = a.api.peer.Reader.State()
	q := quotaOf(&s, scope, a.api.now(&s))
	return &answer[wire.Quota]{Index: index, Body: &q}, nil
}

// limitsOf converts a body to changes of a limit.
func limitsOf(scope model.ScopeKey, b *wire.SetQuota) (list []model.LimitValue, err error) {
	asked := map[string]string{} // other names under which values were given
	if b.Queued == nil && b.MaxQueueSize != nil {
		asked["queued"] = "max_queue_size"
	}
	if b.Running == nil && b.MaxConcurrent != nil {
		asked["running"] = "max_concurrent_jobs"
	}
	if b.Queued, err = same("queued", "max_queue_size", b.Queued, b.MaxQueueSize); err != nil {
		return nil, err
	}
	if b.Running, err = same("running", "max_concurrent_jobs", b.Running, b.MaxConcurrent); err != nil {
		return nil, err
	}
	switch {
	case scope.Kind == model.ScopeCluster:
	case b.MaxQueueSize != nil:
		return nil, invalid("max_queue_size", "is for the cluster only; use queued for a project or user")
	case b.MaxConcurrent != nil:
		return nil, invalid("max_concurrent_jobs", "is for the cluster only; use running for a project or user")
	}
	add := func(f model.LimitField, v int64) { list = append(list, model.LimitValue{Of: f, Value: v}) }
	bound(add, model.LimitGPUs, b.GPUs, 1)
	bound(add, model.LimitLive, b.Running, 1)
	bound(add, model.LimitQueued, b.Queued, 1)
	bound(add, model.LimitGPUsPerJob, b.GPUsPerJob, 1)
	bound(add, model.LimitRunTime, b.MaxRunTime, 1)
	bound(add, model.LimitGPUTime, b.GPUHours, 3600)
	if b.Period != nil {
		add(model.LimitPeriod, int64(*b.Period))
	}
	switch b.OverQuota {
	case "":
	case model.OverStop.String():
		add(model.LimitOver, int64(model.OverStop))
	case model.OverLower.String():
		add(model.LimitOver, int64(model.OverLower))
	default:
		return nil, invalid("over_quota", "must be stop or lower")
	}
	bound(add, model.LimitReserved, b.ReservedGPUs, 1)
	bound(add, model.LimitUserGPUs, b.GPUsPerUser, 1)
	yields(add, b.Preemptible)
	if len(list) == 0 {
		return nil, invalid("gpus", "must be given, or another limit: the request changes nothing")
	}
	for _, v := range list {
		if p, is := errors.AsType[*model.Problem](v.Of.Check(v.Value)); is {
			return nil, invalid(cmp.Or(asked[p.Field], p.Field), "must be "+p.Want)
		}
	}
	return list, nil
}

// bound adds a given value in the units of the state. A negative one is replaced by a value that is
// not valid for a limit.
func bound[T int64 | float64 | wire.Duration](add func(model.LimitField, int64), f model.LimitField, v *wire.OrNone[T], unit float64) {
	switch {
	case v == nil:
	case v.None:
		add(f, model.Unlimited)
	case v.Value < 0:
		add(f, math.MinInt64)
	default:
		add(f, int64(min(math.Round(float64(v.Value)*unit), math.MaxInt64/2)))
	}
}

// yields adds the default of whether jobs may be suspended.
func yields(add func(model.LimitField, int64), v *wire.OrNone[bool]) {
	switch {
	case v == nil:
	case v.None:
		add(model.LimitYields, model.Unlimited)
	case v.Value:
		add(model.LimitYields, 1)
	default:
		add(model.LimitYields, 0)
	}
}

// quotaOf returns the limits and the use of a scope.
func quotaOf(s *state.State, scope model.ScopeKey, now model.Time) wire.Quota {
	l, _ := state.LimitOf(s, scope)
	value := func(f model.LimitField) *int64 {
		if v := l.Get(f); v != model.Unlimited {
			return &v
		}
		return nil
	}
	use, _ := s.Usage.Get(scope)
	out := wire.Quota{
		Scope: scope.Kind.String(), Name: scope.Name,
		GPUs: value(model.LimitGPUs), Running: value(model.LimitLive), Queued: value(model.LimitQueued),
		GPUsPerJob: value(model.LimitGPUsPerJob), ReservedGPUs: value(model.LimitReserved), MaxRunTime: secondsOf(l.RunTime),
		Period: secondsOf(l.Period), GPUsByDefault: l.ByDefault(),
		Used: wire.QuotaUse{GPUs: int64(use.GPUs), Running: int64(use.Live), Queued: int64(use.Queued), Bytes: int64(use.Bytes)}, //nolint:gosec // below MaxJobBytes
	}
	switch most := int64(0); scope.Kind {
	case model.ScopeCluster:
		most = state.MaxJobBytes
		out.Bytes = &most
	case model.ScopeUser:
		most = state.MaxJobBytesOf
		out.Bytes = &most
	case model.ScopeProject:
	}
	if l.Yields != model.YieldUnsaid {
		always := l.Yields == model.YieldAlways
		out.Preemptible = &always
	}
	if scope.Kind == model.ScopeCluster {
		out.MaxQueueSize, out.MaxConcurrent, out.GPUsPerUser = out.Queued, out.Running, value(model.LimitUserGPUs)
	}
	if q := s.QuotaOf(scope, now); q.Limit > 0 {
		limit, used := hoursOf(q.Limit), hoursOf(q.Used)
		out.GPUHours, out.Used.GPUHours, out.Used.PeriodEnds, out.OverQuota = &limit, &used, q.Next.Time(), q.Over.String()
	}
	if l.Reserved > 0 {
		a, _ := s.Accounts.Get(scope)
		own := int64(a.Own)
		out.Used.Reserved = &own
	}
	return out
}

func secondsOf(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	s := d.Seconds()
	return &s
}

// hoursOf converts GPU-milliseconds to hours, rounded to a tenth of a second.
func hoursOf(ms int64) float64 { return math.Round(float64(ms)/100) / 36_000 }

func (a quotas) routeShares(doc huma.API) {
	handle(a.api, doc, op("shares", http.MethodGet, "/shares", "Recent use of projects and users, and their fair share"),
		func(ctx context.Context, in *watchInput) (*answer[wire.Shares], error) {
			s, err := a.api.read(ctx, &in.Watch, topics(model.TopicSettings, model.TopicFleet), nil)
			if err != nil {
				return nil, err
			}
			out := &wire.Shares{HalfLife: s.Settings().Tuning.HalfLife.Seconds(), Shares: []wire.Share{}}
			for _, p := range queue.Portions(&s, a.api.now(&s)) {
				out.Shares = append(out.Shares, wire.Share{
					Project: p.Key.Project, User: p.Key.User, Shares: p.Shares, GPUHours: hoursOf(p.Used * 1000),
					OfFair: float64(p.Part), Lead: math.Round(p.Lead*100) / 100, GPUs: int64(p.GPUs),
				})
			}
			return &answer[wire.Shares]{Index: s.Index, Body: out}, nil
		})
	body := newStrict[wire.SetShares]()
	handleBody[wire.SetShares](a.api, doc, op("set-shares", http.MethodPut, "/shares/{scope}/{name}", "Set the share of a project or user"),
		func(ctx context.Context, in *scopeInput) (*answer[wire.Weight], error) {
			b, err := body.decode(in.RawBody)
			if err != nil {
				return nil, err
			}
			scope, err := in.scope()
			if err != nil {
				return nil, err
			}
			n, err := count("shares", b.Shares, 1, 10_000, 0)
			if err != nil {
				return nil, err
			}
			_, index, err := a.api.propose(ctx, in.Key, &command.SetWeight{Weight: model.Weight{Scope: scope, Shares: n}})
			if err != nil {
				return nil, err
			}
			return &answer[wire.Weight]{Index: index, Body: &wire.Weight{Scope: in.Scope, Name: in.Name, Shares: int64(n)}}, nil
		})
}
