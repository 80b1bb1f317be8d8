package model

import "time"

// Defaults are the cluster's name, and the values of jobs that do not set their own. The default number of
// retries is a parameter of [Tuning].
type Defaults struct {
	Name               string        `cbor:"1,keyasint,omitempty"` // for display; may be empty
	Class              Class         `cbor:"2,keyasint,omitempty"` // 0: normal
	IdleStop           time.Duration `cbor:"3,keyasint,omitempty"` // 0: never
	CheckpointInterval time.Duration `cbor:"4,keyasint,omitempty"` // of jobs with a checkpoint signal; 0: only before a stop
	Commands           Audience      `cbor:"5,keyasint,omitempty"` // audience of the commands that jobs run
}

// Audience is the set of callers that see what a job runs, in addition to its user and operators. It counts
// while callers of the API are authenticated.
type Audience uint8

// The audiences.
const (
	AudienceProject Audience = 0 // the users in the job's project
	AudienceUser    Audience = 1 // only the job's user and operators
	AudienceAll     Audience = 2 // every user that may read the queue
)

// Valid reports whether the audience is one of the three.
func (a Audience) Valid() bool { return a <= AudienceAll }

// String returns the audience's name.
func (a Audience) String() string { return name(a+1, "", "project", "user", "all") }

// AudienceOf returns the audience of a name.
func AudienceOf(name string) (Audience, bool) {
	for a := AudienceProject; a.Valid(); a++ {
		if a.String() == name {
			return a, true
		}
	}
	return 0, false
}

// Validate returns the value that is not allowed, and the allowed ones; nil when all are allowed.
func (d *Defaults) Validate() error {
	switch {
	case d.Name != "" && !Name(d.Name):
		return WantName("name", d.Name)
	case !d.Commands.Valid():
		return want("show_commands", "project, user or all")
	case d.Class > ClassCritical:
		return want("priority", "%d to %d", ClassLow, ClassCritical)
	case d.IdleStop != 0 && (d.IdleStop < MinIdleStop || d.IdleStop > MaxDuration):
		return want("idle_stop", "0, or %s to %s", MinIdleStop, MaxDuration)
	case d.CheckpointInterval != 0 && (d.CheckpointInterval < minCheckpointInterval || d.CheckpointInterval > MaxDuration):
		return want("checkpoint_interval", "0, or %s to %s", minCheckpointInterval, MaxDuration)
	}
	return nil
}
