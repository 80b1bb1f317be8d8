package state

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// tallySpan counts how long something took.
func tallySpan(t *tx, kind model.TallyKind, name string, d time.Duration) {
	key := model.TallyKey{Kind: kind, Name: name}
	n, _ := t.tallies.get(key)
	n.Key = key
	n.Span(d)
	t.tallies.put(n)
}

// tallyStep counts a step of a service's allocation, under the name that the service is counted under.
func tallyStep(t *tx, service string, step model.TallyStep) {
	key := model.TallyKey{Kind: model.TallyService, Name: service}
	n, found := t.tallies.get(key)
	if !found && services(t) >= model.MaxTallied {
		key.Name = model.OtherService
		n, _ = t.tallies.get(key)
	}
	n.Key = key
	n.Counts[step]++
	t.tallies.put(n)
}

// services returns how many services are counted by themselves.
func services(t *tx) (n int) {
	for k := range t.tallies.now().From(model.TallyKey{Kind: model.TallyService}) {
		if k.Kind != model.TallyService {
			break
		}
		if k.Name != model.OtherService {
			n++
		}
	}
	return n
}

// ended returns the step by which an allocation ends.
func ended(was, as model.AllocationState) model.TallyStep {
	switch as {
	case model.AllocationExpired:
		return model.StepExpired
	case model.AllocationLost:
		return model.StepLost
	case model.AllocationQueued, model.AllocationActive, model.AllocationReleased:
	}
	if was == model.AllocationQueued {
		return model.StepWithdrawn
	}
	return model.StepReleased
}

// endName returns the name under which the run time of an attempt that has ended counts.
func endName(a *model.Attempt) string {
	switch {
	case a.State == model.TaskCompleted:
		return "completed"
	case a.End == model.ReasonPreempt, a.End == model.ReasonDrain, a.End == model.ReasonRequeue:
		return "preempted"
	case a.End == model.ReasonCancel:
		return "canceled"
	case a.End == model.ReasonExit, a.End == model.ReasonTimeLimit, a.End == model.ReasonDeadline, a.End == model.ReasonDiskLimit:
		return "failed"
	}
	return "lost"
}
