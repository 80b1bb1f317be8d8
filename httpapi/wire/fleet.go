package wire

import "time"

// GPUStatus is the answer to GET /gpu/status.
type GPUStatus struct {
	ClusterStatus ClusterStatus `json:"cluster_status"`
	Nodes         []Node        `json:"nodes" nullable:"false"`
}

// ClusterStatus sums up the GPUs.
type ClusterStatus struct {
	TotalGPUs          int64   `json:"total_gpus"`
	AvailableGPUs      int64   `json:"available_gpus"`
	AllocatedGPUs      int64   `json:"allocated_gpus"`
	UnhealthyGPUs      int64   `json:"unhealthy_gpus"`
	UtilizationPercent float64 `json:"utilization_percent" doc:"allocated part of the healthy GPUs"`
	BusyPercent        float64 `json:"busy_percent" doc:"mean of the GPUs' telemetry; 0 without telemetry"`
}

// Nodes is the answer to GET /nodes.
type Nodes struct {
	Nodes []Node `json:"nodes" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"value of ?after= for the next page; absent: there are no more"`
	Total *int64 `json:"total,omitempty" doc:"with ?count=true: how many match, on all pages"`

	Layout string `json:"layout,omitempty" doc:"names all nodes and GPUs in their usual order: that of the columns of GET /gpu/samples with the same layout"`

	Partitions []Partition `json:"partitions,omitempty" nullable:"false" doc:"of jobs in Slurm's language (jobs.partitions)"`
	QOS        []Partition `json:"qos,omitempty" nullable:"false" doc:"of jobs in Slurm's language (jobs.qos)"`
}

// NodeDetail is the answer to GET /nodes/{node_id}.
type NodeDetail struct {
	Node

	Running []Job `json:"running" nullable:"false" doc:"jobs that run there or are about to, oldest first, at most 1000; of an array the job as a whole"`
}

// Partition is what the name of a partition or a QOS means for jobs in Slurm's language.
type Partition struct {
	Name       string   `json:"name"`
	Default    bool     `json:"default,omitempty" doc:"of jobs that name none"`
	Constraint string   `json:"constraint,omitempty" doc:"of the labels of its nodes"`
	Nodes      []string `json:"nodes,omitempty" nullable:"false" doc:"that have these labels"`

	MaxTimeSeconds     float64 `json:"max_time_seconds,omitempty" doc:"the longest time limit; jobs without one get the default, else this"`
	DefaultTimeSeconds float64 `json:"default_time_seconds,omitempty"`
	MaxGPUs            int64   `json:"max_gpus,omitempty" doc:"of a job"`
	MaxNodes           int64   `json:"max_nodes,omitempty" doc:"of a job"`
	Priority           int64   `json:"priority,omitempty" doc:"of jobs that set none: 1 low, 2 normal, 3 high"`
}

// Node is a GPU host.
type Node struct {
	ID         string    `json:"node_id"`
	Hostname   string    `json:"hostname"`
	State      string    `json:"state" enum:"up,suspect,dead,cordoned,draining,degraded" doc:"degraded: its agent cannot start jobs, for the reason in reason"`
	Reason     string    `json:"reason,omitempty" doc:"why an operator has closed it, why its agent cannot start jobs, and of another agent that registers as this node"`
	Version    string    `json:"version,omitempty"`
	CPUs       int64     `json:"cpus"`
	MemoryGB   float64   `json:"memory_gb"`
	CPURoom    int64     `json:"cpu_room" doc:"cores for jobs without GPUs: all of a node without GPUs, cpu_share percent of others"`
	CPUsHeld   int64     `json:"cpus_held" doc:"cores that jobs without GPUs hold"`
	MemoryRoom float64   `json:"memory_room_gb" doc:"memory for jobs without GPUs"`
	MemoryHeld float64   `json:"memory_held_gb" doc:"memory that jobs without GPUs hold"`
	GPUCount   int64     `json:"gpu_count"`
	FreeGPUs   int64     `json:"free_gpus"`
	GPUType    string    `json:"gpu_type,omitempty"`
	Jobs       int64     `json:"jobs" doc:"ranks that run there or are about to"`
	Gossip     string    `json:"gossip,omitempty" enum:"alive,silent,left" doc:"what the other members say of it: silent ones get no new work; a hint, absent without gossip"`
	Health     string    `json:"health" doc:"ok, or how many GPUs are out of service, that its agent cannot start jobs, or that two agents run for the node"`
	Epoch      int64     `json:"epoch" doc:"counts its registrations"`
	Features   string    `json:"features,omitempty" doc:"the host's features for the isolation of jobs"`
	Accounts   string    `json:"accounts" enum:"shared,users,own" doc:"unix accounts of jobs: shared, all under the agent's; users, each under its user's; own, under the agent's, and only jobs of the user of the same name"`
	Account    string    `json:"account,omitempty" doc:"the unix account of its agent"`
	Labels     Labels    `json:"labels,omitempty" doc:"of its agent and of operators"`
	Registered time.Time `json:"registered_at"`
	LastSeen   time.Time `json:"last_seen_at" doc:"by the cluster's clock"`
	GPUs       []GPU     `json:"gpus" nullable:"false"`

	Reservations []Reservation `json:"reservations,omitempty" nullable:"false" doc:"that name the node: maintenances, too"`
}

// HealthTwoAgents is the health of a node for which a second agent registers again and again.
const HealthTwoAgents = "two agents"

// Labels are the labels of a node.
type Labels map[string]string

// GPU is one GPU of a node, with its last telemetry.
type GPU struct {
	Index       int64   `json:"gpu_id" doc:"its number on the node"`
	UUID        string  `json:"uuid"`
	Type        string  `json:"gpu_type"`
	MemoryGB    float64 `json:"memory_gb"`
	State       string  `json:"state" doc:"free, allocated, cleaning, claimed, foreign or unhealthy"`
	Health      string  `json:"health"`
	Reason      string  `json:"reason,omitempty"`
	Warning     string  `json:"warning,omitempty" doc:"an anomaly that is not a fault"`
	Mode        string  `json:"mode,omitempty" doc:"cordoned or draining, if an operator has set that"`
	ModeReason  string  `json:"mode_reason,omitempty"`
	AllocatedTo string  `json:"allocated_to,omitempty" doc:"the job's id, or the service's allocation; for an allocation for a job, that job's id"`
	User        string  `json:"user,omitempty"`

	UtilizationPercent float64  `json:"utilization_percent"`
	MemoryUsedGB       float64  `json:"memory_used_gb"`
	TemperatureCelsius float64  `json:"temperature_celsius,omitempty"`
	PowerWatts         float64  `json:"power_watts,omitempty"`
	AgeSeconds         *float64 `json:"telemetry_age_seconds,omitempty" doc:"absent without telemetry"`
}

// NodeHistory is the answer to GET /nodes/{node_id}/gpus/history: what a node's GPUs
// measured in the last minutes, in steps of one length.
type NodeHistory struct {
	Node        string       `json:"node_id"`
	From        time.Time    `json:"from" doc:"by the node's clock"`
	StepSeconds float64      `json:"step_seconds"`
	Steps       int64        `json:"steps" doc:"each GPU has a point for each step with telemetry"`
	GPUs        []GPUHistory `json:"gpus" nullable:"false"`
}

// GPUHistory is what one GPU measured.
type GPUHistory struct {
	Index  int64      `json:"gpu_id" doc:"its number on the node"`
	UUID   string     `json:"uuid"`
	Points []GPUPoint `json:"points" nullable:"false" doc:"the oldest first; there is none for a step without telemetry"`
}

// GPUPoint is what a GPU measured in a step.
type GPUPoint struct {
	Step               int64    `json:"step" doc:"from 0"`
	UtilizationPercent *float64 `json:"utilization_percent,omitempty" doc:"mean; absent where a part of a GPU does not measure it"`
	MemoryUsedGB       float64  `json:"memory_used_gb" doc:"most"`
	TemperatureCelsius float64  `json:"temperature_celsius" doc:"most"`
	PowerWatts         float64  `json:"power_watts" doc:"mean"`
}
