package apply_test

import (
	"slices"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/apply"
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

// An agent repeats its inventory each minute. One that would change nothing needs no log
// entry; one that would change anything, or be refused, needs one.
func TestAnUnchangedInventoryIsRedundant(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 2)
	c.Start(c.Place(c.Submit(1)))
	list := func(change func(*command.Inventory)) *command.Inventory {
		b := &command.Inventory{Node: "n1", Incarnation: statetest.Incarnation(1), Epoch: n.Epoch(), Devices: slices.Clone(n.Body().Devices)}
		change(b)
		return b
	}
	same := list(func(*command.Inventory) {})
	if !apply.Redundant(&c.State, same) {
		t.Error("an inventory that repeats the registration's is not redundant")
	}
	for name, b := range map[string]*command.Inventory{
		"trouble":         list(func(b *command.Inventory) { b.Trouble = "the disk is full" }),
		"a worse verdict": list(func(b *command.Inventory) { b.Devices[1].Health, b.Devices[1].Why = model.HealthDegraded, "XID 63" }),
		"in use":          list(func(b *command.Inventory) { b.Devices[1].Idle = false }),
		"a GPU less":      list(func(b *command.Inventory) { b.Devices = b.Devices[:1] }),
		"another epoch":   list(func(b *command.Inventory) { b.Epoch++ }),
		"another cluster": list(func(b *command.Inventory) { b.Incarnation = statetest.Incarnation(2) }),
		"another node":    list(func(b *command.Inventory) { b.Node = "n2" }),
	} {
		if apply.Redundant(&c.State, b) {
			t.Errorf("%s: an inventory with news is redundant", name)
		}
	}
	worse := list(func(b *command.Inventory) { b.Devices[1].Health, b.Devices[1].Why = model.HealthDegraded, "XID 63" })
	c.Do(worse)
	if !apply.Redundant(&c.State, worse) || apply.Redundant(&c.State, same) {
		t.Error("after a change of an inventory the former one is redundant, or the present one is not")
	}
}
