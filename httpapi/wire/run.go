package wire

import "time"

// Run is the answer to GET /runs/{run_id}: the newest job of a run, in the terms of experiment
// trackers.
type Run struct {
	ID       string `json:"id" doc:"the run's id"`
	RunID    string `json:"run_id"`
	JobID    string `json:"job_id"`
	Name     string `json:"name,omitempty"`
	User     string `json:"user"`
	Command  string `json:"command,omitempty" doc:"absent also if the caller may not see it"`
	State    string `json:"state"`
	Status   string `json:"status" doc:"another name of state"`
	ExitCode *int64 `json:"exit_code,omitempty"`

	Allocation RunAllocation `json:"gpuAllocation"`
	Queue      RunQueue      `json:"queueInfo"`
	Metadata   RunMetadata   `json:"orchestrationMetadata"`

	Job  Job   `json:"job"`
	Runs []Run `json:"runs,omitempty" nullable:"false" doc:"all jobs of the run, newest first; with ?all=true"`
}

// RunAllocation is the GPUs that a run asked for and has.
type RunAllocation struct {
	Requested int64     `json:"requestedGpus"`
	MemoryGB  float64   `json:"requestedMemoryGb"`
	GPUs      []RunGPU  `json:"allocatedGpus" nullable:"false" doc:"while it runs"`
	At        time.Time `json:"allocationTime,omitzero" doc:"of the newest attempt"`
}

// RunGPU is a GPU of a run.
type RunGPU struct {
	NodeID   string  `json:"nodeId"`
	GPUID    int64   `json:"gpuId"`
	MemoryGB float64 `json:"memoryGb"`
	UUID     string  `json:"uuid"`
}

// RunQueue is the place of a run in the queue.
type RunQueue struct {
	QueuedAt time.Time `json:"queuedAt"`
	Position int       `json:"queuePosition" doc:"0 once it does not wait"`
	Start    time.Time `json:"estimatedStartTime,omitzero" doc:"absent: it cannot be predicted"`
}

// RunMetadata is how a run is scheduled.
type RunMetadata struct {
	Policy     string `json:"schedulingPolicy"`
	Priority   int64  `json:"priority"`
	Retries    int64  `json:"retryCount"`
	MaxRetries int64  `json:"maxRetries"`
}

// ClusterState is the answer to GET /cluster/state.
type ClusterState struct {
	GPUs GPUResources `json:"gpuResources"`
	Ray  RayCluster   `json:"rayCluster"`
}

// GPUResources is the cluster's GPUs by node.
type GPUResources struct {
	Total     int64           `json:"totalGpus"`
	Available int64           `json:"availableGpus"`
	Allocated int64           `json:"allocatedGpus"`
	Nodes     []NodeResources `json:"nodes" nullable:"false"`
}

// NodeResources is a node's GPUs.
type NodeResources struct {
	NodeID   string        `json:"nodeId"`
	Hostname string        `json:"hostname"`
	GPUCount int64         `json:"gpuCount"`
	GPUType  string        `json:"gpuType"`
	GPUs     []GPUResource `json:"gpus" nullable:"false"`
}

// GPUResource is one GPU.
type GPUResource struct {
	ID          int64   `json:"id"`
	Total       float64 `json:"memoryTotal" doc:"GB"`
	Used        float64 `json:"memoryUsed" doc:"GB"`
	Utilization float64 `json:"utilization" doc:"percent"`
	Temperature float64 `json:"temperature,omitempty" doc:"degrees Celsius"`
	AllocatedTo string  `json:"allocatedTo,omitempty"`
}

// RayCluster is the state of Ray, which Berth does not use: its own agents run jobs.
type RayCluster struct {
	HeadNode  string `json:"headNode" doc:"empty: none"`
	Connected bool   `json:"connected"`
	Version   string `json:"version" doc:"empty: none"`
	Workers   int64  `json:"workers"`
}

// QueuedJob is a waiting job, in the terms of experiment trackers.
type QueuedJob struct {
	ID       string    `json:"id"`
	RunID    string    `json:"runId"`
	User     string    `json:"user"`
	Priority int64     `json:"priority"`
	GPUs     int64     `json:"requestedGpus"`
	QueuedAt time.Time `json:"queuedAt"`
	Wait     *float64  `json:"estimatedWaitTime,omitempty" doc:"seconds from now; absent: it cannot be predicted"`
}
