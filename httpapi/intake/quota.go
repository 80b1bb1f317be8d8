package intake

import (
	"cmp"
	"errors"
	"math"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Pools converts a body to a change of how GPUs are divided.
func Pools(b *wire.SetAllocation) (*command.SetPools, error) {
	c := &command.SetPools{Mode: model.PoolModeOf(b.Mode)}
	if b.Mode != "" && c.Mode == model.PoolDefault {
		return nil, problem.Invalid("mode", "must be dynamic, static or hybrid")
	}
	if b.Ratio != nil {
		thousandths := math.Round(*b.Ratio * 1000)
		if !(thousandths >= 1 && thousandths <= 1000) {
			return nil, problem.Invalid("reserved_ratio", "must be above 0 and at most 1, such as 0.3")
		}
		c.Part = uint32(thousandths)
	}
	return c, nil
}

// Limits converts a body to changes of a limit.
func Limits(scope model.ScopeKey, b *wire.SetQuota) (list []model.LimitValue, err error) {
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
		return nil, problem.Invalid("max_queue_size", "is for the cluster only; use queued for a project or user")
	case b.MaxConcurrent != nil:
		return nil, problem.Invalid("max_concurrent_jobs", "is for the cluster only; use running for a project or user")
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
		return nil, problem.Invalid("over_quota", "must be stop or lower")
	}
	bound(add, model.LimitReserved, b.ReservedGPUs, 1)
	bound(add, model.LimitUserGPUs, b.GPUsPerUser, 1)
	bound(add, model.LimitCPUs, b.MaxCPUs, 1)
	yields(add, b.Preemptible)
	if len(list) == 0 {
		return nil, problem.Invalid("gpus", "must be given, or another limit: the request changes nothing")
	}
	for _, v := range list {
		if p, is := errors.AsType[*model.Problem](v.Of.Check(v.Value)); is {
			return nil, problem.Invalid(cmp.Or(asked[p.Field], p.Field), "must be "+p.Want)
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
