package limits

import (
	"errors"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// SetLimit replaces the limits of a scope.
func SetLimit(t *tx.Tx, b *command.SetLimit) command.Result { return putLimit(t, b.Limit) }

// Adjust changes only what the command names, so that two commands for different values at the same
// time both take effect.
func Adjust(t *tx.Tx, b *command.AdjustLimit) command.Result {
	return AdjustLimit(t, b.Scope, b.Set)
}

// AdjustLimit changes some of the limits of a scope.
func AdjustLimit(t *tx.Tx, scope model.ScopeKey, list []model.LimitValue) command.Result {
	limit, found := t.Limits.Get(scope)
	if !found {
		limit = model.NoLimit(scope)
	}
	// A quota is set before its period, whose removal removes all of it.
	for f := model.LimitGPUs; f <= model.LimitCPUs; f++ {
		for _, v := range list {
			if v.Of == f {
				limit.Set(v.Of, v.Value)
			}
		}
	}
	if err := limit.Validate(); err != nil {
		if p, is := errors.AsType[*model.Problem](err); is {
			return tx.Refuse(model.CodeInvalid, "%s must be %s", p.Field, p.Want)
		}
		return tx.Refuse(model.CodeInvalid, "%v", err)
	}
	return putLimit(t, limit)
}

func putLimit(t *tx.Tx, limit model.Limit) command.Result {
	was, found := t.Limits.Get(limit.Scope)
	switch {
	case limit == model.NoLimit(limit.Scope):
		t.Limits.Delete(limit.Scope)
	case !found && t.Limits.Size() >= state.MaxLimits:
		return tx.Refuse(model.CodeLimit, "%d users and projects have limits already: lift those of another first", state.MaxLimits)
	default:
		t.Limits.Put(limit)
	}
	if was == (model.Limit{}) {
		was = model.NoLimit(limit.Scope)
	}
	openAccount(t, &was, &limit)
	if was.Reserved != limit.Reserved {
		recount(t, limit.Scope)
	}
	return tx.OK()
}

// SetPools replaces how GPUs are divided between owners and others.
func SetPools(t *tx.Tx, b *command.SetPools) command.Result {
	if b.Mode != model.PoolDefault {
		t.Settings.Pools.Mode = b.Mode
	}
	if b.Part != 0 {
		t.Settings.Pools.Part = b.Part
	}
	return tx.OK()
}

// WithinLimits reports whether live tasks, and the GPUs of all of them, may be added to the use. Tasks of different sizes are
// also asked about one by one.
func WithinLimits(t *tx.Tx, spec *model.Spec, gpus, live uint32) command.Result {
	each := gpus / max(1, live)
	for _, scope := range state.ScopesOf(spec.Project, spec.User) {
		limit, found := state.LimitFrom(t.Limits.Get, scope)
		if !found {
			continue
		}
		use, _ := t.Usage.Get(scope)
		switch {
		case limit.ByDefault() && state.Exceeds(limit.GPUs, use.GPUs, gpus):
			return tx.Refuse(model.CodeLimit, "%s may use %d GPUs, the default of users (gpus_per_user of the cluster), uses %d, and this needs %d: "+
				"wait until some are given back, or have gpus of %s set", scope, limit.GPUs, use.GPUs, gpus, scope)
		case state.Exceeds(limit.GPUs, use.GPUs, gpus):
			return tx.Refuse(model.CodeLimit, "%s may use %d GPUs, uses %d, and this needs %d: wait until some are given back, or have "+
				"gpus raised", scope, limit.GPUs, use.GPUs, gpus)
		case live > 0 && state.Exceeds(limit.Live, use.Live, live):
			return tx.Refuse(model.CodeLimit, "%s may have %d jobs running and has %d: wait until one ends, or have running raised", scope,
				limit.Live, use.Live)
		case state.Exceeds(limit.GPUsPerJob, 0, each):
			return tx.Refuse(model.CodeLimit, "%s may use %d GPUs for one job, this one asks for %d: ask for fewer, or have gpus_per_job "+
				"raised", scope, limit.GPUsPerJob, each)
		}
		account, _ := t.Accounts.Get(scope)
		if q := state.QuotaFrom(&limit, &account, t.Clock); q.Stops() {
			return tx.Refuse(model.CodeLimit, "%s", q.String())
		}
	}
	return withinPool(t, spec, gpus)
}

// WithinCPUs reports whether so many cores may be added to those that jobs without GPUs hold.
func WithinCPUs(t *tx.Tx, spec *model.Spec, cpus uint32) command.Result {
	for _, scope := range state.ScopesOf(spec.Project, spec.User) {
		limit, found := t.Limits.Get(scope)
		use, _ := t.Usage.Get(scope)
		if found && state.Exceeds(limit.CPUs, use.CPUs, cpus) {
			return tx.Refuse(model.CodeLimit, "%s may hold %d cores for jobs without GPUs, holds %d, and this needs %d: wait until some are given back, "+
				"or have max_cpus raised", scope, limit.CPUs, use.CPUs, cpus)
		}
	}
	return tx.OK()
}

// withinPool reports whether GPUs may be added to those held within guarantees, or beyond them.
func withinPool(t *tx.Tx, spec *model.Spec, gpus uint32) command.Result {
	b := tx.PoolSource(t)
	p := b.Pool(spec.Project, spec.User)
	limit, used, need := p.Bounds(int64(gpus))
	if limit == model.Unlimited || need == 0 || used+need <= limit {
		return tx.OK()
	}
	return tx.Refuse(model.CodeLimit, "%s", p.Refusal(int64(gpus)))
}

// LimitTime gives a job without a time limit the longest that it may have.
func LimitTime(t *tx.Tx, job *model.Job) {
	if most, _ := state.LongestTime(t.Limits.Get, &job.Spec); most > 0 && job.Spec.TimeLimit == 0 {
		job.Spec.TimeLimit = most
		t.Jobs.Put(*job)
	}
}

// WithinTime reports whether a job may have so long a time limit.
func WithinTime(t *tx.Tx, spec *model.Spec, asked time.Duration) command.Result {
	if most, scope := state.LongestTime(t.Limits.Get, spec); most > 0 && asked > most {
		return tx.Refuse(model.CodeLimit, "%s may run a job for %s at most, this asks for %s: ask for less, save checkpoints and "+
			"go on in another job, or have max_run_time raised", scope, most, asked)
	}
	return tx.OK()
}
