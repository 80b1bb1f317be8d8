package wire

import "time"

// Reservations is the answer to GET /reservations.
type Reservations struct {
	Reservations []Reservation     `json:"reservations" nullable:"false" doc:"by their start"`
	Limits       ReservationLimits `json:"limits"`
}

// Reservation is GPUs that are reserved for a user or a project for a span of time, or the
// maintenance of nodes.
type Reservation struct {
	ID        string    `json:"reservation_id"`
	Kind      string    `json:"kind" enum:"reservation,maintenance"`
	User      string    `json:"user,omitempty" doc:"the user; or"`
	Project   string    `json:"project,omitempty"`
	GPUs      int64     `json:"gpu_count,omitempty" doc:"in all"`
	GPUType   string    `json:"gpu_type,omitempty"`
	Nodes     []string  `json:"nodes,omitempty" nullable:"false" doc:"where; absent: anywhere"`
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	State     string    `json:"state" enum:"planned,active,over"`
	Short     int64     `json:"short_gpus,omitempty" doc:"GPUs of others that may not be free when it begins, or are not free now"`
	Reason    string    `json:"reason,omitempty"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
}

// ReservationLimits are the limits of what may be reserved.
type ReservationLimits struct {
	Percent int64    `json:"percent" doc:"of the cluster's GPUs that may be reserved at once"`
	Ahead   Duration `json:"ahead" doc:"how far ahead a reservation may begin"`
	Longest Duration `json:"longest" doc:"how long one may last"`
	PerUser int64    `json:"per_user" doc:"the most of a user or a project"`

	UserPercent int64 `json:"percent_per_user" doc:"part of the cluster's GPUs that one user or project may have reserved at once, unless an operator reserves them"`
}

// Reserve is the body of POST /reservations. A maintenance has only nodes, times and a reason.
type Reserve struct {
	GPUs        *int64    `json:"gpu_count,omitempty" minimum:"1" maximum:"1000000" doc:"in all; with nodes: the same number on each, by default all of theirs"`
	GPUType     string    `json:"gpu_type,omitempty"`
	Nodes       []string  `json:"nodes,omitempty" empty:"never" doc:"gpu[01-04] stands for four"`
	User        string    `json:"user,omitempty" doc:"the user; or a project"`
	Project     string    `json:"project,omitempty"`
	Start       string    `json:"start,omitempty" doc:"RFC 3339, or +2h from now; now by default"`
	End         string    `json:"end,omitempty" doc:"in the same form; or duration"`
	Duration    *Duration `json:"duration,omitempty"`
	Maintenance *bool     `json:"maintenance,omitempty" doc:"the nodes get no work, and are drained at the start"`
	Reason      string    `json:"reason,omitempty" empty:"text"`
}

// Reserved is the answer to a change of reservations.
type Reserved struct {
	Success     bool         `json:"success"`
	Message     string       `json:"message"`
	Reservation *Reservation `json:"reservation,omitempty"`
}

// SetReservationLimits is the body of PUT /reservations/limits: what is left out stays
// as it is.
type SetReservationLimits struct {
	Percent *int64    `json:"percent,omitempty" doc:"1 to 100"`
	Ahead   *Duration `json:"ahead,omitempty" doc:"an hour to 366 days"`
	Longest *Duration `json:"longest,omitempty" doc:"a minute to 366 days"`
	PerUser *int64    `json:"per_user,omitempty" doc:"1 to 256"`

	UserPercent *int64 `json:"percent_per_user,omitempty" doc:"1 to 100"`
}
