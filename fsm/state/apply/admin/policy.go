package admin

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/limits"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// SetTuning replaces the parameters of the scheduler.
func SetTuning(t *tx.Tx, b *command.SetTuning) command.Result {
	t.Settings.Tuning = b.Tuning
	return tx.OK()
}

// AdjustPolicy changes only what the command names, all of it or nothing, so that two commands for
// different values at the same time both take effect.
func AdjustPolicy(t *tx.Tx, b *command.AdjustPolicy) command.Result {
	tuning := t.Settings.Tuning
	for _, v := range b.Tuning {
		if err := tuning.Set(v.Name, v.Value); err != nil {
			return tx.Refuse(model.CodeInvalid, "%v", err)
		}
	}
	if len(b.Limits) > 0 {
		if r := limits.AdjustLimit(t, model.ScopeKey{Kind: model.ScopeCluster}, b.Limits); !r.OK() {
			return r
		}
	}
	if b.Policy != "" {
		t.Settings.Policy = b.Policy
	}
	t.Settings.Tuning = tuning
	return tx.OK()
}

// SetWeight replaces the weight of a user or a project in fair share; the default weight has no row.
func SetWeight(t *tx.Tx, b *command.SetWeight) command.Result {
	if b.Weight.Shares == model.DefaultWeight {
		t.Weights.Delete(b.Weight.Scope)
		return tx.OK()
	}
	if t.Weights.Size() >= state.MaxWeights && !t.Weights.Has(b.Weight.Scope) {
		return tx.Refuse(model.CodeLimit, "%d users and projects have shares of their own already: set one back to %d first",
			state.MaxWeights, model.DefaultWeight)
	}
	t.Weights.Put(b.Weight)
	return tx.OK()
}

// Steer replaces what the scheduler has learned about its own settings.
func Steer(t *tx.Tx, b *command.Steer) command.Result {
	t.Settings.Steer = b.Steer
	return tx.OK()
}
