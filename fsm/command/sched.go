package command

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

// SetTuning sets how the scheduler orders, reserves and suspends, as a whole.
type SetTuning struct {
	Tuning model.Tuning `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetTuning.
func (*SetTuning) Kind() Kind { return KindSetTuning }

// Validate checks the ranges.
func (b *SetTuning) Validate() error { return b.Tuning.Validate() }

// AdjustPolicy changes the order of the queue, values that tune it and limits of the cluster: all that it
// names or nothing; other values stay.
type AdjustPolicy struct {
	Policy string              `cbor:"1,keyasint,omitempty"` // empty: it stays
	Tuning []model.TuningValue `cbor:"2,keyasint,omitempty"`
	Limits []model.LimitValue  `cbor:"3,keyasint,omitempty"`
}

// Kind returns KindAdjustPolicy.
func (*AdjustPolicy) Kind() Kind { return KindAdjustPolicy }

// Validate requires something to change, and checks names, bounds, and that no value is given twice.
func (b *AdjustPolicy) Validate() error {
	if b.Policy == "" && len(b.Tuning) == 0 && len(b.Limits) == 0 {
		return invalid("policy", "given, or something else to change")
	}
	if b.Policy != "" {
		if err := validPolicy(b.Policy); err != nil {
			return err
		}
	}
	some := model.DefaultTuning()
	for i, v := range b.Tuning {
		if err := some.Set(v.Name, v.Value); err != nil {
			return err
		}
		if slices.ContainsFunc(b.Tuning[:i], func(o model.TuningValue) bool { return o.Name == v.Name }) {
			return invalid(v.Name, "given once")
		}
	}
	return validLimits(b.Limits)
}

// SetWeight sets the share of the cluster that a user or project should get, relative to others.
type SetWeight struct {
	Weight model.Weight `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetWeight.
func (*SetWeight) Kind() Kind { return KindSetWeight }

// Validate requires a user or project and a weight.
func (b *SetWeight) Validate() error {
	if b.Weight.Scope.Kind == model.ScopeCluster {
		return invalid("scope", "a user or a project")
	}
	if b.Weight.Shares < 1 || b.Weight.Shares > 10_000 {
		return invalid("shares", "1 to 10000")
	}
	return validScope(b.Weight.Scope)
}

// SetPools sets how GPUs are divided between owners and all others; a value of 0 stays as it is.
type SetPools struct {
	Mode model.PoolMode `cbor:"1,keyasint,omitempty"`
	Part uint32         `cbor:"2,keyasint,omitempty"` // in thousandths; 1 to 1,000
}

// Kind returns KindSetPools.
func (*SetPools) Kind() Kind { return KindSetPools }

// Validate requires a mode or a part.
func (b *SetPools) Validate() error {
	switch {
	case b.Mode == model.PoolDefault && b.Part == 0:
		return invalid("mode", "dynamic, static or hybrid, or a reserved_ratio given")
	}
	return validPools(model.Pools{Mode: b.Mode, Part: b.Part})
}

// Steer records the scheduler's memory for its next passes.
type Steer struct {
	Steer model.Steer `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSteer.
func (*Steer) Kind() Kind { return KindSteer }

// Validate accepts every command: a wrong memory costs good plans, not their safety.
func (*Steer) Validate() error { return nil }

// Suspend stops preemptible attempts so that others may run: they go back to the queue uncharged, in their
// old place.
type Suspend struct {
	Attempts []model.AttemptKey `cbor:"1,keyasint,omitempty"`
	Decided  uint64             `cbor:"2,keyasint,omitempty"` // log index of the state it was decided on
}

// Kind returns KindSuspend.
func (*Suspend) Kind() Kind { return KindSuspend }

// Validate bounds the list.
func (b *Suspend) Validate() error { return validCount("attempts", len(b.Attempts), 1, 1024) }
