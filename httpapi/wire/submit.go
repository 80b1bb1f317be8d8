package wire

import "github.com/berth-gpu/berth/slurm/request"

// Submit is the body of POST /queue/submit. Where two names are given for one
// thing, either may be used; both with different values are refused. What the fields mean and their bounds stand
// in the table of package intake.
type Submit struct {
	RunID   string `json:"run_id,omitempty"`
	Name    string `json:"name,omitempty"`
	User    string `json:"user,omitempty"`
	Project string `json:"project,omitempty"`

	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty" empty:"items" nullable:"false"`
	Script  string            `json:"script,omitempty"`
	Stdin   string            `json:"stdin,omitempty" empty:"text"`
	Env     map[string]string `json:"env,omitempty"`
	Shell   map[string]string `json:"submit_env,omitempty"`
	WorkDir string            `json:"workdir,omitempty"`

	GPUs        *int64   `json:"gpu_count,omitempty"`
	Nodes       *int64   `json:"nodes,omitempty"`
	GPUsPerNode *int64   `json:"gpus_per_node,omitempty"`
	MinGPUs     *int64   `json:"min_gpus,omitempty"`
	Lead        *bool    `json:"lead,omitempty"`
	GPUType     string   `json:"gpu_type,omitempty"`
	GPUMemory   *float64 `json:"gpu_memory_gb,omitempty"`
	Memory      *float64 `json:"memory_gb,omitempty"`
	CPUs        *int64   `json:"cpus,omitempty"`
	HostMemory  *float64 `json:"host_memory_gb,omitempty"`

	Constraint string   `json:"constraint,omitempty"`
	Nodelist   []string `json:"nodelist,omitempty" empty:"never" nullable:"false"`
	Exclude    []string `json:"exclude,omitempty" nullable:"false"`
	Placement  string   `json:"placement,omitempty"`

	Priority    *int64    `json:"priority,omitempty"`
	TimeLimit   *Duration `json:"time_limit,omitempty"`
	TimeLimitS  *float64  `json:"time_limit_seconds,omitempty"`
	Estimate    *Duration `json:"estimated_duration,omitempty"`
	EstimateS   *float64  `json:"estimated_duration_seconds,omitempty"`
	MaxRetries  *int64    `json:"max_retries,omitempty"`
	RetryOn     []int64   `json:"retry_on,omitempty" empty:"never" nullable:"false"`
	Preemptible *bool     `json:"preemptible,omitempty"`
	Hold        *bool     `json:"hold,omitempty"`

	OnLost           string    `json:"on_lost,omitempty"`
	DisconnectGrace  *Duration `json:"disconnect_grace,omitempty"`
	StopSignal       string    `json:"stop_signal,omitempty"`
	Grace            *Duration `json:"grace,omitempty"`
	CheckpointSignal string    `json:"checkpoint_signal,omitempty"`
	CheckpointGrace  *Duration `json:"checkpoint_grace,omitempty"`

	CheckpointInterval  *Duration `json:"checkpoint_interval,omitempty"`
	CheckpointIntervalS *float64  `json:"checkpoint_interval_seconds,omitempty"`
	CheckpointDir       string    `json:"checkpoint_dir,omitempty"`
	WarnSignal          string    `json:"warn_signal,omitempty"`
	WarnBefore          *Duration `json:"warn_before,omitempty"`
	IdleStop            *Duration `json:"idle_stop,omitempty"`
	Umask               string    `json:"umask,omitempty"`
	Attached            *Duration `json:"attached,omitempty"`

	Tasks      *int64 `json:"array_size,omitempty"`
	MaxRunning *int64 `json:"array_limit,omitempty"`

	Indices string   `json:"array_indices,omitempty"`
	Params  []string `json:"params,omitempty" empty:"never" nullable:"false"`

	Slurm *request.Request `json:"slurm,omitempty"`

	Dependencies []string `json:"dependencies,omitempty" nullable:"false"`
	Begin        string   `json:"begin,omitempty"`
	Deadline     string   `json:"deadline,omitempty"`

	WebhookURL string   `json:"webhook_url,omitempty"`
	Notify     []string `json:"notify,omitempty" empty:"never" nullable:"false"`
}

// Submitted is the answer to a submission.
type Submitted struct {
	Success       bool   `json:"success"`
	JobID         string `json:"job_id"`
	Job           Job    `json:"job"`
	QueuePosition int    `json:"queue_position" doc:"1 is next; 0 when the job does not wait any more"`
	PositionExact bool   `json:"position_exact"`

	PlannedStart  *Range       `json:"planned_start,omitempty" doc:"when it is expected to start; absent if that was not predicted"`
	IfPreemptible *Range       `json:"planned_start_if_preemptible,omitempty" doc:"the same if the job were preemptible, if that is sooner"`
	OnLost        string       `json:"on_lost,omitempty" doc:"what becomes of the job if the cluster loses contact to its node: hold (it waits for the node, or for an operator), requeue or fail"`
	Warnings      []string     `json:"warnings,omitempty" nullable:"false" doc:"possible mistakes: limits that are too low for its GPUs even without other jobs, so that it may never start, and nodes in nodelist or exclude that the cluster does not have"`
	Late          bool         `json:"late,omitempty" doc:"it is not expected to start before its deadline, at which it fails"`
	DryRun        bool         `json:"dry_run,omitempty" doc:"nothing was queued"`
	Explanation   *Explanation `json:"explanation,omitempty" doc:"of a dry run: why it would wait"`
}

// SetPriority is the body of PATCH /queue/{job_id}/priority.
type SetPriority struct {
	Priority *int64 `json:"priority,omitempty" minimum:"1" maximum:"10" doc:"1 low, 2 normal, 3 high, 4 critical; 5 to 10 as at submission. It ends a place that before has given"`
	Before   string `json:"before,omitempty" maxLength:"32" doc:"in place of priority, from operators: another job that waits; the job goes directly ahead of that one in the order of the queue, and keeps the place when that one has left"`
}

// Extend is the body of POST /queue/{job_id}/extend: one of the two.
type Extend struct {
	TimeLimit *Duration `json:"time_limit,omitempty" doc:"the new limit, from the start of an attempt"`
	By        *Duration `json:"by,omitempty" doc:"additional time"`
}

// SetMode is the body of PUT /nodes/{node_id}/mode and PUT /gpus/{uuid}/mode.
type SetMode struct {
	Mode   string `json:"mode" enum:"open,cordoned,draining" doc:"cordoned gets no new work; draining also stops running jobs and returns them to the queue"`
	Reason string `json:"reason,omitempty" empty:"text" maxLength:"512"`
}

// SetLabels is the body of PATCH /nodes/{node_id}/labels. Labels without a value in it stay
// unchanged.
type SetLabels struct {
	Set    map[string]string `json:"set,omitempty" doc:"labels of the node from now on, with precedence over its agent's"`
	Remove []string          `json:"remove,omitempty" nullable:"false" doc:"keys of labels that it does not have"`
}

// ConfirmDead is the body of POST /nodes/{node_id}/confirm-dead.
type ConfirmDead struct {
	Epoch  *int64 `json:"epoch" doc:"the node's epoch in GET /nodes: if the node has come back since, nothing is done"`
	Reason string `json:"reason,omitempty" empty:"text" maxLength:"512"`
}

// NodeDone is the answer to a change of a node or a GPU.
type NodeDone struct {
	Success bool     `json:"success"`
	NodeID  string   `json:"node_id,omitempty"`
	Message string   `json:"message"`
	Jobs    []string `json:"affected_jobs" nullable:"false" doc:"tasks that run there"`
}

// Done is the answer to a change of a job.
type Done struct {
	Success bool   `json:"success"`
	JobID   string `json:"job_id,omitempty"`
	State   string `json:"state,omitempty" doc:"present state of the job"`
	Message string `json:"message,omitempty"`
}
