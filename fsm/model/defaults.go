package model

import "time"

// Defaults are what the cluster is called, and what its jobs get that do not say
// otherwise. How often such a job is tried again is a parameter of [Tuning].
type Defaults struct {
	Name               string        `cbor:"1,keyasint,omitempty"` // for display; may be empty
	Class              Class         `cbor:"2,keyasint,omitempty"` // 0: normal
	IdleStop           time.Duration `cbor:"3,keyasint,omitempty"` // 0: never
	CheckpointInterval time.Duration `cbor:"4,keyasint,omitempty"` // of jobs with a checkpoint signal; 0: only before a stop
	Commands           Audience      `cbor:"5,keyasint,omitempty"` // who sees what jobs run
}

// Audience is who sees what a job runs, beside its user and operators. It counts while
// callers of the API are asked who they are.
type Audience uint8

// The audiences.
const (
	AudienceProject Audience = 0 // the users who are in the job's project
	AudienceUser    Audience = 1 // only the job's user and operators
	AudienceAll     Audience = 2 // everybody who may look at the queue
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

// Validate returns which value is not allowed, and what is; nil when all are.
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
