package wire

import (
	"time"

	"github.com/berth-gpu/berth/slurm/request"
)

// The states of a job and of a task.
const (
	StateQueued     = "queued"
	StateScheduled  = "scheduled"
	StateAllocating = "allocating"
	StateRunning    = "running"
	StateCompleted  = "completed"
	StateFailed     = "failed"
	StateCanceled   = "canceled"
)

// Job is a job in a list. For an array it sums up all tasks.
type Job struct {
	ID      string `json:"id"`
	RunID   string `json:"run_id,omitempty"`
	Name    string `json:"name,omitempty"`
	User    string `json:"user"`
	Project string `json:"project,omitempty"`
	Command string `json:"command,omitempty"`

	CommandHidden bool `json:"command_hidden,omitempty" doc:"the caller may not see what it runs: command, workdir and params are left out"`

	State    string    `json:"state" enum:"queued,scheduled,allocating,running,completed,failed,canceled" doc:"of an array: the state of the most advanced task while any have GPUs; else queued while any wait; else failed if any failed, canceled if any was canceled, completed if all completed"`
	Held     bool      `json:"held,omitempty"`
	Moved    string    `json:"moved_before,omitempty" doc:"the job ahead of which an operator has moved this one in the order of the queue"`
	Stopping *Stopping `json:"stopping,omitempty"`
	Reason   string    `json:"reason,omitempty" doc:"why it waits or how it ended, in a few words"`

	Priority    int64   `json:"priority"`
	GPUs        int64   `json:"gpu_count"`
	Nodes       int64   `json:"nodes,omitempty"`
	MinGPUs     int64   `json:"min_gpus,omitempty" doc:"it takes fewer GPUs than gpu_count, but at least this many; allocated_gpus are those that it has"`
	Granted     int64   `json:"granted_gpus,omitempty" doc:"with min_gpus, and not of an array: how many its newest attempt got"`
	GPUType     string  `json:"gpu_type,omitempty"`
	GPUMemoryGB float64 `json:"gpu_memory_gb,omitempty"`
	CPUs        int64   `json:"cpus,omitempty" doc:"cores on each node: a limit, or what a job without GPUs holds"`
	HostMemory  float64 `json:"host_memory_gb,omitempty" doc:"main memory on each node, likewise"`

	Constraint string   `json:"constraint,omitempty" doc:"of its nodes' labels"`
	Nodelist   []string `json:"nodelist,omitempty" nullable:"false" doc:"on these nodes only"`
	Exclude    []string `json:"exclude,omitempty" nullable:"false" doc:"not on these nodes"`
	Placement  string   `json:"placement,omitempty" doc:"its strategy, if it has one of its own"`

	Position      int  `json:"queue_position,omitempty" doc:"1 is next"`
	PositionExact bool `json:"position_exact,omitempty"`

	PlannedStart *Range `json:"planned_start,omitempty" doc:"when it is expected to start"`

	SubmittedAt time.Time `json:"submitted_at"`
	StartedAt   time.Time `json:"started_at,omitzero" doc:"for the first time; of an array, of its first task that started"`
	RunsSince   time.Time `json:"runs_since,omitzero" doc:"the start of the running attempt, if that is not the first"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
	WaitSeconds float64   `json:"wait_seconds" doc:"from when it could have run (its submission, its begin, the end of what it waited for), without the time for which it was held, to the first start, or until now; of a job that waits again the whole time in which it has not run"`
	RunSeconds  float64   `json:"run_seconds" doc:"of all attempts; of a running one until now, by the clock of the answering peer, in a snapshot by the cluster's"`

	LostGPUHours float64 `json:"lost_gpu_hours,omitempty" doc:"GPU time of attempts that did not complete, after their last checkpoint"`

	TimeLimitSeconds float64 `json:"time_limit_seconds,omitempty"`
	EstimateSeconds  float64 `json:"estimated_duration_seconds,omitempty"`
	IdleStopSeconds  float64 `json:"idle_stop_seconds,omitempty"`

	Attempts   int64  `json:"attempts" doc:"number of placements"`
	Retries    int64  `json:"retry_count"`
	MaxRetries int64  `json:"max_retries"`
	Yields     bool   `json:"preemptible,omitempty" doc:"it may be suspended for others"`
	ExitCode   *int64 `json:"exit_code,omitempty" doc:"once it has ended; an array as a whole has none, its tasks have"`
	Signal     int64  `json:"exit_signal,omitempty"`

	BeginAt  time.Time `json:"begin,omitzero" doc:"earliest start"`
	Eligible time.Time `json:"eligible_at,omitzero" doc:"time from which on it could have started with enough free GPUs, if that is not its submission: its begin, or the end of its dependencies"`
	Deadline time.Time `json:"deadline,omitzero" doc:"it fails if it has not ended by then"`

	AllocatedGPUs []GPURef `json:"allocated_gpus,omitempty" nullable:"false"`
	OnNodes       []string `json:"on_nodes,omitempty" nullable:"false" doc:"of a job without GPUs that runs: the nodes whose cores it holds"`
	Array         *Array   `json:"array,omitempty"`

	SilentNodes []SilentNode `json:"silent_nodes,omitempty" nullable:"false" doc:"of a job that has GPUs or cores: those of its nodes that are out of contact with the cluster"`

	Last *Last `json:"last_attempt,omitempty" doc:"once it has ended, if it was placed: its newest attempt; an array as a whole has none, its tasks have"`

	PurgedAt time.Time `json:"purged_at,omitzero" doc:"its script, its input and its environments were removed then"`

	Slurm *request.Request `json:"slurm,omitempty" doc:"of a job in Slurm's language: what it asks for beyond the other fields; left out with command_hidden"`
}

// SilentNode is a node of a job that is out of contact.
type SilentNode struct {
	NodeID string    `json:"node_id"`
	Since  time.Time `json:"since" doc:"when it was last heard"`
	Holds  bool      `json:"holds,omitempty" doc:"the job is not given up for its silence (on_lost hold): only the node itself, or an operator that confirms that it is dead, ends that"`
}

// Last is the newest attempt of a job that has ended.
type Last struct {
	StartedAt   time.Time `json:"started_at,omitzero" doc:"absent: it never ran"`
	Nodes       []string  `json:"nodes" nullable:"false" doc:"in the order of its ranks"`
	OutOfMemory bool      `json:"out_of_memory,omitempty" doc:"the kernel killed a process of it for memory"`
	StoppedBy   string    `json:"stopped_by,omitempty" doc:"the actor that asked for its stop, as in timelines"`
}

// Stopping describes why and until when the job's attempt is being ended.
type Stopping struct {
	Reason   string    `json:"reason"`
	By       string    `json:"by,omitempty"`
	Deadline time.Time `json:"deadline" doc:"when its processes are killed at the latest, on nodes with contact to the cluster"`
}

// GPURef names a GPU of a job.
type GPURef struct {
	NodeID string `json:"node_id"`
	Index  int64  `json:"gpu_id" doc:"its number on the node"`
	UUID   string `json:"uuid"`
}

// Array counts the tasks of an array.
type Array struct {
	Size      int64 `json:"size" doc:"queued, running, completed, failed and canceled together"`
	Limit     int64 `json:"limit,omitempty" doc:"the most that run at once"`
	Queued    int64 `json:"queued" doc:"waiting tasks, including held ones"`
	Running   int64 `json:"running" doc:"tasks with GPUs: scheduled, allocating and running"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Canceled  int64 `json:"canceled"`

	Indices string   `json:"indices,omitempty" doc:"the tasks' numbers"`
	Params  []string `json:"params,omitempty" nullable:"false" doc:"of a sweep, as submitted"`
}

// Jobs is the answer to GET /jobs: newest first, unless the request sorts it.
type Jobs struct {
	Jobs  []Job  `json:"jobs" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"value of ?after= for the next page; absent: there are no more"`
	Total *int64 `json:"total,omitempty" doc:"with ?count=true: how many match, on all pages"`
}

// Tasks is the answer to GET /jobs/{job_id}/tasks, by number.
type Tasks struct {
	JobID string `json:"job_id"`
	Tasks []Task `json:"tasks" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"value of ?after= for the next page"`
}

// Task is one task of an array.
type Task struct {
	Index      int64             `json:"task"`
	Params     map[string]string `json:"params,omitempty"`
	State      string            `json:"state"`
	Held       bool              `json:"held,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Attempts   int64             `json:"attempts"`
	StartedAt  time.Time         `json:"started_at,omitzero"`
	EndedAt    time.Time         `json:"ended_at,omitzero"`
	RunSeconds float64           `json:"run_seconds"`
	ExitCode   *int64            `json:"exit_code,omitempty"`
	Signal     int64             `json:"exit_signal,omitempty"`
	Granted    int64             `json:"granted_gpus,omitempty" doc:"with min_gpus: how many its newest attempt got"`

	AllocatedGPUs []GPURef     `json:"allocated_gpus,omitempty" nullable:"false"`
	OnNodes       []string     `json:"on_nodes,omitempty" nullable:"false" doc:"of a task without GPUs that runs: the nodes whose cores it holds"`
	SilentNodes   []SilentNode `json:"silent_nodes,omitempty" nullable:"false" doc:"those of its nodes that are out of contact with the cluster"`
	RunsSince     time.Time    `json:"runs_since,omitzero" doc:"the start of the running attempt, if that is not the first"`
	Stopping      *Stopping    `json:"stopping,omitempty"`
	Last          *Last        `json:"last_attempt,omitempty" doc:"once it has ended, if it was placed: its newest attempt"`
}

// Dependency is a job that another waits or has waited for.
type Dependency struct {
	JobID    string `json:"job_id"`
	Kind     string `json:"kind" enum:"afterok,afterany,afternotok,after,aftercorr"`
	State    string `json:"state" enum:"waiting,met,never,dropped"`
	JobState string `json:"job_state,omitempty" doc:"state of that job, as long as it is known"`

	Any   bool      `json:"any,omitempty" doc:"one of the dependencies with this mark is enough"`
	Delay float64   `json:"delay_seconds,omitempty" doc:"of after: the time from the begin of that job on"`
	Due   time.Time `json:"due_at,omitzero" doc:"the end of that time, once that job has begun"`
}

// Detail is the answer to GET /jobs/{job_id}: of an array as a whole, or of one task (?task=).
type Detail struct {
	Job
	Task        *int64            `json:"task,omitempty" doc:"number of the task; absent for an array as a whole"`
	Params      map[string]string `json:"params,omitempty" doc:"of a task of a sweep: its values"`
	After       []Dependency      `json:"dependencies,omitempty" nullable:"false" doc:"jobs that it waits or has waited for"`
	Dependents  []Dependency      `json:"dependents,omitempty" nullable:"false" doc:"jobs that wait or have waited for it, at most 1000"`
	WorkDir     string            `json:"workdir,omitempty"`
	OnLost      string            `json:"on_lost"`
	Warnings    []string          `json:"warnings,omitempty" nullable:"false" doc:"of a job with GPUs: anomalies of these, and why a node has not started it yet"`
	Notify      []string          `json:"notify,omitempty" nullable:"false" doc:"the events that webhook_url gets"`
	WebhookURL  string            `json:"webhook_url,omitempty" doc:"without its path and query"`
	Timeline    []Event           `json:"timeline" nullable:"false" doc:"of a task; empty for an array as a whole"`
	Folded      int64             `json:"timeline_folded,omitempty" doc:"number of older events that are not kept"`
	History     []Attempt         `json:"attempt_history" nullable:"false" doc:"of a task; empty for an array as a whole"`
	Explanation *Explanation      `json:"explanation,omitempty" doc:"of a job that waits; of an array as a whole that of its first task that waits"`
	Archived    bool              `json:"archived,omitempty" doc:"it has left the cluster's state; this is from the archive"`
	Similar     *Similar          `json:"similar_runs,omitempty" doc:"run times of jobs of the same user, name and size, if there were three"`
}

// Similar is the run times of similar jobs, to a power of two.
type Similar struct {
	Runs       int64   `json:"runs"`
	P25Seconds float64 `json:"p25_seconds" doc:"the fastest quarter took at most this time"`
	P50Seconds float64 `json:"p50_seconds"`
	P75Seconds float64 `json:"p75_seconds"`
}

// Event is one line of a timeline.
type Event struct {
	At      time.Time `json:"at"`
	Event   string    `json:"event"`
	Actor   string    `json:"actor,omitempty"`
	Attempt int64     `json:"attempt,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Detail  string    `json:"detail,omitempty"`
}

// Attempt is one try to run a job.
type Attempt struct {
	Number    int64     `json:"number"`
	State     string    `json:"state"`
	PlacedAt  time.Time `json:"placed_at"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	End       string    `json:"end_reason,omitempty"`
	ExitCode  *int64    `json:"exit_code,omitempty"`
	Signal    int64     `json:"exit_signal,omitempty"`
	Ranks     []Rank    `json:"ranks" nullable:"false"`

	LostGPUHours     float64 `json:"lost_gpu_hours,omitempty" doc:"after its last checkpoint, if it did not complete"`
	MeasuredGPUHours float64 `json:"measured_gpu_hours,omitempty" doc:"of an ended attempt: the time with telemetry of its GPUs"`
	IdleGPUHours     float64 `json:"idle_gpu_hours,omitempty" doc:"the part of these in which the GPUs were idle"`
}

// Rank is the part of an attempt on one node.
type Rank struct {
	Rank       int64     `json:"rank"`
	NodeID     string    `json:"node_id"`
	Phase      string    `json:"phase"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	RunSeconds float64   `json:"run_seconds,omitempty"`
	ExitCode   *int64    `json:"exit_code,omitempty"`
	Signal     int64     `json:"exit_signal,omitempty"`
	OOM        bool      `json:"out_of_memory,omitempty"`
	Stopped    string    `json:"stopped_for,omitempty" doc:"reason of the stop signal that it got before its end"`
	GPUFault   bool      `json:"gpu_fault,omitempty" doc:"a GPU of it had a fault"`
	Fenced     bool      `json:"fenced,omitempty" doc:"ended by its supervisor, because its node was out of contact"`
	Disk       string    `json:"disk,omitempty" doc:"how it exceeded its share of the node's disk, if it was stopped for that"`
	SavedAt    float64   `json:"checkpoint_at_seconds,omitempty" doc:"run time at the last checkpoint that the job announced"`
	GPUs       []GPURef  `json:"gpus" nullable:"false"`
}
