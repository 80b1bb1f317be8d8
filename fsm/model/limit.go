package model

import "time"

// Unlimited is the value of a missing limit.
const Unlimited = -1

// Limit bounds the use of a scope, and sets defaults of its jobs. Of GPUs, Live, Queued, GPUsPerJob and CPUs
// Unlimited is no bound and 0 allows nothing; of the others 0 is none.
//
//berth:row
type Limit struct {
	Scope      ScopeKey `cbor:"1,keyasint,omitempty"`
	GPUs       int64    `cbor:"2,keyasint,omitempty"` // owned by live attempts and allocations
	Live       int64    `cbor:"3,keyasint,omitempty"` // tasks with a live attempt
	Queued     int64    `cbor:"4,keyasint,omitempty"` // tasks that wait; counts at submission
	GPUsPerJob int64    `cbor:"5,keyasint,omitempty"` // of one task

	RunTime time.Duration `cbor:"6,keyasint,omitempty"` // the longest time limit of a job; a job without one gets it

	GPUTime int64         `cbor:"7,keyasint,omitempty"` // GPU-seconds that may be used in each period
	Period  time.Duration `cbor:"8,keyasint,omitempty"` // as [PeriodOf] lays them out
	Over    OverQuota     `cbor:"9,keyasint,omitempty"` // what follows when GPUTime is used up

	Reserved int64 `cbor:"10,keyasint,omitempty"` // GPUs that a user or project owns: its guarantee

	Yields Yield `cbor:"11,keyasint,omitempty"` // whether its jobs without a setting of their own may be suspended

	UserGPUs int64 `cbor:"12,keyasint,omitempty"` // of the cluster alone: GPUs of each user without GPUs of their own set

	CPUs int64 `cbor:"20,keyasint,omitempty"` // cores that jobs without GPUs hold
}

// NoLimit returns the limit of a scope that has none.
func NoLimit(scope ScopeKey) Limit {
	return Limit{Scope: scope, GPUs: Unlimited, Live: Unlimited, Queued: Unlimited, GPUsPerJob: Unlimited, CPUs: Unlimited}
}

// OrDefault returns the effective limit of a user with this limit, under the cluster's: the cluster's default
// number of GPUs replaces an unset one, and is kept in UserGPUs, so that a refusal can name it.
func (l Limit) OrDefault(cluster *Limit) Limit {
	if l.Scope.Kind == ScopeUser && l.GPUs == Unlimited && cluster.UserGPUs > 0 {
		l.GPUs, l.UserGPUs = cluster.UserGPUs, cluster.UserGPUs
	}
	return l
}

// ByDefault reports whether the GPUs are those of every user without a limit of their own.
func (l *Limit) ByDefault() bool { return l.Scope.Kind == ScopeUser && l.UserGPUs > 0 }

// OverQuota is the consequence when a scope has used up the GPU time of a period.
type OverQuota uint8

// The ways.
const (
	OverStop  OverQuota = 0 // nothing more starts before the next period
	OverLower OverQuota = 1 // its jobs go after those of all scopes within theirs
)

// String returns the way's name.
func (o OverQuota) String() string { return NameOf(o, "stop", "lower") }

// Yield is whether jobs may be suspended for others.
type Yield uint8

// The choices.
const (
	YieldUnsaid Yield = 0
	YieldNever  Yield = 1
	YieldAlways Yield = 2
)

// LimitField names one value of a Limit.
type LimitField uint8

// The values. Their numbers are in logs, their names in API and command line.
const (
	LimitGPUs       LimitField = 1
	LimitLive       LimitField = 2
	LimitQueued     LimitField = 3
	LimitGPUsPerJob LimitField = 4
	LimitRunTime    LimitField = 5 // in nanoseconds
	LimitGPUTime    LimitField = 6 // in GPU-seconds
	LimitPeriod     LimitField = 7 // in nanoseconds
	LimitOver       LimitField = 8 // an OverQuota
	LimitReserved   LimitField = 9
	LimitYields     LimitField = 10 // 0 or 1: whether jobs without a setting of their own are preemptible
	LimitUserGPUs   LimitField = 11
	LimitCPUs       LimitField = 12 // cores that jobs without GPUs hold; the last
)

// String returns the value's name.
func (f LimitField) String() string {
	return NameOf(f, "", "gpus", "running", "queued", "gpus_per_job", "max_run_time", "gpu_hours", "period", "over_quota",
		"reserved_gpus", "preemptible", "gpus_per_user", "max_cpus")
}

// Bounds of limits.
const (
	maxCount   = 1 << 31
	MinPeriod  = time.Hour
	MinRunTime = time.Second
)

// Allows returns the values that a field may have, except for Unlimited.
func (f LimitField) Allows() (least, most int64, words string) {
	switch f {
	case LimitGPUs, LimitLive, LimitQueued, LimitGPUsPerJob, LimitCPUs:
		return 0, maxCount, "0 to 2147483648, or none"
	case LimitRunTime:
		return int64(MinRunTime), int64(MaxDuration), "1s to 366d, or none"
	case LimitGPUTime:
		return 1, 300_000_000 * 3600, // GPU-seconds
			"more than 0 and at most 300000000, or none"
	case LimitPeriod:
		return int64(MinPeriod), int64(MaxDuration), "1h to 366d"
	case LimitOver:
		return int64(OverStop), int64(OverLower), "stop or lower"
	case LimitReserved:
		return 1, 1 << 20, "1 to 1048576, or none"
	case LimitYields:
		return 0, 1, "true, false or none"
	case LimitUserGPUs:
		return 1, maxCount, "1 to 2147483648, or none"
	}
	return 0, -1, "a limit that there is"
}

// Check returns an error unless a value is allowed for the field; Unlimited is for all but the last two of a
// quota, which have none.
func (f LimitField) Check(v int64) error {
	least, most, words := f.Allows()
	none := v == Unlimited && f != LimitPeriod && f != LimitOver
	if f == 0 || f > LimitCPUs || !none && (v < least || v > most) {
		return want(f.String(), "%s", words)
	}
	return nil
}

// Get returns a value of a limit; Unlimited if it has none.
func (l *Limit) Get(f LimitField) int64 {
	set := func(v int64) int64 {
		if v == 0 {
			return Unlimited
		}
		return v
	}
	switch f {
	case LimitGPUs:
		return l.GPUs
	case LimitLive:
		return l.Live
	case LimitQueued:
		return l.Queued
	case LimitGPUsPerJob:
		return l.GPUsPerJob
	case LimitRunTime:
		return set(int64(l.RunTime))
	case LimitGPUTime:
		return set(l.GPUTime)
	case LimitPeriod:
		return set(int64(l.Period))
	case LimitOver:
		return int64(l.Over)
	case LimitReserved:
		return set(l.Reserved)
	case LimitYields:
		return int64(l.Yields) - 1
	case LimitUserGPUs:
		return set(l.UserGPUs)
	case LimitCPUs:
		return l.CPUs
	}
	return Unlimited
}

// Set changes one value of a limit, which must be one that Check allows. Without a quota of GPU time there is
// neither a period nor a consequence.
func (l *Limit) Set(f LimitField, v int64) {
	some := max(v, 0)
	switch f {
	case LimitGPUs:
		l.GPUs = v
	case LimitLive:
		l.Live = v
	case LimitQueued:
		l.Queued = v
	case LimitGPUsPerJob:
		l.GPUsPerJob = v
	case LimitRunTime:
		l.RunTime = time.Duration(some)
	case LimitGPUTime:
		if l.GPUTime = some; some == 0 {
			l.Period, l.Over = 0, OverStop
		}
	case LimitPeriod:
		l.Period = time.Duration(some)
	case LimitOver:
		l.Over = OverQuota(some)
	case LimitReserved:
		l.Reserved = some
	case LimitYields:
		l.Yields = Yield(v + 1)
	case LimitUserGPUs:
		l.UserGPUs = some
	case LimitCPUs:
		l.CPUs = v
	}
}

// Validate returns the value that is not allowed, and the allowed ones; nil when all are allowed.
func (l *Limit) Validate() error {
	for f := LimitGPUs; f <= LimitCPUs; f++ {
		v := l.Get(f)
		if f == LimitPeriod && v == Unlimited {
			continue
		}
		if err := f.Check(v); err != nil {
			return err
		}
	}
	switch {
	case l.GPUTime > 0 && l.Period == 0:
		return want("period", "given with gpu_hours: 1h to 8784h, such as 24h or 168h")
	case l.GPUTime == 0 && (l.Period > 0 || l.Over != OverStop):
		return want("gpu_hours", "given with a period and over_quota")
	case l.Reserved > 0 && l.Scope.Kind == ScopeCluster:
		return want("reserved_gpus", "those of a user or project: the cluster owns all")
	case l.UserGPUs > 0 && l.Scope.Kind != ScopeCluster:
		return want("gpus_per_user", "set for the cluster: a user or project has gpus")
	}
	return nil
}

// LimitValue is one value of a limit.
type LimitValue struct {
	Of    LimitField `cbor:"1,keyasint,omitempty"`
	Value int64      `cbor:"2,keyasint,omitempty"` // Unlimited lifts it
}

// anchor is the start of the first period: Monday, 5 January 1970, 00:00 UTC.
const anchor = Time(4 * 24 * time.Hour)

// PeriodOf returns when the period of an instant began, and when the next does. Periods follow each other
// from Monday, 5 January 1970, 00:00 UTC on: those of an hour begin on the hour, those of a day at midnight,
// those of a week on Mondays.
func PeriodOf(at Time, period time.Duration) (began, next Time) {
	p := Time(max(period, MinPeriod))
	n := (at - anchor) / p
	if at < anchor && (at-anchor)%p != 0 {
		n--
	}
	began = anchor + n*p
	return began, began + p
}
