package state

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func applySetTuning(t *tx, b *command.SetTuning) command.Result {
	t.settings.Tuning = b.Tuning
	return ok()
}

// applyAdjustPolicy changes only what the command names, all of it or nothing, so that two commands for
// different values at the same time both take effect.
func applyAdjustPolicy(t *tx, b *command.AdjustPolicy) command.Result {
	tuning := t.settings.Tuning
	for _, v := range b.Tuning {
		if err := tuning.Set(v.Name, v.Value); err != nil {
			return refuse(model.CodeInvalid, "%v", err)
		}
	}
	if len(b.Limits) > 0 {
		if r := adjustLimit(t, model.ScopeKey{Kind: model.ScopeCluster}, b.Limits); !r.OK() {
			return r
		}
	}
	if b.Policy != "" {
		t.settings.Policy = b.Policy
	}
	t.settings.Tuning = tuning
	return ok()
}

func applySetWeight(t *tx, b *command.SetWeight) command.Result {
	if b.Weight.Shares == model.DefaultWeight {
		t.weights.delete(b.Weight.Scope)
		return ok()
	}
	if t.weights.size() >= MaxWeights && !t.weights.has(b.Weight.Scope) {
		return refuse(model.CodeLimit, "%d users and projects have shares of their own already: set one back to %d first",
			MaxWeights, model.DefaultWeight)
	}
	t.weights.put(b.Weight)
	return ok()
}

// MaxWeights bounds the users and projects with weights of their own.
const MaxWeights = 10_000

func applySteer(t *tx, b *command.Steer) command.Result {
	t.settings.Steer = b.Steer
	return ok()
}

// applySuspend stops all of the attempts or none.
func applySuspend(t *tx, b *command.Suspend) command.Result {
	if r := mayPlace(t, b.Decided); !r.OK() {
		return r
	}
	for _, v := range b.Attempts {
		a, found := t.attempts.get(v)
		job, _ := t.jobs.get(v.Job)
		switch {
		case !found || !a.Live():
			return refuse(model.CodeNotLive, "attempt %s has ended", v)
		case !job.Spec.Preemptible:
			return refuse(model.CodeDenied, "job %s may not be suspended", v.Job)
		}
	}
	for _, v := range b.Attempts {
		stop(t, v, model.ReasonPreempt, "suspended for others")
	}
	return ok()
}
