package command

import "github.com/berth-gpu/berth/fsm/model"

// SetDefaults sets the cluster's name and the defaults of its jobs, as a whole.
type SetDefaults struct {
	Defaults model.Defaults `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetDefaults.
func (*SetDefaults) Kind() Kind { return KindSetDefaults }

// Validate checks the ranges.
func (b *SetDefaults) Validate() error { return b.Defaults.Validate() }
