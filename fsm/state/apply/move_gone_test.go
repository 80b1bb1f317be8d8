package apply_test

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// A GPU that is no more is forgotten once it has no owner: at once if another is in its place, else when
// its agent registers again without it. One that was lost under this boot, or is cordoned, stays on record.
func TestGPUsThatAreGone(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 3)
	for i := range n.Self.Devices {
		n.Self.Devices[i].PCI = string(rune('a' + i))
	}
	n.Register()
	inventory := func(devices []model.Device) {
		c.Do(&command.Inventory{Node: "n1", Incarnation: statetest.Incarnation(1), Epoch: n.Epoch(), Devices: devices})
	}
	known := func(id model.GPUID) bool { return c.State.GPUs.Has(id) }

	c.Do(&command.SetGPUMode{GPU: "n1-2", Mode: model.ModeCordoned})
	a := c.Place(c.Submit(2))
	c.Start(a)
	devices := n.Body().Devices
	devices[0].ID, devices[2].ID = "new-0", "new-2" // n1-0 has an owner, n1-2 is cordoned
	inventory(devices)
	if !known("n1-0") || !known("n1-2") || !known("new-0") {
		t.Error("a GPU with an owner, or one that is cordoned, is forgotten")
	}
	c.Stopped(a)
	inventory(devices)
	if !known("n1-0") {
		t.Error("a GPU is forgotten before it was shown clean")
	}
	n.Clean()
	inventory(devices)
	c.Do(&command.SetGPUMode{GPU: "n1-2", Mode: model.ModeOpen})
	inventory(devices)
	if known("n1-0") || known("n1-2") {
		t.Error("GPUs in whose place others are stay on record")
	}

	inventory(devices[:2]) // new-2 is lost
	n.Self.Devices = devices[:2]
	n.Register()
	if !known("new-2") {
		t.Error("a GPU that was lost under this boot is forgotten")
	}
	n.Reboot()
	if known("new-2") {
		t.Error("a GPU with which the host has not started again stays on record")
	}
}

// A reboot proves that no process is left on a GPU, also on one that has gone with it.
func TestAGPUGoesWithAReboot(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 2)
	a := c.Place(c.Submit(2))
	c.Start(a)
	c.Exit(a, 0)
	wantCode(t, c.Try(&command.RetireNode{Node: "n1"}), model.CodeConflict)
	n.Reboot(func(b *command.Register) { b.Devices = b.Devices[:1] })
	if len(c.State.Desired("n1").Clean) > 0 {
		t.Error("a GPU that has gone is to be shown clean still")
	}
	c.Do(&command.RetireNode{Node: "n1"})
}

// A plan that names a GPU which its node no longer has is refused like any other that came too late.
func TestAPlanForAGPUThatIsGone(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	c.Node("n1", 1)
	b := c.Placement(model.TaskKey{Job: c.Submit(1)})
	b.Ranks[0].Slots[0].GPU = "GPU-that-was-here"
	wantCode(t, c.Try(b), model.CodeNotFound)
	b = c.Placement(b.Attempt.TaskKey())
	b.Ranks[0].Slots[0].Slot = 7
	wantCode(t, c.Try(b), model.CodeNotFound)
	c.Do(c.Placement(b.Attempt.TaskKey()))
}
