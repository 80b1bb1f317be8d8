package wire

// Workload describes a workload whose needs are to be estimated. All of it may be left out.
type Workload struct {
	ServiceName string `json:"service_name,omitempty" doc:"name of the service; earlier runs of jobs of this name count"`
	Type        string `json:"workload_type,omitempty" doc:"training, inference, embedding, ocr, graph_processing or generic (the default)"`
	// Data is the service's own: known fields are read, the others ignored.
	Data map[string]any `json:"workload_data,omitempty" nullable:"false" doc:"model_size, batch_size, precision, sequence_length, optimizer, ...; unknown fields are ignored"`
	User string         `json:"user,omitempty" doc:"only this user's earlier runs count; of all users by default"`
	GPU  string         `json:"gpu_type,omitempty" doc:"only this model of GPU"`
}

// WorkloadPlan is what a workload needs, and why.
type WorkloadPlan struct {
	ServiceName string   `json:"service_name,omitempty"`
	Type        string   `json:"workload_type"`
	GPUs        int64    `json:"gpu_count"`
	MemoryMB    int64    `json:"memory_mb" doc:"of each GPU"`
	MemoryGB    float64  `json:"memory_gb" doc:"the same, of 1,024 MB"`
	GPUType     string   `json:"gpu_type,omitempty" doc:"the model for which the count was computed; others with the same memory are suitable, too"`
	Priority    int64    `json:"priority" doc:"1 to 10, as for services"`
	Duration    float64  `json:"estimated_duration_seconds"`
	Fits        bool     `json:"fits" doc:"the cluster has such GPUs, in use or not"`
	Reasoning   []string `json:"reasoning" nullable:"false"`
	// Sources names the source of each value: a formula, a default, history, or an adviser by its
	// name.
	Sources  map[string]string `json:"sources" nullable:"false"`
	Ignored  []string          `json:"ignored_fields,omitempty" nullable:"false" doc:"fields of workload_data that are not used"`
	Advisers []Adviser         `json:"advisers,omitempty" nullable:"false"`
}

// Adviser is another service that was asked for advice.
type Adviser struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome" enum:"taken,overruled,useless,failed,skipped"`
	Detail  string `json:"detail,omitempty"`
}
