package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Quotas is the answer to GET /quotas: the limits of the cluster, of projects and of users, and
// their use.
type Quotas struct {
	Quotas []Quota `json:"quotas" nullable:"false" doc:"the cluster first, then projects, then users"`
}

// Quota is the limits and the use of a scope. Fields without a limit are left out.
type Quota struct {
	Scope         string   `json:"scope" doc:"cluster, project or user"`
	Name          string   `json:"name,omitempty"`
	GPUs          *int64   `json:"gpus,omitempty" doc:"in use at a time"`
	Running       *int64   `json:"running,omitempty" doc:"jobs with GPUs that run at a time"`
	Queued        *int64   `json:"queued,omitempty" doc:"waiting jobs; checked at submission"`
	GPUsPerJob    *int64   `json:"gpus_per_job,omitempty"`
	MaxRunTime    *float64 `json:"max_run_time_seconds,omitempty" doc:"the longest time limit of a job"`
	GPUHours      *float64 `json:"gpu_hours,omitempty" doc:"GPU-hours of each period"`
	Period        *float64 `json:"period_seconds,omitempty"`
	OverQuota     string   `json:"over_quota,omitempty" doc:"once gpu_hours are used up: stop (no more jobs start) or lower (its jobs go last)"`
	ReservedGPUs  *int64   `json:"reserved_gpus,omitempty" doc:"GPUs that are guaranteed to it"`
	GPUsPerUser   *int64   `json:"gpus_per_user,omitempty" doc:"of the cluster: the gpus of each user without an own limit"`
	MaxCPUs       *int64   `json:"max_cpus,omitempty" doc:"cores that jobs without GPUs hold at a time"`
	GPUsByDefault bool     `json:"gpus_by_default,omitempty" doc:"of a user: gpus are the cluster's gpus_per_user"`
	Preemptible   *bool    `json:"preemptible,omitempty" doc:"default of whether its jobs may be suspended for others"`
	MaxQueueSize  *int64   `json:"max_queue_size,omitempty" doc:"of the cluster: another name of queued"`
	Bytes         *int64   `json:"bytes,omitempty" doc:"of the cluster and of a user: the most memory of jobs that have not ended, in bytes; it cannot be set"`
	MaxConcurrent *int64   `json:"max_concurrent_jobs,omitempty" doc:"of the cluster: another name of running"`

	Used QuotaUse `json:"used"`
}

// QuotaUse is the use of a scope.
type QuotaUse struct {
	GPUs       int64     `json:"gpus"`
	Running    int64     `json:"running" doc:"jobs with GPUs"`
	CPUs       int64     `json:"cpus" doc:"cores that jobs without GPUs hold"`
	Queued     int64     `json:"queued"`
	Bytes      int64     `json:"bytes" doc:"approximate memory of jobs that have not ended, with scripts, environments and tasks"`
	GPUHours   *float64  `json:"gpu_hours,omitempty" doc:"in the present period, if there is a quota; running jobs count as they run"`
	PeriodEnds time.Time `json:"period_ends,omitzero" doc:"when the next period begins"`
	Reserved   *int64    `json:"reserved_gpus,omitempty" doc:"of an owner: GPUs held under its guarantee, which may be more than it owns"`
}

// SetQuota is the body of PUT /quotas/cluster and /quotas/{scope}/{name}: a field that is left out
// stays unchanged, and "none" removes a limit.
type SetQuota struct {
	GPUs          *OrNone[int64]    `json:"gpus,omitempty"`
	Running       *OrNone[int64]    `json:"running,omitempty"`
	Queued        *OrNone[int64]    `json:"queued,omitempty"`
	GPUsPerJob    *OrNone[int64]    `json:"gpus_per_job,omitempty"`
	MaxRunTime    *OrNone[Duration] `json:"max_run_time,omitempty" doc:"also the limit of jobs without one"`
	GPUHours      *OrNone[float64]  `json:"gpu_hours,omitempty" doc:"GPU-hours of each period; none also removes the period"`
	Period        *Duration         `json:"period,omitempty" doc:"an hour to 366 days"`
	OverQuota     string            `json:"over_quota,omitempty" doc:"stop or lower"`
	ReservedGPUs  *OrNone[int64]    `json:"reserved_gpus,omitempty" doc:"of a project or user"`
	GPUsPerUser   *OrNone[int64]    `json:"gpus_per_user,omitempty" doc:"of the cluster: the gpus of each user without an own limit"`
	MaxCPUs       *OrNone[int64]    `json:"max_cpus,omitempty" doc:"cores that jobs without GPUs hold at a time"`
	Preemptible   *OrNone[bool]     `json:"preemptible,omitempty" doc:"default of jobs: that of a user wins over that of a project, and that over the cluster's"`
	MaxQueueSize  *OrNone[int64]    `json:"max_queue_size,omitempty" doc:"of the cluster: another name of queued"`
	MaxConcurrent *OrNone[int64]    `json:"max_concurrent_jobs,omitempty" doc:"of the cluster: another name of running"`
}

// OrNone is a value, or the text "none".
type OrNone[T int64 | float64 | bool | Duration] struct {
	None  bool
	Value T
}

// None is the text that removes a limit.
const None = "none"

// UnmarshalJSON parses either; the error describes what is expected.
func (o *OrNone[T]) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte(`"none"`)) {
		*o = OrNone[T]{None: true}
		return nil
	}
	if err := json.Unmarshal(data, &o.Value); err != nil {
		return o.want(err)
	}
	return nil
}

// want returns an error that describes what is expected.
func (o *OrNone[T]) want(err error) error {
	switch any(o.Value).(type) {
	case int64:
		return errors.New("must be a whole number or none")
	case float64:
		return errors.New("must be a number or none")
	case bool:
		return errors.New("must be true, false or none")
	}
	return errors.New(err.Error() + ", or none")
}

// MarshalJSON writes the value, or "none".
func (o OrNone[T]) MarshalJSON() ([]byte, error) {
	if o.None {
		return []byte(`"none"`), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalText parses the text of a command line.
func (o *OrNone[T]) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if strings.EqualFold(s, None) {
		*o = OrNone[T]{None: true}
		return nil
	}
	_, isBool := any(o.Value).(bool)
	if _, err := strconv.ParseFloat(s, 64); err != nil && !isBool {
		s = strconv.Quote(s)
	}
	return o.UnmarshalJSON([]byte(s))
}

// Shares is the answer to GET /shares: how recent use compares with the fair share, for projects
// and the users within them.
type Shares struct {
	HalfLife float64 `json:"half_life_seconds" doc:"time after which past use counts half"`
	Shares   []Share `json:"shares" nullable:"false" doc:"each project, followed by its users"`
}

// Share is a project, or a user with or without a project.
type Share struct {
	Project  string  `json:"project" doc:"empty: jobs without a project"`
	User     string  `json:"user,omitempty" doc:"left out: the project as a whole"`
	Shares   int64   `json:"shares" doc:"the share relative to others of its kind; 100 unless set"`
	GPUHours float64 `json:"gpu_hours" doc:"recent use: each hour loses half its weight every half-life"`
	OfFair   float64 `json:"percent_of_fair" doc:"use in percent of the fair share (max-min: what some do not use goes to the others); above 100 its jobs are moved back"`
	Lead     float64 `json:"lead,omitempty" doc:"of a user: factor of the value of jobs under fair_share; above 1 because the user waits and has had less than the fair share, below 1 because others do"`
	GPUs     int64   `json:"gpus" doc:"in use now"`
}

// SetShares is the body of PUT /shares/{scope}/{name}.
type SetShares struct {
	Shares *int64 `json:"shares" doc:"1 to 10000; the default is 100"`
}

// Weight is the answer to PUT /shares/{scope}/{name}.
type Weight struct {
	Scope  string `json:"scope"`
	Name   string `json:"name"`
	Shares int64  `json:"shares"`
}

// Allocation is how GPUs are divided between the owners of guarantees and all others.
type Allocation struct {
	Mode  string  `json:"mode" doc:"dynamic: all users may use all GPUs; static: owners use their guaranteed GPUs, others the rest; hybrid: a part is reserved for owners within their guarantees"`
	Ratio float64 `json:"reserved_ratio" doc:"the part of the cluster that hybrid reserves, at most the sum of guarantees"`
	GPUs  int64   `json:"total_gpus"`
	Fit   int64   `json:"fit_gpus" doc:"healthy and in service, on nodes in service: the base of the ratio and of the rest for all"`
	Owned int64   `json:"owned_gpus" doc:"all guarantees together"`
	Kept  int64   `json:"kept_gpus" doc:"reserved for owners while idle"`
	Lent  int64   `json:"borrowed_gpus" doc:"held beyond guarantees, by any user"`
}

// SetAllocation is the body of PUT /orchestrator/allocation: what is left out stays.
type SetAllocation struct {
	Mode  string   `json:"mode,omitempty" doc:"dynamic, static or hybrid"`
	Ratio *float64 `json:"reserved_ratio,omitempty" doc:"above 0 and at most 1"`
}
