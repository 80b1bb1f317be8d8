package reserve

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// TestANewJobHoldsDrainedGPUsForLonger: while GPUs are drained for a gang, a job that would start now is taken to end
// after a job that has started at this very instant. Were it to end at the same time, it would fill what is drained.
func TestANewJobHoldsDrainedGPUsForLonger(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("n1", 2)
	running := c.Place(c.Submit(1))
	waiting := c.Submit(1)
	a, _ := c.State.Attempts.Get(running)
	p := New(&c.State, a.Placed, nil)
	p.drain(true)
	end := a.Placed.Add(p.HoldTime(nil, admission.TicketOf(&c.State, model.TaskKey{Job: waiting})))
	if earlier := p.EndOf(running); end <= earlier {
		t.Errorf("the new job ends %v after the one that has just started, want it to end later", end.Sub(earlier))
	}
}

// The end that is expected of an attempt does not move on in later passes, also if the attempt takes longer: otherwise tasks that end
// before it could pass a large one without end.
func TestAnExpectedEndDoesNotMoveOn(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("n1", 2)
	running := c.Place(c.Submit(1, func(b *command.Submit) { b.Spec.Estimate = 40 * time.Second }))
	a, _ := c.State.Attempts.Get(running)
	first := New(&c.State, a.Placed, nil).EndOf(running)
	for _, after := range []time.Duration{time.Second, 39 * time.Second, 41 * time.Second, time.Hour} {
		now := a.Placed.Add(after)
		if got, most := New(&c.State, now, nil).EndOf(running), max(first, now.Add(time.Second)); got > most {
			t.Errorf("after %s the end has moved on from %s to %s after the start", after, first.Sub(a.Placed), got.Sub(a.Placed))
		}
	}
}
