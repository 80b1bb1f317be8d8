package wire

import (
	"encoding/json"
	"time"
)

// SimulatedGPUs is the feature of a node whose GPUs are simulated.
const SimulatedGPUs = "simulated GPUs"

// Allocate is the body of POST /gpu/allocate.
type Allocate struct {
	Service  string          `json:"service_name,omitempty" doc:"letters, digits, dots, hyphens and underscores; begins the allocation's id"`
	Workload string          `json:"workload_type,omitempty" enum:"training,inference,embedding,ocr,graph_processing,generic" doc:"generic by default"`
	Data     json.RawMessage `json:"workload_data,omitempty" doc:"the service's own description of its work, returned as sent"`
	User     string          `json:"user,omitempty" doc:"whose quota it counts to"`
	Project  string          `json:"project,omitempty"`
	Priority *int64          `json:"priority,omitempty" minimum:"1" maximum:"10" doc:"1 to 10: 1 and 2 are low, 3 to 5 normal, 6 to 8 high, 9 and 10 critical; 5 by default"`

	GPUs      *int64   `json:"gpu_count,omitempty" minimum:"1" maximum:"64" doc:"all on one node; by default by the analysis of workload_data, else 1"`
	GPUType   string   `json:"gpu_type,omitempty" doc:"the GPU's model as the nodes report it, or several with | between them"`
	GPUMemory *float64 `json:"gpu_memory_gb,omitempty" doc:"least memory of each GPU"`
	Memory    *float64 `json:"memory_gb,omitempty" doc:"another name of gpu_memory_gb"`

	TTL  *Duration `json:"ttl,omitempty" doc:"how long it is held unless it is renewed; 1h by default, 0: until it is released"`
	TTLS *float64  `json:"ttl_seconds,omitempty" doc:"another name of ttl"`

	WebhookURL string   `json:"webhook_url,omitempty" doc:"an http or https URL that is notified when GPUs are allocated, and when they are lost"`
	Constraint string   `json:"constraint,omitempty" doc:"of its node's labels: zone=a, zone!=a, ssd or !spot, joined by commas"`
	Nodelist   []string `json:"nodelist,omitempty" empty:"never" nullable:"false" doc:"on one of these nodes only"`
	Exclude    []string `json:"exclude,omitempty" nullable:"false" doc:"not on these nodes"`
}

// AllocateForJob is the body of POST /cluster/gpu-allocate.
type AllocateForJob struct {
	JobID     string   `json:"job_id,omitempty" doc:"the holder: an allocation for a job of this cluster ends with the job, any other after a day unless it is renewed"`
	GPUs      *int64   `json:"gpu_count,omitempty" minimum:"1" maximum:"64" doc:"all on one node; by default by the analysis of workload_data, else 1"`
	GPUMemory *float64 `json:"gpu_memory_gb,omitempty" doc:"another name of memory_gb"`
	Memory    *float64 `json:"memory_gb,omitempty" doc:"least memory of each GPU"`
}

// Release is the body of POST /gpu/release.
type Release struct {
	AllocationID string `json:"allocation_id,omitempty"`
}

// ReleaseForJob is the body of POST /cluster/gpu-release.
type ReleaseForJob struct {
	JobID string `json:"job_id,omitempty"`
}

// RenewAllocation is the body of POST /gpu/allocations/{allocation_id}/renew.
type RenewAllocation struct {
	TTL  *Duration `json:"ttl,omitempty" doc:"from now on; by default as before"`
	TTLS *float64  `json:"ttl_seconds,omitempty" doc:"another name of ttl"`
}

// Allocated is the answer to requests for GPUs, and to changes of them.
type Allocated struct {
	Success      bool              `json:"success"`
	Status       string            `json:"status" enum:"queued,allocated,released,expired,lost"`
	Message      string            `json:"message"`
	RequestID    string            `json:"request_id" doc:"the allocation's id"`
	AllocationID string            `json:"allocation_id"`
	JobID        string            `json:"job_id,omitempty" doc:"of /cluster/gpu-allocate"`
	Allocation   ServiceAllocation `json:"allocation"`
	SubmittedAt  time.Time         `json:"submitted_at"`
	AllocatedAt  time.Time         `json:"allocated_at,omitzero"`
	WaitSeconds  float64           `json:"wait_time_seconds"`
	Position     int               `json:"queue_position,omitempty" doc:"among the waiting services"`
}

// ServiceAllocation is the GPUs that a service holds, or waits for.
type ServiceAllocation struct {
	ID          string          `json:"id"`
	Service     string          `json:"service_name"`
	Workload    string          `json:"workload_type"`
	Data        json.RawMessage `json:"workload_data,omitempty"`
	User        string          `json:"user"`
	Project     string          `json:"project,omitempty"`
	JobID       string          `json:"job_id,omitempty" doc:"the holder, of /cluster/gpu-allocate"`
	Status      string          `json:"status" enum:"queued,allocated,released,expired,lost"`
	Priority    int64           `json:"priority" doc:"as sent"`
	GPUs        int64           `json:"gpu_count"`
	GPUType     string          `json:"gpu_type,omitempty"`
	GPUMemoryGB float64         `json:"gpu_memory_gb,omitempty"`
	Constraint  string          `json:"constraint,omitempty"`
	Nodelist    []string        `json:"nodelist,omitempty" nullable:"false"`
	Exclude     []string        `json:"exclude,omitempty" nullable:"false"`
	WebhookURL  string          `json:"webhook_url,omitempty"`

	NodeID   string   `json:"node_id,omitempty"`
	Hostname string   `json:"hostname,omitempty"`
	GPUIDs   []int64  `json:"gpu_ids" nullable:"false" doc:"their numbers on the node"`
	Held     []GPURef `json:"allocated_gpus" nullable:"false"`

	SubmittedAt time.Time `json:"submitted_at"`
	AllocatedAt time.Time `json:"allocated_at,omitzero"`
	ExpiresAt   time.Time `json:"expires_at,omitzero" doc:"released then unless it is renewed; absent: when it is released"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
	TTLSeconds  float64   `json:"ttl_seconds,omitempty"`
	WaitSeconds float64   `json:"wait_time_seconds"`

	Position     int          `json:"queue_position,omitempty" doc:"among the waiting jobs and services"`
	PlannedStart *Range       `json:"planned_start,omitempty" doc:"when a waiting one is expected to get its GPUs; in the queue, and in answers about one allocation"`
	Explanation  *Explanation `json:"explanation,omitempty" doc:"of a waiting one, in answers about one allocation"`
}

// ServiceAllocations is the answer to GET /gpu/allocations.
type ServiceAllocations struct {
	Allocations []ServiceAllocation `json:"allocations" nullable:"false" doc:"by id"`
	Next        string              `json:"next,omitempty" doc:"value of ?after= for the next page"`
}

// GPUList is the answer to GET /gpu/list.
type GPUList struct {
	GPUs        []ListedGPU         `json:"gpus" nullable:"false"`
	Allocations []ServiceAllocation `json:"allocations" nullable:"false" doc:"of services that hold GPUs"`
	Queue       []ServiceAllocation `json:"queue" nullable:"false" doc:"of waiting services, in order"`
}

// ListedGPU is a GPU and the node that it is in.
type ListedGPU struct {
	NodeID   string `json:"node_id"`
	Hostname string `json:"hostname"`
	GPU
}

// Initialize is the body of POST /gpu/initialize.
type Initialize struct {
	Nodes *int64 `json:"node_count,omitempty"`
	GPUs  *int64 `json:"gpus_per_node,omitempty"`
}

// Initialized is the answer to POST /gpu/initialize.
type Initialized struct {
	Success       bool          `json:"success"`
	Message       string        `json:"message"`
	NodeCount     int64         `json:"node_count"`
	ClusterStatus ClusterStatus `json:"cluster_status"`
}
