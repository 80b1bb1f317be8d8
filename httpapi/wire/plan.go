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
	Running []PlanEntry `json:"running" nullable:"false" doc:"what runs, by job"`
	Waiting []PlanEntry `json:"waiting" nullable:"false" doc:"what waits, in order"`
	Beyond  int         `json:"beyond" doc:"how many more wait, of which nothing was foreseen"`
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

	StartedAt time.Time `json:"started_at,omitzero" doc:"of one that runs"`
	Start     *Range    `json:"start,omitempty" doc:"of one that waits; nothing if it cannot be foreseen"`
	End       *Range    `json:"end,omitempty"`
	After     string    `json:"after,omitempty" doc:"what else than GPUs has to come about first: the code of a blocker"`
	Late      bool      `json:"late,omitempty" doc:"it is not expected to start before its deadline, and fails then"`
	Pauses    []Pause   `json:"pauses,omitempty" nullable:"false" doc:"when it is expected to be suspended, for others or for a reservation"`
}

// Pause is when a job is expected to be suspended.
type Pause struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero" doc:"nothing if it cannot be foreseen"`
}
