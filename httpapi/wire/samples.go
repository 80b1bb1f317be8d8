package wire

import (
	"time"
)

// Samples is the answer to GET /gpu/samples: the newest telemetry of all GPUs in columns, which have one value for each GPU. The GPUs are
// in the order of GET /nodes: by node, and by their numbers on the node. A value without telemetry is null.
type Samples struct {
	Layout string `json:"layout" doc:"names the nodes and GPUs in their order: read GET /nodes again when it is another than there"`
	GPUs   int64  `json:"gpus" doc:"the length of each column"`

	UtilizationPercent []*int64   `json:"utilization_percent" nullable:"false"`
	MemoryUsedGB       []*float64 `json:"memory_used_gb" nullable:"false"`
	TemperatureCelsius []*int64   `json:"temperature_celsius" nullable:"false"`
	PowerWatts         []*int64   `json:"power_watts" nullable:"false"`
	IdleHeldSeconds    []*int64   `json:"idle_held_seconds" nullable:"false" doc:"for how long the job that holds the GPU has left it at 0 %"`
	AgeSeconds         []*float64 `json:"age_seconds" nullable:"false" doc:"of the telemetry"`

	Warnings map[string]string `json:"warnings,omitempty" doc:"anomalies that are no faults, by the place in the columns"`
}

// ClusterHistory is the answer to GET /cluster/history: values of the last 24 hours in columns.
type ClusterHistory struct {
	Start  time.Time             `json:"start" doc:"the begin of the first step"`
	Step   int64                 `json:"step" doc:"seconds"`
	Series map[string][]*float64 `json:"series" doc:"by name, one value for each step, null where there is none; the name ends with the unit unless the series counts things"`
}

// SubmitOptions is the answer to GET /submit/options: what the caller can ask for in a submission.
type SubmitOptions struct {
	User         string        `json:"user" doc:"in whose name the caller submits; empty without authentication: any"`
	AnyUser      bool          `json:"any_user,omitempty" doc:"the caller may submit in the name of others"`
	Projects     []string      `json:"projects" nullable:"false" doc:"that the caller may submit in; without authentication and for operators those that are known"`
	AnyProject   bool          `json:"any_project,omitempty" doc:"the caller may submit in others, too"`
	Submits      bool          `json:"submits" doc:"the caller's role allows submissions"`
	MostPriority int64         `json:"max_priority" doc:"the highest that the caller may ask for"`
	GPUTypes     []GPUType     `json:"gpu_types" nullable:"false" doc:"by name"`
	Labels       []NodeLabel   `json:"labels" nullable:"false" doc:"of nodes, for constraint; by key"`
	Nodes        []string      `json:"nodes" nullable:"false" doc:"for nodelist and exclude"`
	MostOnNode   int64         `json:"max_gpus_per_node" doc:"GPUs of the largest node"`
	MostCPUs     int64         `json:"max_cpus_per_node"`
	MostMemoryGB float64       `json:"max_memory_gb_per_node" doc:"main memory of the largest node"`
	Limits       []Quota       `json:"limits" nullable:"false" doc:"of the cluster, the user and these projects, with their use"`
	Defaults     []SubmitValue `json:"defaults" nullable:"false" doc:"what a job gets that does not say: the settings jobs.*"`

	Partitions []Partition `json:"partitions,omitempty" nullable:"false" doc:"of jobs in Slurm's language"`
	QOS        []Partition `json:"qos,omitempty" nullable:"false" doc:"of jobs in Slurm's language"`
}

// GPUType is a type of GPU that the cluster has.
type GPUType struct {
	Name     string  `json:"name"`
	GPUs     int64   `json:"gpus"`
	Free     int64   `json:"free"`
	MemoryGB float64 `json:"memory_gb" doc:"of the largest"`
	Nodes    int64   `json:"nodes" doc:"that have some"`
}

// NodeLabel is a label of nodes.
type NodeLabel struct {
	Key    string   `json:"key"`
	Values []string `json:"values" nullable:"false" doc:"empty for a label without a value"`
	Nodes  int64    `json:"nodes" doc:"that have it"`
}

// SubmitValue is a default of jobs.
type SubmitValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Range string `json:"range"`
	What  string `json:"description"`
}
