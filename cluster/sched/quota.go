package sched

import (
	"iter"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// drawn is what a plan adds to what is held within guarantees, and beyond them.
type drawn struct {
	own      map[model.ScopeKey]int64
	borrowed int64
}

// pool is where a user's work draws its GPUs from, with what the plan adds.
func (b *budget) pool(project, user string) state.Pool {
	p := b.state.PoolOf(project, user)
	p.Own += b.drawn.own[p.Owner]
	p.Borrowed += b.drawn.borrowed
	return p
}

// draw counts GPUs that the plan gives to a user.
func (b *budget) draw(project, user string, gpus uint32) {
	if b.pools {
		p := b.pool(project, user)
		b.drawn.borrowed += p.Beyond(int64(gpus))
		b.drawn.own[p.Owner] += int64(gpus)
	}
}

// undraw undoes that.
func (b *budget) undraw(project, user string, gpus uint32) {
	if b.pools {
		b.drawn.own[b.pool(project, user).Owner] -= int64(gpus)
		p := b.pool(project, user)
		b.drawn.borrowed -= p.Beyond(int64(gpus))
	}
}

// spent is the blocker of a quota of GPU time that is used up.
func (b *budget) spent(limit *model.Limit) (Blocker, bool) {
	if limit.GPUTime == 0 {
		return Blocker{}, false
	}
	q := b.state.QuotaOf(limit.Scope, b.now)
	return Blocker{Code: CodeGPUHours, Scope: q.Scope, Of: LimitGPUHours, Limit: q.Limit, Used: q.Used, Turn: Turn{Until: q.Next}}, q.Stops()
}

// drained yields the blocker of a pool that has no room for so many GPUs more.
func (b *budget) drained(project, user string, gpus uint32) iter.Seq[Blocker] {
	return func(yield func(Blocker) bool) {
		p := b.pool(project, user)
		limit, used, need := p.Bounds(int64(gpus))
		if limit != model.Unlimited && need > 0 && used+need > limit {
			yield(Blocker{
				Code: CodePool, Scope: p.Owner, Of: p.Mode.String(), Limit: limit, Used: used, Need: need, Have: max(limit-used, 0),
			})
		}
	}
}

// tooLong yields the limits of run time that a job's time limit is beyond. A job without
// one gets the longest that it may have.
func tooLong(s *state.State, spec *model.Spec) iter.Seq[Blocker] {
	return func(yield func(Blocker) bool) {
		if spec.TimeLimit == 0 {
			return
		}
		for _, scope := range scopes(spec.Project, spec.User) {
			l, _ := s.Limits.Get(scope)
			if l.RunTime == 0 || spec.TimeLimit <= l.RunTime {
				continue
			}
			if !yield(Blocker{
				Code: CodeRunTime, Scope: scope, Of: LimitRunTime,
				Limit: int64(l.RunTime / time.Second), Need: int64((spec.TimeLimit + time.Second - 1) / time.Second),
			}) {
				return
			}
		}
	}
}

// mayRun says that a waiting task's time limit is within what is allowed.
func mayRun(s *state.State, key model.TaskKey) bool {
	for range tooLong(s, &ticketOf(s, key).job.Spec) {
		return false
	}
	return true
}

// lowered finds the scopes that are over a quota of GPU time which lets them go last.
func lowered(s *state.State, now model.Time) map[model.ScopeKey]bool {
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

// late says that a user's work within a project goes after that of all who are within
// their quotas. That the cluster is over its own sets nobody back.
func (o *order) late(project, user string) bool {
	return len(o.lowered) > 0 && (o.lowered[model.ScopeKey{Kind: model.ScopeUser, Name: user}] ||
		project != "" && o.lowered[model.ScopeKey{Kind: model.ScopeProject, Name: project}])
}

// lateValue is what a job that goes after all others is worth beside them.
const lateValue = 20 // bits less

// renewed is when the next period begins of a quota that is used up; 0: none is.
func renewed(s *state.State, now model.Time) (at model.Time) {
	for scope, a := range s.Accounts.All() {
		if a.Began == 0 {
			continue
		}
		if q := s.QuotaOf(scope, now); q.Exceeded() {
			at = sooner(at, q.Next)
		}
	}
	return at
}

// guarantee is the bound of what an owner may hold of its own, beyond which it takes of
// another bound.
type guarantee struct{ own, open int32 }

// draws is what a job takes of pools.
func (b *bounds) draws(run *state.Run, live bool) (out split.Use, bounded bool) {
	if !b.pass.budget.pools {
		return out, false
	}
	p := b.pass.budget.pool(run.Project, run.User)
	gpus := int64(run.Shape.GPUs)
	limit, used, _ := p.Bounds(gpus)
	if limit == model.Unlimited {
		return out, false
	}
	own := model.ScopeKey{}
	if p.Mode == model.PoolStatic || p.Owner.Kind != model.ScopeCluster {
		own = p.Owner
	}
	out = split.Use{Amount: gpus, Scales: true}
	if p.Mode == model.PoolStatic {
		out.Bound, _ = b.bound(boundKey{scope: own, of: string(CodePool)}, limit-used)
	} else {
		open, _ := b.bound(boundKey{of: string(CodePool)}, limit-used)
		out.Bound = open
		if own != (model.ScopeKey{}) {
			var fresh bool
			out.Bound, fresh = b.bound(boundKey{scope: own, of: string(CodePool)}, p.Reserved-p.Own)
			out.Spill = open + 1
			if fresh { // what it has borrowed is thought away, too
				b.left[open] += max(p.Own-p.Reserved, 0)
				b.owners = append(b.owners, guarantee{out.Bound, open})
			}
		}
	}
	if live {
		b.left[out.Bound] += gpus
	}
	return out, true
}

// settled is what is left of each bound: what owners hold beyond their guarantees and
// will keep, such as the GPUs of services, is taken of what is for all.
func (b *bounds) settled() []int64 {
	for _, g := range b.owners {
		b.left[g.open] += min(b.left[g.own], 0)
	}
	b.owners = nil
	return b.left
}

// lend tries what would give a task room in its pool: a greater guarantee, or GPUs that
// are for everybody.
func (t *trial) lend(b *Blocker) {
	job := &ticketOf(t.state, t.task).job
	spec := &job.Spec
	if p := t.state.PoolOf(spec.Project, spec.User); p.Reserved > 0 {
		limit, _ := t.state.Limits.Get(b.Scope)
		limit.Reserved = p.Own + int64(spec.GPUs)
		t.offer(Unblock{Kind: UnblockLimit, Limit: limit, Of: LimitReserved}, &command.SetLimit{Limit: limit})
	}
	t.offer(Unblock{Kind: UnblockPool}, &command.SetPools{Mode: model.PoolDynamic})
}

// ofPool lists whose ends would leave room in a pool.
func (q *question) ofPool(b *Blocker) []holding {
	return q.ofScopes(func(project, user string) bool {
		p := q.state.PoolOf(project, user)
		return p.Owner == b.Scope || b.Of == model.PoolHybrid.String() && p.Own > p.Reserved
	})
}
