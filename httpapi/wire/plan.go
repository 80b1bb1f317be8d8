package wire

import "time"

// Range is when something is expected to happen. It is an estimate from run times in the past and
// declared ones, as if nothing else was submitted: Soonest if earlier jobs take as little as a
// quarter of similar ones did, Latest if they take as long as time limits allow or most similar
// ones did.
type Range struct {
	Expected time.Time `json:"expected"`
	Soonest  time.Time `json:"soonest"`
	Latest   time.Time `json:"latest"`
}

// Plan is the forecast.
type Plan struct {
	At      time.Time   `json:"at"`
	Running []PlanEntry `json:"running" nullable:"false" doc:"running jobs"`
	Waiting []PlanEntry `json:"waiting" nullable:"false" doc:"waiting jobs, in order"`
	Beyond  int         `json:"beyond" doc:"number of further waiting jobs without a forecast"`
}

// PlanEntry is one task of a plan, or a service that waits.
type PlanEntry struct {
	JobID    string   `json:"job_id,omitempty"`
	Service  string   `json:"allocation_id,omitempty" doc:"of a service"`
	Task     *int64   `json:"task,omitempty" doc:"of an array"`
	Name     string   `json:"name,omitempty" doc:"of the job; of one without a name its run's id, else its command"`
	User     string   `json:"user"`
	GPUs     int64    `json:"gpu_count"`
	Nodes    []string `json:"nodes,omitempty" nullable:"false" doc:"where it runs, or is expected to"`
	Position int      `json:"queue_position,omitempty"`

	StartedAt time.Time `json:"started_at,omitzero" doc:"of a running one"`
	Start     *Range    `json:"start,omitempty" doc:"of a waiting one; absent if it cannot be predicted"`
	End       *Range    `json:"end,omitempty"`
	After     string    `json:"after,omitempty" doc:"what blocks it, other than GPUs: the code of a blocker"`
	Late      bool      `json:"late,omitempty" doc:"it is not expected to start before its deadline, at which it fails"`
	Pauses    []Pause   `json:"pauses,omitempty" nullable:"false" doc:"when it is expected to be suspended, for others or for a reservation"`
}

// Pause is when a job is expected to be suspended.
type Pause struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero" doc:"absent if it cannot be predicted"`
}
