package search

import (
	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/cluster/sched/pass"
	"github.com/berth-gpu/berth/cluster/sched/split"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// bounds are the limits that jobs of a problem share: what would be left of each limit without the jobs of the
// problem.
type bounds struct {
	pass  *pass.Pass
	left  []int64
	known map[boundKey]int32
	rows  map[model.ShareKey][]model.Limit // limits of each user within a project

	owners []guarantee
}

// boundKey is the key of a limit of a scope, or of the throttle of a job.
type boundKey struct {
	scope model.ScopeKey
	of    string
	job   model.JobID
}

func newBounds(p *pass.Pass) bounds {
	return bounds{pass: p, known: map[boundKey]int32{}, rows: map[model.ShareKey][]model.Limit{}}
}

// uses returns what a task takes of limits. A running task is part of what is used already, so its part is given
// back first.
func (b *bounds) uses(run *state.Run, job model.JobID, live bool) (out []split.Use) {
	use := func(k boundKey, left, amount int64) {
		i, _ := b.bound(k, left)
		if live {
			b.left[i] += amount
		}
		out = append(out, split.Use{Bound: i, Amount: amount, Scales: k.of == blocker.LimitGPUs})
	}
	s := b.pass.State
	for _, limit := range b.limitsOf(run.Project, run.User) {
		scope := limit.Scope
		used, _ := s.Usage.Get(scope)
		plus := b.pass.Budget.Added[scope]
		gpus := int64(run.Shape.GPUs)
		if limit.GPUs != model.Unlimited {
			use(boundKey{scope, blocker.LimitGPUs, 0}, limit.GPUs-int64(used.GPUs)-int64(plus.GPUs), gpus)
		}
		if limit.Live != model.Unlimited && !run.Service {
			use(boundKey{scope, blocker.LimitLive, 0}, limit.Live-int64(used.Live)-int64(plus.Live), 1)
		}
		if limit.GPUsPerJob != model.Unlimited && gpus > limit.GPUsPerJob && !live {
			use(boundKey{scope, blocker.LimitGPUsPerJob, 0}, 0, 1)
		}
		if _, spent := b.pass.Budget.UsedUp(&limit); spent && !live {
			use(boundKey{scope, blocker.LimitGPUHours, 0}, 0, 1)
		}
	}
	if drawn, bounded := b.draws(run, live); bounded {
		out = append(out, drawn)
	}
	if run.Throttled {
		j, _ := s.Jobs.Get(job)
		use(boundKey{job: job}, int64(j.Throttle)-int64(j.Live), 1)
	}
	return out
}

// bound returns the number of a bound, and whether the bound is new. A new bound has the given amount left.
func (b *bounds) bound(k boundKey, left int64) (i int32, fresh bool) {
	i, known := b.known[k]
	if !known {
		i = int32(len(b.left))
		b.known[k] = i
		b.left = append(b.left, left)
	}
	return i, !known
}

// limitsOf returns the limits that apply to a user within a project.
func (b *bounds) limitsOf(project, user string) []model.Limit {
	key := model.ShareKey{Project: project, User: user}
	rows, known := b.rows[key]
	if !known {
		for _, scope := range admission.Scopes(project, user) {
			if limit, found := state.LimitOf(b.pass.State, scope); found {
				rows = append(rows, limit)
			}
		}
		b.rows[key] = rows
	}
	return rows
}

// lateValue is the number of bits by which a job's value is reduced if the job comes after all others.
const lateValue = 20

// guarantee is the bound of what an owner may hold within its guarantee (own), and the bound from which the owner
// takes what is beyond that (open).
type guarantee struct{ own, open int32 }

// draws returns what a job takes of pools; bounded is false if no pool bounds the job.
func (b *bounds) draws(run *state.Run, live bool) (out split.Use, bounded bool) {
	if !b.pass.Budget.HasPools {
		return out, false
	}
	p := b.pass.Budget.Pool(run.Project, run.User)
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
		out.Bound, _ = b.bound(boundKey{scope: own, of: string(blocker.CodePool)}, limit-used)
	} else {
		open, _ := b.bound(boundKey{of: string(blocker.CodePool)}, limit-used)
		out.Bound = open
		if own != (model.ScopeKey{}) {
			var fresh bool
			out.Bound, fresh = b.bound(boundKey{scope: own, of: string(blocker.CodePool)}, p.Reserved-p.Own)
			out.Spill = open + 1
			if fresh { // what the owner has borrowed counts as returned, too
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

// settled returns what is left of each bound. Owners may hold GPUs beyond their guarantees that they will keep,
// such as the GPUs of services; these are subtracted from the bound that all owners share.
func (b *bounds) settled() []int64 {
	for _, g := range b.owners {
		b.left[g.open] += min(b.left[g.own], 0)
	}
	b.owners = nil
	return b.left
}
