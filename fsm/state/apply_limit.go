package state

import (
	"errors"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// MaxLimits bounds the scopes with limits.
const MaxLimits = 20_000

func applySetLimit(t *tx, b *command.SetLimit) command.Result { return setLimit(t, b.Limit) }

// applyAdjustLimit changes only what the command names, so that two commands for different values at the same
// time both take effect.
func applyAdjustLimit(t *tx, b *command.AdjustLimit) command.Result {
	return adjustLimit(t, b.Scope, b.Set)
}

func adjustLimit(t *tx, scope model.ScopeKey, list []model.LimitValue) command.Result {
	limit, found := t.limits.get(scope)
	if !found {
		limit = model.NoLimit(scope)
	}
	// A quota is set before its period, whose removal removes all of it.
	for f := model.LimitGPUs; f <= model.LimitUserGPUs; f++ {
		for _, v := range list {
			if v.Of == f {
				limit.Set(v.Of, v.Value)
			}
		}
	}
	if err := limit.Validate(); err != nil {
		if p, is := errors.AsType[*model.Problem](err); is {
			return refuse(model.CodeInvalid, "%s must be %s", p.Field, p.Want)
		}
		return refuse(model.CodeInvalid, "%v", err)
	}
	return setLimit(t, limit)
}

func setLimit(t *tx, limit model.Limit) command.Result {
	was, found := t.limits.get(limit.Scope)
	switch {
	case limit == model.NoLimit(limit.Scope):
		t.limits.delete(limit.Scope)
	case !found && t.limits.size() >= MaxLimits:
		return refuse(model.CodeLimit, "%d users and projects have limits already: lift those of another first", MaxLimits)
	default:
		t.limits.put(limit)
	}
	if was == (model.Limit{}) {
		was = model.NoLimit(limit.Scope)
	}
	openAccount(t, &was, &limit)
	if was.Reserved != limit.Reserved {
		recount(t, limit.Scope)
	}
	return ok()
}

func applySetPools(t *tx, b *command.SetPools) command.Result {
	if b.Mode != model.PoolDefault {
		t.settings.Pools.Mode = b.Mode
	}
	if b.Part != 0 {
		t.settings.Pools.Part = b.Part
	}
	return ok()
}

// withinLimits reports whether live tasks and GPUs may be added to the use.
func withinLimits(t *tx, spec *model.Spec, gpus, live uint32) command.Result {
	for _, scope := range ScopesOf(spec.Project, spec.User) {
		limit, found := limitOf(t.limits.get, scope)
		if !found {
			continue
		}
		use, _ := t.usage.get(scope)
		switch {
		case limit.ByDefault() && Exceeds(limit.GPUs, use.GPUs, gpus):
			return refuse(model.CodeLimit, "%s may use %d GPUs, the default of users (gpus_per_user of the cluster), uses %d, and this needs %d: "+
				"wait until some are given back, or have gpus of %s set", scope, limit.GPUs, use.GPUs, gpus, scope)
		case Exceeds(limit.GPUs, use.GPUs, gpus):
			return refuse(model.CodeLimit, "%s may use %d GPUs, uses %d, and this needs %d: wait until some are given back, or have "+
				"gpus raised", scope, limit.GPUs, use.GPUs, gpus)
		case live > 0 && Exceeds(limit.Live, use.Live, live):
			return refuse(model.CodeLimit, "%s may have %d jobs running and has %d: wait until one ends, or have running raised", scope,
				limit.Live, use.Live)
		case Exceeds(limit.GPUsPerJob, 0, gpus):
			return refuse(model.CodeLimit, "%s may use %d GPUs for one job, this one asks for %d: ask for fewer, or have gpus_per_job "+
				"raised", scope, limit.GPUsPerJob, gpus)
		}
		account, _ := t.accounts.get(scope)
		if q := quotaOf(&limit, &account, t.clock); q.Stops() {
			return refuse(model.CodeLimit, "%s", q.String())
		}
	}
	return withinPool(t, spec, gpus)
}

// withinPool reports whether GPUs may be added to those held within guarantees, or beyond them.
func withinPool(t *tx, spec *model.Spec, gpus uint32) command.Result {
	b := t.books()
	p := b.pool(spec.Project, spec.User)
	limit, used, need := p.Bounds(int64(gpus))
	if limit == model.Unlimited || need == 0 || used+need <= limit {
		return ok()
	}
	return refuse(model.CodeLimit, "%s", p.Refusal(int64(gpus)))
}

// longest returns the longest time limit that a job may have, and the scope that bounds it; 0: any.
func longest(get func(model.ScopeKey) (model.Limit, bool), spec *model.Spec) (most time.Duration, scope model.ScopeKey) {
	for _, k := range ScopesOf(spec.Project, spec.User) {
		if l, _ := get(k); l.RunTime > 0 && (most == 0 || l.RunTime < most) {
			most, scope = l.RunTime, k
		}
	}
	return most, scope
}

// limitTime gives a job without a time limit the longest that it may have.
func limitTime(t *tx, job *model.Job) {
	if most, _ := longest(t.limits.get, &job.Spec); most > 0 && job.Spec.TimeLimit == 0 {
		job.Spec.TimeLimit = most
		t.jobs.put(*job)
	}
}

// AsPlaced returns a spec as bookings count it once it is placed: one without a time limit gets the longest
// that it may have.
func AsPlaced(s *State, spec *model.Spec) *model.Spec {
	return bounded(s.Limits.Get, spec)
}

func bounded(get func(model.ScopeKey) (model.Limit, bool), spec *model.Spec) *model.Spec {
	most, _ := longest(get, spec)
	if most == 0 || spec.TimeLimit > 0 {
		return spec
	}
	with := *spec
	with.TimeLimit = most
	return &with
}

// withinTime reports whether a job may have so long a time limit.
func withinTime(t *tx, spec *model.Spec, asked time.Duration) command.Result {
	if most, scope := longest(t.limits.get, spec); most > 0 && asked > most {
		return refuse(model.CodeLimit, "%s may run a job for %s at most, this asks for %s: ask for less, save checkpoints and "+
			"go on in another job, or have max_run_time raised", scope, most, asked)
	}
	return ok()
}
