package model

import "time"

// Defaults are what the cluster is called, and what its jobs get that do not say
// otherwise. How often such a job is tried again is a parameter of [Tuning].
type Defaults struct {
	Name               string        `cbor:"1,keyasint,omitempty"` // for display; may be empty
	Class              Class         `cbor:"2,keyasint,omitempty"` // 0: normal
	IdleStop           time.Duration `cbor:"3,keyasint,omitempty"` // 0: never
	CheckpointInterval time.Duration `cbor:"4,keyasint,omitempty"` // of jobs with a checkpoint signal; 0: only before a stop
}

// Validate says which value is not allowed, and what is; nil when all are.
func (d *Defaults) Validate() error {
	switch {
	case d.Name != "" && !Name(d.Name):
		return want("name", "a text of at most %d bytes", MaxName)
	case d.Class > ClassCritical:
		return want("priority", "%d to %d", ClassLow, ClassCritical)
	case d.IdleStop != 0 && (d.IdleStop < MinIdleStop || d.IdleStop > MaxDuration):
		return want("idle_stop", "0, or %s to %s", MinIdleStop, MaxDuration)
	case d.CheckpointInterval != 0 && (d.CheckpointInterval < minCheckpointInterval || d.CheckpointInterval > MaxDuration):
		return want("checkpoint_interval", "0, or %s to %s", minCheckpointInterval, MaxDuration)
	}
	return nil
}
