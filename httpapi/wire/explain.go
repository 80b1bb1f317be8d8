package wire

import "time"

// Explanation is why a job waits: everything that blocks it, not only the first thing.
type Explanation struct {
	Task     *int64    `json:"task,omitempty" doc:"of an array: the task that is explained"`
	Summary  string    `json:"summary" doc:"one line"`
	Policy   string    `json:"policy"`
	Factors  []Factor  `json:"factors,omitempty" nullable:"false" doc:"what determines its place in the order"`
	Position int       `json:"queue_position"`
	Exact    bool      `json:"position_exact"`
	Blockers []Blocker `json:"blockers" nullable:"false"`
	Ahead    []Ahead   `json:"ahead" nullable:"false" doc:"the first jobs before it"`
	AheadN   int       `json:"jobs_ahead" doc:"how many there are"`
	Unblock  []Unblock `json:"unblock" nullable:"false" doc:"each of these would let it start"`

	PlannedStart *Range `json:"planned_start,omitempty" doc:"when it is expected to start; absent if that cannot be predicted"`
	Late         bool   `json:"late,omitempty" doc:"it is not expected to start before its deadline, at which it fails"`

	At time.Time `json:"at"`
}

// Factor is one number of a job's place in the order.
type Factor struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Blocker is one thing that keeps a job from starting.
type Blocker struct {
	Code        string    `json:"code" doc:"stable: orchestrator_stopped, standstill, dependency, begin, held, backoff, throttle, limit, gpus, gpu_type, gpu_memory, gpu_failed, accounts, nodes, reserved, barred, suspending, ahead, never, max_run_time, gpu_hours, pool, reservation, maintenance"`
	Message     string    `json:"message"`
	Scope       string    `json:"scope,omitempty" doc:"of a limit"`
	JobID       string    `json:"job_id,omitempty" doc:"of a dependency the job that must end; else the job for which GPUs are reserved"`
	State       string    `json:"job_state,omitempty" doc:"state of that job"`
	Until       time.Time `json:"until,omitzero" doc:"of a begin or a backoff; of a reservation or a maintenance: its end"`
	Reservation string    `json:"reservation_id,omitempty" doc:"of a reservation or a maintenance"`
	Need        int64     `json:"need,omitempty"`
	Have        int64     `json:"have" doc:"the available amount"`
}

// Ahead is a job or a service that goes first.
type Ahead struct {
	JobID    string `json:"job_id,omitempty"`
	Service  string `json:"allocation_id,omitempty" doc:"of a service"`
	User     string `json:"user"`
	Tasks    int64  `json:"tasks" doc:"the tasks that go first; counted up to 1,000"`
	GPUs     int64  `json:"gpu_count" doc:"of each task"`
	Priority int64  `json:"priority"`
	Name     string `json:"name,omitempty" doc:"of the job; of one without a name its run's id, else its command"`
}

// Unblock is a change after which the job would start.
type Unblock struct {
	Message string `json:"message"`
	JobID   string `json:"job_id,omitempty" doc:"job that has to end"`
	Service string `json:"allocation_id,omitempty" doc:"allocation that has to end"`
}
