package admission

import (
	"iter"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// drawn is what a plan adds to what is held within guarantees, and beyond them.
type drawn struct {
	own      map[model.ScopeKey]int64
	borrowed int64
}

// Pool returns the pool from which a user's job draws its GPUs, with what the plan adds.
func (b *Budget) Pool(project, user string) state.Pool {
	p := b.state.PoolOf(project, user)
	p.Own += b.drawn.own[p.Owner]
	p.Borrowed += b.drawn.borrowed
	return p
}

// draw counts GPUs that the plan gives to a user.
func (b *Budget) draw(project, user string, gpus uint32) {
	if b.HasPools {
		p := b.Pool(project, user)
		b.drawn.borrowed += p.Beyond(int64(gpus))
		b.drawn.own[p.Owner] += int64(gpus)
	}
}

// undraw undoes draw.
func (b *Budget) undraw(project, user string, gpus uint32) {
	if b.HasPools {
		b.drawn.own[b.Pool(project, user).Owner] -= int64(gpus)
		p := b.Pool(project, user)
		b.drawn.borrowed -= p.Beyond(int64(gpus))
	}
}

// UsedUp returns the blocker of a quota of GPU time, and reports whether the quota is used up.
func (b *Budget) UsedUp(limit *model.Limit) (blocker.Blocker, bool) {
	if limit.GPUTime == 0 {
		return blocker.Blocker{}, false
	}
	q := b.state.QuotaOf(limit.Scope, b.now)
	return blocker.Blocker{
		Code: blocker.CodeGPUHours, Scope: q.Scope, Of: blocker.LimitGPUHours, Limit: q.Limit, Used: q.Used,
		Turn: blocker.Turn{Until: q.Next},
	}, q.Stops()
}

// drained yields the blocker of a pool that has no room for so many GPUs more.
func (b *Budget) drained(project, user string, gpus uint32) iter.Seq[blocker.Blocker] {
	return func(yield func(blocker.Blocker) bool) {
		p := b.Pool(project, user)
		limit, used, need := p.Bounds(int64(gpus))
		if limit != model.Unlimited && need > 0 && used+need > limit {
			yield(blocker.Blocker{
				Code: blocker.CodePool, Scope: p.Owner, Of: p.Mode.String(), Limit: limit, Used: used, Need: need, Have: max(limit-used, 0),
			})
		}
	}
}

// ExceededRunTimes yields the limits of run time that a job's time limit exceeds. A job without a time limit
// gets the longest that is allowed.
func ExceededRunTimes(s *state.State, spec *model.Spec) iter.Seq[blocker.Blocker] {
	return func(yield func(blocker.Blocker) bool) {
		if spec.TimeLimit == 0 {
			return
		}
		for _, scope := range Scopes(spec.Project, spec.User) {
			l, _ := s.Limits.Get(scope)
			if l.RunTime == 0 || spec.TimeLimit <= l.RunTime {
				continue
			}
			if !yield(blocker.Blocker{
				Code: blocker.CodeRunTime, Scope: scope, Of: blocker.LimitRunTime,
				Limit: int64(l.RunTime / time.Second), Need: int64((spec.TimeLimit + time.Second - 1) / time.Second),
			}) {
				return
			}
		}
	}
}

// RunTimeAllowed reports whether the time limit of a waiting task is within the limits of run time.
func RunTimeAllowed(s *state.State, key model.TaskKey) bool {
	for range ExceededRunTimes(s, &TicketOf(s, key).Job.Spec) {
		return false
	}
	return true
}

// OverQuota returns the scopes that are over a quota of GPU time which moves their jobs behind all others.
func OverQuota(s *state.State, now model.Time) map[model.ScopeKey]bool {
	var out map[model.ScopeKey]bool
	for scope, a := range s.Accounts.All() {
		if a.Began == 0 {
			continue
		}
		if q := s.QuotaOf(scope, now); q.Exceeded() && !q.Stops() {
			if out == nil {
				out = map[model.ScopeKey]bool{}
			}
			out[scope] = true
		}
	}
	return out
}
