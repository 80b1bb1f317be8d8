package wire

// Submit is the body of POST /queue/submit. Where two names are given for one
// thing, either may be used; both with different values are refused.
type Submit struct {
	RunID   string `json:"run_id,omitempty" doc:"the user's own name of the run; may repeat"`
	Name    string `json:"name,omitempty" doc:"of the job, for lists"`
	User    string `json:"user,omitempty" doc:"the job's user"`
	Project string `json:"project,omitempty"`

	Command string            `json:"command,omitempty" doc:"a shell command"`
	Args    []string          `json:"args,omitempty" empty:"items" nullable:"false" doc:"a program and its arguments, run without a shell, in place of command"`
	Script  string            `json:"script,omitempty" doc:"a script that is run as a file; command then holds its arguments"`
	Stdin   string            `json:"stdin,omitempty" empty:"text" doc:"standard input of rank 0 of each attempt, as base64 of at most 49152 bytes; none by default"`
	Env     map[string]string `json:"env,omitempty" doc:"environment variables"`
	WorkDir string            `json:"workdir,omitempty" doc:"absolute path on the node; by default the attempt's own folder"`

	GPUs        *int64   `json:"gpu_count,omitempty" minimum:"1" maximum:"8192" doc:"GPUs in all; 1 by default"`
	Nodes       *int64   `json:"nodes,omitempty" minimum:"1" maximum:"1024" doc:"number of nodes, with equal numbers of GPUs"`
	GPUsPerNode *int64   `json:"gpus_per_node,omitempty" minimum:"1" maximum:"64"`
	MinGPUs     *int64   `json:"min_gpus,omitempty" minimum:"1" maximum:"8192" doc:"it takes fewer GPUs if not all are available, but at least this many; with nodes, whole nodes fewer"`
	GPUType     string   `json:"gpu_type,omitempty" doc:"words of the GPU's model, such as h100 or 'h100 80gb', in any case, or several with | between them"`
	GPUMemory   *float64 `json:"gpu_memory_gb,omitempty" doc:"least memory of each GPU"`
	Memory      *float64 `json:"memory_gb,omitempty" doc:"another name of gpu_memory_gb"`
	CPUs        *int64   `json:"cpus,omitempty" minimum:"1" maximum:"65536" doc:"limit of CPU cores on each node"`
	HostMemory  *float64 `json:"host_memory_gb,omitempty" doc:"limit of main memory on each node"`

	Constraint string   `json:"constraint,omitempty" doc:"of its nodes' labels: zone=a, zone!=a, ssd or !spot, joined by commas"`
	Nodelist   []string `json:"nodelist,omitempty" empty:"never" nullable:"false" doc:"on these nodes only; gpu[01-04] stands for four"`
	Exclude    []string `json:"exclude,omitempty" nullable:"false" doc:"not on these nodes"`
	Placement  string   `json:"placement,omitempty" doc:"strategy to choose among suitable nodes: best_fit, spread, round_robin or least_loaded; by default the cluster's"`

	Priority    *int64    `json:"priority,omitempty" minimum:"1" maximum:"10" doc:"1 low, 2 normal, 3 high, 4 critical; 5 is normal, too, 6 to 8 are high, 9 and 10 critical; 2 by default"`
	TimeLimit   *Duration `json:"time_limit,omitempty" doc:"run time after which the job is stopped"`
	TimeLimitS  *float64  `json:"time_limit_seconds,omitempty" doc:"another name of time_limit"`
	Estimate    *Duration `json:"estimated_duration,omitempty" doc:"the user's estimate of the run time"`
	EstimateS   *float64  `json:"estimated_duration_seconds,omitempty" doc:"another name of estimated_duration"`
	MaxRetries  *int64    `json:"max_retries,omitempty" minimum:"0" maximum:"1000" doc:"further attempts after a failure of the job itself; by default the cluster's max_retries, which is 0 at first"`
	RetryOn     []int64   `json:"retry_on,omitempty" empty:"never" nullable:"false" doc:"exit codes that are retried, with 128 plus the number for a signal; any failure by default"`
	Preemptible *bool     `json:"preemptible,omitempty" doc:"it may be suspended for others; by default the value in the quota of its user, its project or the cluster, else true if it has a checkpoint_signal"`
	Hold        *bool     `json:"hold,omitempty" doc:"wait for a release before the first start"`

	OnLost           string    `json:"on_lost,omitempty" doc:"what to do when a node is lost: requeue, hold or fail"`
	DisconnectGrace  *Duration `json:"disconnect_grace,omitempty" doc:"how long a node may be out of contact; 5m by default"`
	StopSignal       string    `json:"stop_signal,omitempty" doc:"TERM by default"`
	Grace            *Duration `json:"grace,omitempty" doc:"from the stop signal to the kill; 30s by default"`
	CheckpointSignal string    `json:"checkpoint_signal,omitempty" doc:"sent before the stop signal"`
	CheckpointGrace  *Duration `json:"checkpoint_grace,omitempty" doc:"from the checkpoint signal to the stop signal"`

	CheckpointInterval  *Duration `json:"checkpoint_interval,omitempty" doc:"the checkpoint signal is sent this often while the job runs"`
	CheckpointIntervalS *float64  `json:"checkpoint_interval_seconds,omitempty" doc:"another name of checkpoint_interval"`
	CheckpointDir       string    `json:"checkpoint_dir,omitempty" doc:"absolute path under which each attempt gets a folder of its own, best on storage that all nodes share"`
	WarnSignal          string    `json:"warn_signal,omitempty" doc:"sent ahead of the time limit"`
	WarnBefore          *Duration `json:"warn_before,omitempty" doc:"how far ahead of it; 1m by default"`
	IdleStop            *Duration `json:"idle_stop,omitempty" doc:"cancel the job once all its GPUs were at 0 % for this time; 0: never; by default the cluster's setting"`
	Attached            *Duration `json:"attached,omitempty" doc:"cancel the job after this time without contact to its client (POST /jobs/{job_id}/attach)"`

	Tasks      *int64 `json:"array_size,omitempty" minimum:"1" maximum:"10000" doc:"number of tasks, which differ in BERTH_ARRAY_INDEX"`
	MaxRunning *int64 `json:"array_limit,omitempty" minimum:"1" maximum:"10000" doc:"the most that run at once"`

	Indices string   `json:"array_indices,omitempty" doc:"the tasks' numbers, in place of array_size: 0-99:10 or 3,7,9-12"`
	Params  []string `json:"params,omitempty" empty:"never" nullable:"false" doc:"a sweep: an array over the grid of lines such as lr=1e-3,1e-4 and seed=1..5"`

	Dependencies []string `json:"dependencies,omitempty" nullable:"false" doc:"earlier jobs that it waits for: afterok:12:13, afterany:14 or afternotok:15"`
	Begin        string   `json:"begin,omitempty" doc:"earliest start: an RFC 3339 time, or +2h"`
	Deadline     string   `json:"deadline,omitempty" doc:"the job fails if it has not ended by then: an RFC 3339 time, or +2h"`

	WebhookURL string   `json:"webhook_url,omitempty" doc:"gets the job's events"`
	Notify     []string `json:"notify,omitempty" empty:"never" nullable:"false" doc:"which: queued, scheduled, started, completed, failed, canceled, preempted, requeued, lost, near_limit; by default its end"`
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
	Warnings      []string     `json:"warnings,omitempty" nullable:"false" doc:"possible mistakes: limits that are too low for its GPUs even without other jobs, so that it may never start, and nodes in nodelist or exclude that the cluster does not have"`
	Late          bool         `json:"late,omitempty" doc:"it is not expected to start before its deadline, at which it fails"`
	DryRun        bool         `json:"dry_run,omitempty" doc:"nothing was queued"`
	Explanation   *Explanation `json:"explanation,omitempty" doc:"of a dry run: why it would wait"`
}

// SetPriority is the body of PATCH /queue/{job_id}/priority.
type SetPriority struct {
	Priority *int64 `json:"priority" minimum:"1" maximum:"10" doc:"1 low, 2 normal, 3 high, 4 critical; 5 to 10 as at submission"`
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
