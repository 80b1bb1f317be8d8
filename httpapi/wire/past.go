package wire

import "time"

// EndedJob is a job that has ended.
type EndedJob struct {
	Job

	GPUHours         float64  `json:"gpu_hours" doc:"GPU-hours that it held"`
	MeasuredGPUHours float64  `json:"measured_gpu_hours" doc:"the time with telemetry of its GPUs"`
	IdleGPUHours     float64  `json:"idle_gpu_hours" doc:"the part of these in which the GPUs were idle"`
	Efficiency       *float64 `json:"efficiency_percent,omitempty" doc:"the part of that GPU time that was not lost with attempts that did not complete; absent: it had no GPU"`
}

// ArchiveStanding is the status of the archive that an answer comes from.
type ArchiveStanding struct {
	CompleteTo uint64 `json:"complete_to" doc:"log index up to which this peer's archive is complete; 0: other peers have records that are missing here"`
	Failing    bool   `json:"failing,omitempty" doc:"this peer's archive cannot be written at the moment; the cause is in its log"`
}

// History is a page of the jobs that have ended, the one that ended last first.
type History struct {
	ArchiveStanding

	Jobs []EndedJob `json:"jobs" nullable:"false"`
	Next string     `json:"next,omitempty" doc:"value of ?before= for the next page; absent: there are no more"`

	Total *int64 `json:"total,omitempty" doc:"with ?count=true: how many match, on all pages"`
}

// Usage is the GPU-hours within a span of time.
type Usage struct {
	ArchiveStanding

	Since time.Time  `json:"since"`
	Until time.Time  `json:"until"`
	By    []string   `json:"by" nullable:"false" doc:"the columns by which rows are grouped"`
	Rows  []UsageRow `json:"rows" nullable:"false" doc:"the highest use first"`
	Total UsageRow   `json:"total"`
	GPUs  int64      `json:"cluster_gpus" doc:"that the cluster has now; percent_of_cluster is of these"`
}

// UsageRow is the use of a user, a project or jobs of one name.
type UsageRow struct {
	User    string `json:"user,omitempty"`
	Project string `json:"project,omitempty"`
	Name    string `json:"name,omitempty" doc:"of jobs"`

	GPUHours   float64  `json:"gpu_hours" doc:"within the span; jobs that run count up to now"`
	Share      float64  `json:"percent_of_use" doc:"of the use of all"`
	OfCluster  float64  `json:"percent_of_cluster" doc:"of the GPU time of the cluster"`
	LostHours  float64  `json:"lost_gpu_hours" doc:"of attempts that ended within the span and did not complete, after their last checkpoint"`
	Measured   float64  `json:"measured_gpu_hours" doc:"of ended attempts: the time within the span with telemetry of their GPUs"`
	Idle       float64  `json:"idle_gpu_hours" doc:"the part of these in which the GPUs were idle"`
	Jobs       int64    `json:"jobs" doc:"that ended within the span"`
	Failed     int64    `json:"failed"`
	Canceled   int64    `json:"canceled"`
	WaitMedian *float64 `json:"wait_p50_seconds,omitempty" doc:"of ended jobs, from when they could have started to their start; absent: no job started"`
	WaitMost   *float64 `json:"wait_p95_seconds,omitempty"`
	GPUs       int64    `json:"gpus" doc:"in use now"`
}
