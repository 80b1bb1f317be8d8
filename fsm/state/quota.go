package state

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// LimitOf returns the limit of a scope: its own limit, and of a user without a number of GPUs the cluster's
// default of that; false if there is none.
func LimitOf(s *State, scope model.ScopeKey) (limit model.Limit, found bool) {
	return LimitFrom(s.Limits.Get, scope)
}

// LimitFrom returns what [LimitOf] does, with limits that are looked up by get.
func LimitFrom(get func(model.ScopeKey) (model.Limit, bool), scope model.ScopeKey) (limit model.Limit, found bool) {
	if limit, found = get(scope); !found {
		limit = model.NoLimit(scope)
	}
	cluster, _ := get(model.ScopeKey{Kind: model.ScopeCluster})
	limit = limit.OrDefault(&cluster)
	return limit, found || limit.ByDefault()
}

// Quota is a scope's quota of GPU time at an instant.
type Quota struct {
	Scope model.ScopeKey
	Over  model.OverQuota
	Limit int64      // in GPU-milliseconds; 0: none
	Used  int64      // in GPU-milliseconds, in the period so far
	Next  model.Time // when the next period begins
}

// QuotaOf returns a scope's quota of GPU time at an instant.
func (s *State) QuotaOf(scope model.ScopeKey, now model.Time) Quota {
	limit, _ := s.Limits.Get(scope)
	account, _ := s.Accounts.Get(scope)
	return QuotaFrom(&limit, &account, now)
}

// QuotaFrom returns a quota of GPU time at an instant, of a limit and the account of its scope.
func QuotaFrom(l *model.Limit, a *model.Account, now model.Time) Quota {
	if l.GPUTime == 0 {
		return Quota{Scope: l.Scope}
	}
	_, next := model.PeriodOf(now, l.Period)
	return Quota{Scope: l.Scope, Over: l.Over, Limit: l.GPUTime * 1000, Used: a.UsedAt(now, l.Period), Next: next}
}

// Exceeded reports whether the quota is used up.
func (q *Quota) Exceeded() bool { return q.Limit > 0 && q.Used >= q.Limit }

// Stops reports whether nothing more may start before the next period.
func (q *Quota) Stops() bool { return q.Exceeded() && q.Over == model.OverStop }

// String returns the quota, its use and the remedy as text.
func (q *Quota) String() string {
	return fmt.Sprintf("%s may use %s GPU-hours in a period and has used %s: the next begins at %s, or have gpu_hours raised",
		q.Scope, Hours(q.Limit), Hours(q.Used), q.Next.Time().Format(time.RFC3339))
}

// Hours formats GPU-milliseconds as hours, with the significant part of their fraction.
func Hours(ms int64) string {
	const hour = 3600 * 1000
	whole, part := ms/hour, (ms%hour*1000+hour/2)/hour
	text := fmt.Sprintf("%d.%03d", whole+part/1000, part%1000)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// LongestTime returns the longest time limit that a job may have, and the scope that bounds it; 0: any.
func LongestTime(get func(model.ScopeKey) (model.Limit, bool), spec *model.Spec) (most time.Duration, scope model.ScopeKey) {
	for _, k := range ScopesOf(spec.Project, spec.User) {
		if l, _ := get(k); l.RunTime > 0 && (most == 0 || l.RunTime < most) {
			most, scope = l.RunTime, k
		}
	}
	return most, scope
}

// PlacedFrom returns what [AsPlaced] does, with limits that are looked up by get.
func PlacedFrom(get func(model.ScopeKey) (model.Limit, bool), spec *model.Spec) *model.Spec {
	most, _ := LongestTime(get, spec)
	if most == 0 || spec.TimeLimit > 0 {
		return spec
	}
	with := *spec
	with.TimeLimit = most
	return &with
}
