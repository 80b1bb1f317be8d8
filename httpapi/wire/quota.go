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
	Running       *int64   `json:"running,omitempty" doc:"jobs that run at a time"`
	Queued        *int64   `json:"queued,omitempty" doc:"jobs that wait; counts when one is submitted"`
	GPUsPerJob    *int64   `json:"gpus_per_job,omitempty"`
	MaxRunTime    *float64 `json:"max_run_time_seconds,omitempty" doc:"the longest time limit of a job"`
	GPUHours      *float64 `json:"gpu_hours,omitempty" doc:"GPU-hours of each period"`
	Period        *float64 `json:"period_seconds,omitempty"`
	OverQuota     string   `json:"over_quota,omitempty" doc:"once gpu_hours are used up: stop (nothing more starts) or lower (its jobs go last)"`
	ReservedGPUs  *int64   `json:"reserved_gpus,omitempty" doc:"GPUs that it owns"`
	GPUsPerUser   *int64   `json:"gpus_per_user,omitempty" doc:"of the cluster: the gpus of each user without an own limit"`
	GPUsByDefault bool     `json:"gpus_by_default,omitempty" doc:"of a user: gpus are the cluster's gpus_per_user"`
	Preemptible   *bool    `json:"preemptible,omitempty" doc:"whether its jobs may be suspended for others that do not say so themselves"`
	MaxQueueSize  *int64   `json:"max_queue_size,omitempty" doc:"of the cluster: another name of queued"`
	Bytes         *int64   `json:"bytes,omitempty" doc:"of the cluster and of a user: how many bytes of memory the jobs may take that have not ended; it cannot be set"`
	MaxConcurrent *int64   `json:"max_concurrent_jobs,omitempty" doc:"of the cluster: another name of running"`

	Used QuotaUse `json:"used"`
}

// QuotaUse is the use of a scope.
type QuotaUse struct {
	GPUs       int64     `json:"gpus"`
	Running    int64     `json:"running"`
	Queued     int64     `json:"queued"`
	Bytes      int64     `json:"bytes" doc:"about the memory that the jobs take that have not ended, with scripts, environments and tasks"`
	GPUHours   *float64  `json:"gpu_hours,omitempty" doc:"in the present period, if there is a quota; what runs counts as it runs"`
	PeriodEnds time.Time `json:"period_ends,omitzero" doc:"when the next period begins"`
	Reserved   *int64    `json:"reserved_gpus,omitempty" doc:"of an owner: GPUs held by what draws on its guarantee, which may be more than it owns"`
}

// SetQuota is the body of PUT /quotas/cluster and /quotas/{scope}/{name}: a field that is left out
// stays unchanged, and "none" removes a limit.
type SetQuota struct {
	GPUs          *OrNone[int64]    `json:"gpus,omitempty"`
	Running       *OrNone[int64]    `json:"running,omitempty"`
	Queued        *OrNone[int64]    `json:"queued,omitempty"`
	GPUsPerJob    *OrNone[int64]    `json:"gpus_per_job,omitempty"`
	MaxRunTime    *OrNone[Duration] `json:"max_run_time,omitempty" doc:"a job that asks for no time limit gets this one"`
	GPUHours      *OrNone[float64]  `json:"gpu_hours,omitempty" doc:"GPU-hours of each period; none takes the period away, too"`
	Period        *Duration         `json:"period,omitempty" doc:"an hour to 366 days"`
	OverQuota     string            `json:"over_quota,omitempty" doc:"stop or lower"`
	ReservedGPUs  *OrNone[int64]    `json:"reserved_gpus,omitempty" doc:"of a project or user"`
	GPUsPerUser   *OrNone[int64]    `json:"gpus_per_user,omitempty" doc:"of the cluster: the gpus of each user without an own limit"`
	Preemptible   *OrNone[bool]     `json:"preemptible,omitempty" doc:"for jobs that do not say so themselves: a user's counts before a project's, and that before the cluster's"`
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
	HalfLife float64 `json:"half_life_seconds" doc:"how long it takes until what was used counts half"`
	Shares   []Share `json:"shares" nullable:"false" doc:"each project, followed by its users"`
}

// Share is a project, or a user with or without a project.
type Share struct {
	Project  string  `json:"project" doc:"empty: jobs without a project"`
	User     string  `json:"user,omitempty" doc:"left out: the project as a whole"`
	Shares   int64   `json:"shares" doc:"the share relative to others of its kind; 100 unless set"`
	GPUHours float64 `json:"gpu_hours" doc:"used lately: each hour loses half its weight every half-life"`
	OfFair   float64 `json:"percent_of_fair" doc:"use in percent of the fair share (max-min: what some do not use goes to the others); above 100 its jobs are moved back"`
	Lead     float64 `json:"lead,omitempty" doc:"of a user: above 1, jobs are worth so many times as much under fair_share, since the user waits and has had less than is fair; below 1 they are worth so much less, since others do"`
	GPUs     int64   `json:"gpus" doc:"in use now"`
}

// SetShares is the body of PUT /shares/{scope}/{name}.
type SetShares struct {
	Shares *int64 `json:"shares" doc:"1 to 10000; 100 is what everybody has"`
}

// Weight is the answer to PUT /shares/{scope}/{name}.
type Weight struct {
	Scope  string `json:"scope"`
	Name   string `json:"name"`
	Shares int64  `json:"shares"`
}

// Allocation is how GPUs are divided between the owners of guarantees and all others.
type Allocation struct {
	Mode  string  `json:"mode" doc:"dynamic: everybody may use everything; static: owners use what they own, others the rest; hybrid: a part is kept for owners within their guarantees"`
	Ratio float64 `json:"reserved_ratio" doc:"the part of the cluster that hybrid keeps, at most what is owned"`
	GPUs  int64   `json:"total_gpus"`
	Fit   int64   `json:"fit_gpus" doc:"healthy, and in service like their nodes: of these the ratio and what is left for all are reckoned"`
	Owned int64   `json:"owned_gpus" doc:"all guarantees together"`
	Kept  int64   `json:"kept_gpus" doc:"kept for owners although they are idle"`
	Lent  int64   `json:"borrowed_gpus" doc:"held beyond guarantees, by whomever"`
}

// SetAllocation is the body of PUT /orchestrator/allocation: what is left out stays.
type SetAllocation struct {
	Mode  string   `json:"mode,omitempty" doc:"dynamic, static or hybrid"`
	Ratio *float64 `json:"reserved_ratio,omitempty" doc:"above 0 and at most 1"`
}
