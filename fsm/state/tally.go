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

// checkTallies: the counted waits are those that have started, and every allocation that has not ended was
// counted as requested.
func checkTallies(c *checker) {
	var open, asked, granted, over, waits uint64
	tallied := 0
	for k, n := range c.s.Tallies.All() {
		switch k.Kind {
		case model.TallyService:
			if k.Name != model.OtherService {
				tallied++
			}
			asked += n.Counts[model.StepAsked]
			granted += n.Counts[model.StepGranted]
			gone := n.Counts[model.StepReleased] + n.Counts[model.StepExpired] + n.Counts[model.StepLost]
			over += gone + n.Counts[model.StepWithdrawn]
		case model.TallyWait:
			waits += n.Total()
		case model.TallyRun:
		}
	}
	for _, a := range c.s.Allocations.All() {
		if !a.State.Terminal() {
			open++
		}
	}
	started := c.s.Settings().Totals.Started
	c.hold(tallied <= model.MaxTallied, References, "%d services are counted by themselves", tallied)
	c.hold(waits == started+granted, TotalsAgree, "%d waits were counted of %d tasks and %d allocations", waits, started, granted)
	c.hold(asked == over+open, TotalsAgree, "%d allocations were asked for, %d have ended and %d have not", asked, over, open)
}

// moveTallies: they only grow.
func moveTallies(m *mover) {
	for k, n := range m.was.Tallies.All() {
		next, found := m.s.Tallies.Get(k)
		grown := found && next.Sum >= n.Sum
		for i := range n.Counts {
			grown = grown && next.Counts[i] >= n.Counts[i]
		}
		m.hold(grown, TotalsAgree, "the tally %s %s goes from %+v to %+v", k.Kind, k.Name, n, next)
	}
}
