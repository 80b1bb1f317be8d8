package wire

import "time"

// EndedJob is a job that has ended.
type EndedJob struct {
	Job

	GPUHours         float64  `json:"gpu_hours" doc:"GPUs that were its own, each for as long as it was"`
	MeasuredGPUHours float64  `json:"measured_gpu_hours" doc:"for how long it was measured what its GPUs do"`
	IdleGPUHours     float64  `json:"idle_gpu_hours" doc:"for how long of these they did nothing"`
	Efficiency       *float64 `json:"efficiency_percent,omitempty" doc:"of that GPU time, what was not lost with attempts that did not complete; absent: it had no GPU"`
}

// ArchiveStanding is the status of the archive that an answer comes from.
type ArchiveStanding struct {
	CompleteTo uint64 `json:"complete_to" doc:"log index up to which this peer's archive lacks nothing; 0: it lacks something that other peers have"`
	Failing    bool   `json:"failing,omitempty" doc:"this peer's archive cannot be written at the moment; its log says why"`
}

// History is a page of the jobs that have ended, the one that ended last first.
type History struct {
	ArchiveStanding

	Jobs []EndedJob `json:"jobs" nullable:"false"`
	Next string     `json:"next,omitempty" doc:"the before of the next page; absent: there are no more"`
}

// Usage is the GPU-hours within a span of time.
type Usage struct {
	ArchiveStanding

	Since time.Time  `json:"since"`
	Until time.Time  `json:"until"`
	By    []string   `json:"by" nullable:"false" doc:"what the rows are told apart by"`
	Rows  []UsageRow `json:"rows" nullable:"false" doc:"the one that used most first"`
	Total UsageRow   `json:"total"`
	GPUs  int64      `json:"cluster_gpus" doc:"that the cluster has now; percent_of_cluster is of these"`
}

// UsageRow is the use of a user, a project or jobs of one name.
type UsageRow struct {
	User    string `json:"user,omitempty"`
	Project string `json:"project,omitempty"`
	Name    string `json:"name,omitempty" doc:"of jobs"`

	GPUHours   float64  `json:"gpu_hours" doc:"within the span; jobs that run count up to now"`
	Share      float64  `json:"percent_of_use" doc:"of what all have used"`
	OfCluster  float64  `json:"percent_of_cluster" doc:"of what there was to use"`
	LostHours  float64  `json:"lost_gpu_hours" doc:"of attempts that ended within the span and did not complete, after their last checkpoint"`
	Measured   float64  `json:"measured_gpu_hours" doc:"of attempts that have ended: within the span, for how long it was measured what their GPUs do"`
	Idle       float64  `json:"idle_gpu_hours" doc:"for how long of these they did nothing"`
	Jobs       int64    `json:"jobs" doc:"that ended within the span"`
	Failed     int64    `json:"failed"`
	Canceled   int64    `json:"canceled"`
	WaitMedian *float64 `json:"wait_p50_seconds,omitempty" doc:"of jobs that ended, from when they could have started to when they did; absent: none did"`
	WaitMost   *float64 `json:"wait_p95_seconds,omitempty"`
	GPUs       int64    `json:"gpus" doc:"in use now"`
}
