package model

import "time"

// Defaults are what the cluster is called, and what its jobs get that do not say
// otherwise.
type Defaults struct {
	Chosen             bool          `cbor:"1,keyasint,omitempty"` // by the founders, if only by saying nothing; it stays so
	Name               string        `cbor:"2,keyasint,omitempty"` // for display; may be empty
	MaxRetries         uint32        `cbor:"3,keyasint,omitempty"`
	Class              Class         `cbor:"4,keyasint,omitempty"` // 0: normal
	IdleStop           time.Duration `cbor:"5,keyasint,omitempty"` // 0: never
	CheckpointInterval time.Duration `cbor:"6,keyasint,omitempty"` // of jobs with a checkpoint signal; 0: only before a stop
}

// Validate says which value is not allowed, and what is; nil when all are.
func (d *Defaults) Validate() error {
	switch {
	case d.Name != "" && !Name(d.Name):
		return want("name", "a text of at most %d bytes", MaxName)
	case d.MaxRetries > MaxRetries:
		return want("max_retries", "0 to %d", MaxRetries)
	case d.Class > ClassCritical:
		return want("priority", "%d to %d", ClassLow, ClassCritical)
	case d.IdleStop != 0 && (d.IdleStop < MinIdleStop || d.IdleStop > MaxDuration):
		return want("idle_stop", "0, or %s to %s", MinIdleStop, MaxDuration)
	case d.CheckpointInterval != 0 && (d.CheckpointInterval < minCheckpointInterval || d.CheckpointInterval > MaxDuration):
		return want("checkpoint_interval", "0, or %s to %s", minCheckpointInterval, MaxDuration)
	}
	return nil
}
