package view

import (
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Token converts a token to the API's form.
func Token(s *state.State, t *model.Token, now model.Time) wire.Token {
	out := wire.Token{
		ID: auth.ID(t.Hash), Name: t.Name, CreatedAt: t.Made.Time(), CreatedBy: t.By, ExpiresAt: t.Expires.Time(), Expired: !t.Good(now),
	}
	user, human := t.Of()
	switch {
	case human:
		u, _ := s.Users.Get(model.UserName(user))
		out.User, out.Role = user, t.Allows(u.Role).String()
	case t.First:
		out.Role = model.RoleNone.String()
	default:
		out.Node, out.Role, out.Network = user, t.Role.String(), t.Network
		if t.Hosts != "" {
			out.Hosts = strings.Split(t.Hosts, ",")
		}
	}
	return out
}

// Session converts a session to the API's form.
func Session(r *session.Row) wire.Session {
	return wire.Session{ID: auth.ID(r.Hash), Parent: auth.ID(r.Parent), ExpiresAt: r.Expires.Time()}
}

// SessionToken converts a session to the form in which it is listed among tokens.
func SessionToken(s *state.State, r *session.Row, now model.Time) wire.Token {
	parent, _ := s.Tokens.Get(r.Parent)
	out := Token(s, &parent, now)
	out.ID, out.CreatedAt, out.CreatedBy, out.ExpiresAt, out.Expired = auth.ID(r.Hash), r.Made.Time(), "user:"+r.User, r.Expires.Time(), !r.Good(now)
	out.Session, out.Parent = true, auth.ID(r.Parent)
	return out
}

// NextAccount stands for the account of a user that the next sign-in under the name decides.
const NextAccount = "next"

// User converts a user to the API's form.
func User(s *state.State, u *model.User, tokens int64) wire.User {
	out := wire.User{Name: u.Name, Role: u.Role.String(), Projects: []string{}, Tokens: tokens, CreatedAt: u.Made.Time()}
	switch {
	case u.Binds:
		out.Account = NextAccount
	case !u.Subject.IsZero():
		out.Account = hex.EncodeToString(u.Subject[:])
	}
	for k := range s.Members.From(model.MemberKey{User: u.Name}) {
		if k.User != u.Name {
			break
		}
		out.Projects = append(out.Projects, k.Project)
	}
	return out
}

// Policies returns the policy of the queue, its parameters, and all other policies.
func Policies(s *state.State) *wire.Policies {
	set := s.Settings()
	out := &wire.Policies{Policy: set.Policy, Predictions: Predictions(s)}
	for _, name := range model.Policies() {
		out.Policies = append(out.Policies, wire.Policy{Name: name, What: queue.Describe(name)})
	}
	for _, p := range model.Parameters() {
		out.Parameters = append(out.Parameters, wire.Parameter{Name: p.Name, Value: p.Value(&set.Tuning), Range: p.Range, What: p.What})
	}
	out.MaxRetries, out.AutoRetry = int64(set.Tuning.Retries), set.Tuning.Retries > 0
	out.Config = wire.PolicyConfig{
		Policy: set.Policy, Parameters: map[string]string{}, MaxConcurrent: &wire.OrNone[int64]{None: true}, AutoRetry: out.AutoRetry,
	}
	for _, p := range out.Parameters {
		out.Config.Parameters[p.Name] = p.Value
	}
	if l, found := s.Limits.Get(model.ScopeKey{Kind: model.ScopeCluster}); found && l.Live != model.Unlimited {
		out.MaxConcurrent, out.Config.MaxConcurrent = &l.Live, &wire.OrNone[int64]{Value: l.Live}
	}
	return out
}

// Pools returns how GPUs are divided.
func Pools(s *state.State) *wire.Allocation {
	pools := s.Settings().Pools
	part := pools.Part
	if part == 0 {
		part = model.DefaultPart
	}
	all, _ := s.Accounts.Get(model.ScopeKey{Kind: model.ScopeCluster})
	fit := s.FitGPUs
	return &wire.Allocation{
		Mode: pools.Mode.String(), Ratio: float64(part) / 1000, GPUs: int64(s.Slots.Len()), Fit: fit, Owned: all.Reserved,
		Kept: min(pools.Kept(fit, all.Reserved), fit), Lent: int64(all.Borrowed),
	}
}

// sortedScopes returns scopes in order of kind and name, without the cluster and duplicates.
func sortedScopes(list []model.ScopeKey) []model.ScopeKey {
	list = slices.DeleteFunc(list, func(k model.ScopeKey) bool { return k.Kind == model.ScopeCluster })
	slices.SortFunc(list, model.ScopeKey.Compare)
	return slices.Compact(list)
}

// Predictions returns how accurate predicted run times were over the cluster's life, by their
// source; sources without predictions are left out.
func Predictions(s *state.State) []wire.Prediction {
	n := s.Settings().Totals
	out := []wire.Prediction{}
	for _, v := range []struct {
		source          string
		made, near, off uint64
	}{
		{"estimate", n.Estimates, n.EstimatesNear, n.EstimatesOff},
		{"history", n.Histories, n.HistoriesNear, n.HistoriesOff},
	} {
		if v.made == 0 {
			continue
		}
		doublings := float64(v.off) / model.ErrorSteps
		out = append(out, wire.Prediction{
			Source: v.source, Attempts: int64(v.made), WithinFactorTwo: int64(v.near), ErrorDoublings: doublings,
			MeanErrorFactor: math.Round(100*math.Exp2(doublings/float64(v.made))) / 100,
		})
	}
	return out
}

// Scopes returns the projects and users with limits or use, in order.
func Scopes(s *state.State) (out []model.ScopeKey) {
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

// Quota returns the limits and the use of a scope.
func Quota(s *state.State, scope model.ScopeKey, now model.Time) wire.Quota {
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
		Period: secondsOf(l.Period), GPUsByDefault: l.ByDefault(), MaxCPUs: value(model.LimitCPUs),
		Used: wire.QuotaUse{
			GPUs: int64(use.GPUs), Running: int64(use.Live), CPUs: int64(use.CPUs), Queued: int64(use.Queued),
			Bytes: int64(use.Bytes),
		},
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
		limit, used := GPUHours(q.Limit), GPUHours(q.Used)
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

// GPUHours converts GPU-milliseconds to hours, rounded to a tenth of a second.
func GPUHours(ms int64) float64 { return math.Round(float64(ms)/100) / 36_000 }
