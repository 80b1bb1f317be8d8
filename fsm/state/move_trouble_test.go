package state_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A node whose agent cannot start jobs gets no new work until the agent reports that it can, in
// a registration or an inventory. What runs there goes on.
func TestANodeInTroubleGetsNoWork(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 2)
	running := c.Place(c.Submit(1))
	c.Start(running)
	told := listen(c)
	next := c.Submit(1)
	placement := c.Placement(model.TaskKey{Job: next})
	*told = nil

	inventory := func(trouble string) *command.Inventory {
		return &command.Inventory{
			Node: "n1", Incarnation: statetest.Incarnation(1), Epoch: n.Epoch(), Devices: n.Body().Devices, Trouble: trouble,
		}
	}
	c.Do(inventory("the disk is full"))
	wants(t, told, "node.degraded")
	wantCode(t, c.Try(placement), model.CodeUnavailable)
	if c.Placement(model.TaskKey{Job: next}) != nil || c.State.FitGPUs != 0 {
		t.Errorf("a degraded node has %d GPUs for work", c.State.FitGPUs)
	}
	c.Do(inventory("the disk is full still"))
	wants(t, told)
	n.Register(func(b *command.Register) { b.Trouble = "the disk is read-only" })
	if row, _ := c.State.Nodes.Get("n1"); row.Trouble != "the disk is read-only" || !row.Degraded() {
		t.Errorf("after a registration: %+v", row)
	}
	*told = nil
	if a, _ := c.State.Attempts.Get(running); a.Stop != model.ReasonNone || !a.Live() {
		t.Errorf("what ran before is %+v", a)
	}
	c.Do(inventory(""))
	wants(t, told, "node.recovered")
	if c.Placement(model.TaskKey{Job: next}) == nil || c.State.FitGPUs != 2 {
		t.Errorf("a node that has recovered has %d GPUs for work", c.State.FitGPUs)
	}
}
