package wire

import (
	"encoding/json"
	"time"
)

// SnapshotFormat is the format of the state files that this program writes, and the
// newest that it reads.
const SnapshotFormat = 1

// Snapshot is the answer to GET /snapshot: the cluster at one place of its log, in the form of the
// four state files.
type Snapshot struct {
	ClusterState ClusterStateFile      `json:"cluster_state"`
	JobQueue     JobQueueFile          `json:"job_queue"`
	Orchestrator OrchestratorStateFile `json:"orchestrator_state"`
	Allocation   GPUAllocationFile     `json:"gpu_allocation"`
}

// Saved describes the state that a file was exported from.
type Saved struct {
	Format int64     `json:"format" doc:"of the member berth; 1"`
	Index  int64     `json:"index" doc:"place of the exported state in the log, the same in all files of one export"`
	At     time.Time `json:"saved_at"`
}

// ClusterStateFile is cluster_state.json. It is not imported: nodes and GPUs come with their
// agents.
type ClusterStateFile struct {
	ClusterState
	Saved Saved `json:"berth"`
}

// JobQueueFile is job_queue.json.
type JobQueueFile struct {
	QueuedJobs []QueuedJob `json:"queuedJobs" nullable:"false"`
	Statistics Statistics  `json:"statistics"`
	Saved      SavedQueue  `json:"berth"`
}

// SavedQueue is all jobs that have not ended, in full.
type SavedQueue struct {
	Saved
	Jobs         []SavedJob                   `json:"jobs" nullable:"false" doc:"by id"`
	Scripts      map[string]string            `json:"scripts" doc:"by their SHA-256"`
	Environments map[string]map[string]string `json:"environments" doc:"by the SHA-256 of their sorted lines NAME=value, NUL between two"`
	LeftOut      SavedLeftOut                 `json:"left_out" doc:"counts of what is not in the files"`
}

// SavedLeftOut counts what state files do not contain.
type SavedLeftOut struct {
	EndedJobs    int64 `json:"ended_jobs" doc:"the archive has their histories"`
	DoomedJobs   int64 `json:"doomed_jobs" doc:"about to be canceled, because a dependency ended with another result"`
	Services     int64 `json:"service_allocations" doc:"of jobs, with which they end; services' own are in gpu_allocation.json"`
	Reservations int64 `json:"reservations"`
	Tokens       int64 `json:"tokens"`
}

// SavedJob is a job that has not ended.
type SavedJob struct {
	ID          string          `json:"id"`
	SubmittedAt time.Time       `json:"submitted_at"`
	State       string          `json:"state" doc:"queued, or a state of running jobs, which an import queues again"`
	Tasks       int64           `json:"tasks" doc:"number of tasks that have not ended"`
	Open        string          `json:"open_tasks,omitempty" doc:"of an array: the numbers of tasks that have not ended"`
	Held        string          `json:"held_tasks,omitempty" doc:"of an array: those of them that are held, if not all are"`
	Script      string          `json:"script_sha256,omitempty"`
	Environment string          `json:"environment_sha256,omitempty"`
	SubmitEnv   string          `json:"submit_environment_sha256,omitempty" doc:"of the environment of the submission, under environments"`
	Stdin       string          `json:"stdin_sha256,omitempty" doc:"of its base64, under scripts"`
	Request     json.RawMessage `json:"request" doc:"as the body of POST /queue/submit, without script, stdin, env and submit_env"`
}

// OrchestratorStateFile is orchestrator_state.json: the answer to GET
// /orchestrator/status, and the policies.
type OrchestratorStateFile struct {
	Orchestrator
	Policies Policies      `json:"policies"`
	Saved    SavedSettings `json:"berth"`
}

// SavedSettings is the cluster's settings, users and projects.
type SavedSettings struct {
	Saved
	Arrangement
}

// Arrangement is the cluster's settings, users and projects. Fields that are left out of an import
// stay unchanged.
type Arrangement struct {
	Running     *bool                 `json:"running,omitempty" doc:"jobs are started"`
	Policy      string                `json:"policy,omitempty"`
	Parameters  map[string]string     `json:"parameters,omitempty" doc:"values by name, as GET /orchestrator/policies writes them"`
	Allocation  *SetAllocation        `json:"allocation,omitempty"`
	Reservation *SetReservationLimits `json:"reservation_limits,omitempty"`
	Retention   *SavedRetention       `json:"retention,omitempty"`
	Defaults    *SavedDefaults        `json:"defaults,omitempty"`
	Users       []SavedUser           `json:"users,omitempty" nullable:"false"`
	Quotas      []SavedQuota          `json:"quotas,omitempty" nullable:"false"`
	Shares      []Weight              `json:"shares,omitempty" nullable:"false"`
	Services    []SavedService        `json:"services,omitempty" nullable:"false" doc:"that wait for GPUs, in this order"`
}

// SavedService is a service that holds GPUs or waits for them.
type SavedService struct {
	ID      string   `json:"id" doc:"of its allocation"`
	User    string   `json:"user"`
	Request Allocate `json:"request" doc:"as the body of POST /gpu/allocate, without its user"`
}

// SavedServices is the services that hold GPUs, and then those that wait, in order.
type SavedServices struct {
	Saved
	Services []SavedService `json:"services" nullable:"false"`
}

// SavedRetention is how long jobs that have ended stay in the state.
type SavedRetention struct {
	Jobs int64    `json:"jobs"`
	Age  Duration `json:"age"`
}

// SavedDefaults is the defaults of jobs, and the cluster's name.
type SavedDefaults struct {
	Name       string   `json:"name,omitempty" doc:"of the cluster"`
	Priority   int64    `json:"priority,omitempty" doc:"1 to 4; absent: 2"`
	IdleStop   Duration `json:"idle_stop,omitempty" doc:"absent: never"`
	Checkpoint Duration `json:"checkpoint_interval,omitempty" doc:"of jobs with a checkpoint signal; absent: only before a stop"`
	MemPerCPU  int64    `json:"memory_per_cpu,omitempty" doc:"in MB, of jobs without GPUs that set no host_memory_gb; absent: 2000"`
	Partitions string   `json:"partitions,omitempty" doc:"of jobs in Slurm's language, as the setting jobs.partitions"`
	QOS        string   `json:"qos,omitempty" doc:"likewise, as jobs.qos"`
	Strict     bool     `json:"refuse_unknown_partitions,omitempty" doc:"jobs that name a partition or a QOS in neither are refused"`
	Commands   string   `json:"show_commands,omitempty" doc:"which callers see what jobs run: project, user or all; absent: project"`
}

// SavedUser is a user of the cluster.
type SavedUser struct {
	Name     string   `json:"name"`
	Role     string   `json:"role"`
	Projects []string `json:"projects" nullable:"false"`
	Account  string   `json:"account,omitempty" doc:"as of GET /users"`
}

// SavedQuota is the limits of a scope.
type SavedQuota struct {
	Scope  string   `json:"scope" doc:"cluster, project or user"`
	Name   string   `json:"name,omitempty"`
	Limits SetQuota `json:"limits"`
}

// GPUAllocationFile is gpu_allocation.json: the holders of GPUs. Only services are imported: they
// wait for GPUs again.
type GPUAllocationFile struct {
	Runs        []Run               `json:"runs" nullable:"false" doc:"jobs that have GPUs"`
	Allocations []ServiceAllocation `json:"allocations" nullable:"false" doc:"services that have GPUs, or wait for some"`
	Saved       SavedServices       `json:"berth"`
}

// BeginImport is the body of POST /snapshot/import.
type BeginImport struct {
	ImportID string `json:"import_id" doc:"SHA-256 of the imported data, in hex"`
	Parts    *int64 `json:"parts" doc:"number of parts of its jobs"`
}

// ImportJobs is the body of POST /snapshot/import/jobs: one part.
type ImportJobs struct {
	ImportID     string                       `json:"import_id"`
	Part         *int64                       `json:"part" doc:"from 0"`
	Jobs         []json.RawMessage            `json:"jobs,omitempty" nullable:"false" doc:"in the form of the member berth of job_queue.json, by rising id"`
	Scripts      map[string]string            `json:"scripts,omitempty" doc:"of these jobs"`
	Environments map[string]map[string]string `json:"environments,omitempty" doc:"of these jobs"`
	QueuedJobs   []json.RawMessage            `json:"queuedJobs,omitempty" nullable:"false" doc:"in place of jobs: in the form of a file without the member berth, oldest first"`
	First        *int64                       `json:"first,omitempty" doc:"number that the first of queuedJobs gets"`
	Command      string                       `json:"command,omitempty" doc:"command of those of queuedJobs without one"`
}

// ImportSettings is the body of POST /snapshot/import/settings: all settings, or some of
// them at a time.
type ImportSettings struct {
	ImportID string          `json:"import_id"`
	Settings json.RawMessage `json:"settings" doc:"in the form of the member berth of orchestrator_state.json"`
}

// EndImport is the body of POST /snapshot/import/end.
type EndImport struct {
	ImportID string `json:"import_id,omitempty" doc:"may be left out with short: the one that is open"`
	Short    *bool  `json:"short,omitempty" doc:"end the import although parts are missing, since they no longer exist"`
}

// Imported is the answer to a step of an import.
type Imported struct {
	Success bool   `json:"success"`
	DryRun  bool   `json:"dry_run,omitempty" doc:"nothing was changed"`
	State   string `json:"state" enum:"none,open,ended"`
	Parts   int64  `json:"parts"`
	Next    int64  `json:"next_part" doc:"number of the next part"`
	Jobs    int64  `json:"jobs" doc:"queued so far; of a dry run, what this part would queue"`
	Again   int64  `json:"queued_again" doc:"jobs of this part that ran"`
	Ended   int64  `json:"ended_jobs" doc:"jobs of this part that have ended and are not imported"`
	Left    int64  `json:"left_out" doc:"so far: their deadline had passed, or they waited for the success of a job that was not imported"`
}
