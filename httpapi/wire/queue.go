package wire

import "time"

// Queue is the answer to GET /queue: what waits, in the order in which jobs are tried, what runs,
// and what ended last.
type Queue struct {
	Queued     []Job               `json:"queued" nullable:"false"`
	QueuedJobs []QueuedJob         `json:"queuedJobs,omitzero" nullable:"false" doc:"the same jobs with fewer fields; absent with ?brief=true"`
	Services   []ServiceAllocation `json:"services" nullable:"false" doc:"services that wait among these jobs, at their positions"`
	Running    []Job               `json:"running" nullable:"false" doc:"from scheduled to running"`
	Ended      []Job               `json:"ended,omitempty" nullable:"false" doc:"newest first; with ?ended="`
	Statistics Statistics          `json:"statistics"`
	Next       string              `json:"next,omitempty" doc:"value of ?after= for the next page"`
	Policy     string              `json:"policy"`

	QueuedTotal  *int64 `json:"queued_total,omitempty" doc:"with ?count=true: how many waiting jobs and services match, on all pages"`
	RunningTotal *int64 `json:"running_total,omitempty" doc:"with ?count=true: how many running jobs match, on all pages"`
}

// Statistics is the answer to GET /queue/statistics. Counts of what has ended are
// over the cluster's life.
type Statistics struct {
	TotalJobs int64 `json:"total_jobs"`
	Queued    int64 `json:"queued"`
	Running   int64 `json:"running" doc:"from scheduled to running"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Canceled  int64 `json:"canceled"`

	TotalQueued        int64   `json:"totalQueued"`
	AverageWaitTime    float64 `json:"averageWaitTime" doc:"mean time from when a task could have begun to its first start, in seconds"`
	QueueThroughput    float64 `json:"queueThroughput" doc:"jobs ended in the last hour"`
	AverageWaitSeconds float64 `json:"average_wait_seconds"`
	JobsPerHour        float64 `json:"jobs_per_hour" doc:"tasks that have ended in the last hour of the cluster's clock"`
	Attempts           int64   `json:"attempts"`
	LostAttempts       int64   `json:"lost_attempts"`
	Preempted          int64   `json:"preempted"`
	GPUSeconds         int64   `json:"gpu_seconds"`
}

// Orchestrator is the answer to GET /orchestrator/status.
type Orchestrator struct {
	Running          bool         `json:"running" doc:"placements are made"`
	Policy           string       `json:"policy"`
	Leader           string       `json:"leader,omitempty"`
	Stats            SchedStats   `json:"stats"`
	ResourceSummary  Resources    `json:"resource_summary"`
	QueueSummary     QueueSummary `json:"queue_summary"`
	AveragePassMicro float64      `json:"average_pass_microseconds,omitempty" doc:"of this leader's scheduling passes"`
}

// SchedStats counts what was scheduled; cycles are those of the present leader.
type SchedStats struct {
	JobsScheduled    int64 `json:"jobs_scheduled"`
	JobsCompleted    int64 `json:"jobs_completed"`
	JobsFailed       int64 `json:"jobs_failed"`
	SchedulingCycles int64 `json:"scheduling_cycles"`
}

// Resources counts GPUs.
type Resources struct {
	TotalGPUs     int64 `json:"total_gpus"`
	AvailableGPUs int64 `json:"available_gpus"`
	AllocatedGPUs int64 `json:"allocated_gpus" doc:"held by jobs and services, or being cleaned up after them"`
	UnhealthyGPUs int64 `json:"unhealthy_gpus"`
}

// QueueSummary counts jobs.
type QueueSummary struct {
	TotalJobs int64 `json:"total_jobs"`
	Queued    int64 `json:"queued"`
	Running   int64 `json:"running"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Canceled  int64 `json:"canceled"`
}

// Switched is the answer to POST /orchestrator/start and stop.
type Switched struct {
	Success bool      `json:"success"`
	Running bool      `json:"running"`
	At      time.Time `json:"at"`
	Message string    `json:"message"`
}
